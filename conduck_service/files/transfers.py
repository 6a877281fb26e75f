"""Room for transfers: as many as there are workers, less some for short requests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from conduck_service.files.errors import LaneError

TRANSFERS = 32
"""Uploads and downloads at once; each holds a worker for as long as it takes."""

RESERVED_WORKERS = 8
"""Workers that transfers cannot take, for listings and other short requests."""

ARRIVALS = 6
"""Short requests whose bodies may be awaited at once.

Fewer than the reserved workers, so that somebody who sends them byte by byte leaves
some for requests that are here.
"""


class TransferRoom:
    """Counts transfers, so that slow ones never take the last workers (F-NET-03)."""

    def __init__(self, places: int = TRANSFERS) -> None:
        self._places = threading.BoundedSemaphore(places)

    def enter(self) -> None:
        """Take a place; :meth:`leave` gives it back.

        Raises:
            LaneError: 503, all are taken.
        """
        if not self._places.acquire(blocking=False):
            raise LaneError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "overloaded",
                "too many files are under way at once; try again in a few seconds",
                headers=(("Retry-After", "5"),),
            )

    @contextmanager
    def place(self) -> Iterator[None]:
        """Have a place for the length of a ``with``.

        Raises:
            LaneError: 503, all are taken.
        """
        self.enter()
        try:
            yield
        finally:
            self.leave()

    def leave(self) -> None:
        """Give a place back."""
        self._places.release()
