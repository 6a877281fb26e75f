"""Something that is looked at from time to time, beside the serving."""

from __future__ import annotations

import threading
from collections.abc import Callable

FIRST_SECONDS = 75.0
"""From the start to the first look."""

PAUSE_SECONDS = 3600.0
"""From one look to the next."""

STOP_SECONDS = 1.0


class Rounds:
    """A thread that looks, pauses and looks again.

    Args:
        name: Of the thread.
        look: Called in the thread; it lets nothing out.
        first_seconds: From :meth:`start` to the first look.
        pause_seconds: From one look to the next.
    """

    def __init__(
        self,
        name: str,
        look: Callable[[], None],
        *,
        first_seconds: float,
        pause_seconds: float,
    ) -> None:
        self._look = look
        self._first_seconds = first_seconds
        self._pause_seconds = pause_seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    @property
    def is_stopped(self) -> bool:
        """Whether a look under way has to end."""
        return self._stopped.is_set()

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """End; a look that takes long is left, and what it left goes on next time."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(STOP_SECONDS)

    def _work(self) -> None:
        pause = self._first_seconds
        while not self._stopped.wait(pause):
            pause = self._pause_seconds
            self._look()
