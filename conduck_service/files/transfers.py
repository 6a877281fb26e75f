"""Room for transfers: as many as there are workers, less some for short requests."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from conduck_service.files.errors import LaneError

TRANSFERS = 32
"""Uploads and downloads at once; each holds a worker for as long as it takes."""

ARRIVALS = 6
"""Short requests whose bodies may be awaited at once."""

ARRIVAL_SECONDS = 1.0
"""How long one more of them waits for a place; most bodies are right behind."""

SLOW_ANSWERS = 6
"""Answers that may wait at once for peers that do not take them."""

WORKERS = TRANSFERS + ARRIVALS + SLOW_ANSWERS + 6
"""Workers of a lane: some are always there for requests that hold nobody up."""


class TransferRoom:
    """Counts transfers, so that slow ones never take the last workers (F-NET-03)."""

    def __init__(self, places: int = TRANSFERS, *, patience: float = 0) -> None:
        self._patience = patience
        self._places = threading.BoundedSemaphore(places)

    def enter(self) -> None:
        """Take a place; :meth:`leave` gives it back.

        Raises:
            LaneError: 503, all are taken, and none was given back in time.
        """
        if not self._places.acquire(timeout=self._patience):
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
