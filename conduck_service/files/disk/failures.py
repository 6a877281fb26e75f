"""What a request over a whole tree could not do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from conduck_service.files.disk.paths import Place
from conduck_service.files.errors import LaneError, from_system

LIMIT = 100
"""Most names in one answer; who has seen so many looks at the folder itself."""


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that stayed as it was.

    Attributes:
        href: Its path, percent-encoded; of a folder with a slash at its end.
        error: Why.
    """

    href: str
    error: LaneError


class Failures:
    """Collects failures below a place.

    Args:
        place: Where the request started.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._first: list[Failure] = []
        self._statuses: set[HTTPStatus] = set()

    @property
    def first(self) -> Sequence[Failure]:
        """The first of them, at most :data:`LIMIT`."""
        return self._first

    def __bool__(self) -> bool:
        return bool(self._first)

    def add(
        self, steps: Sequence[bytes], error: OSError, *, is_folder: bool = False
    ) -> None:
        """Note one failure.

        Args:
            steps: Where it is, from the place on.
            error: What the system said.
            is_folder: Whether it is a folder.
        """
        meaning = from_system(error)
        self._statuses.add(meaning.status)
        if len(self._first) < LIMIT:
            href = Place((*self._place.names, *steps)).href
            self._first.append(Failure(href + "/" * is_folder, meaning))

    def raise_common(self) -> None:
        """Raise the error of all of them, if it is the same for all.

        For a request that has changed nothing: it failed as a whole.
        """
        if len(self._statuses) == 1:
            raise self._first[0].error
