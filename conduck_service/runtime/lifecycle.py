"""Whether the core takes work, and when what still runs must end."""

from __future__ import annotations

from conduck_service.base.clock import Clock, Deadline


class Lifecycle:
    """The way from running to stopped, which goes in one direction only.

    It keeps every end that it was told, so that of two stops at the same moment
    neither can undo the other, and no lock is needed even in a signal handler.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ends: list[Deadline] = []

    @property
    def is_stopping(self) -> bool:
        """Whether new work is refused."""
        return bool(self._ends)

    @property
    def must_end(self) -> bool:
        """Whether the grace is over and running turns have to end."""
        return any(end.is_past(self._clock) for end in self._ends)

    @property
    def has_grace(self) -> bool:
        """Whether it stops, and what still runs may go on for a while."""
        return self.is_stopping and not self.must_end

    def stop(self, grace: float) -> None:
        """Refuse new work and give running turns this many seconds.

        Called again, it can only shorten the grace.
        """
        self._ends.append(Deadline.after(grace, self._clock))
