"""Slots for agent turns: who may run now, who waits, who is refused."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

from conduck_service.runtime.bounds import Bound


class PoolFullError(Exception):
    """Raised when the queue of an entry has no place left."""


@dataclass(eq=False, slots=True)
class Ticket:
    """A place in the pool, from entering it to leaving it.

    Attributes:
        queue: Whose queue it waits in.
        key: Two tickets with the same key never run at once; None has no rival.
        bounds: Scopes that it counts for, and how many may run in each at once.
        granted: Set by the pool when the slot is ours.
    """

    queue: str
    key: str | None
    bounds: tuple[Bound, ...] = ()
    granted: threading.Event = field(default_factory=threading.Event)

    def wait(self, seconds: float) -> bool:
        """Wait at most this long; say whether the slot is ours."""
        return self.granted.wait(seconds)

    @property
    def is_granted(self) -> bool:
        """Whether the slot is ours."""
        return self.granted.is_set()


class AgentPool:
    """Hands out slots in the order of arrival (C-CONC-10).

    A ticket that must wait for its key does not hold up those behind it.

    Args:
        slots: How many may run at once; 0 means no bound.
    """

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._lock = threading.Lock()
        self._running: list[Ticket] = []
        self._waiting: list[Ticket] = []

    def enter(
        self, queue: str, depth: int, key: str | None, bounds: tuple[Bound, ...] = ()
    ) -> Ticket:
        """Take a slot, or a place in the queue when none is free.

        Raises:
            PoolFullError: It would have to wait, and ``depth`` tickets of this queue
                wait already.
        """
        ticket = Ticket(queue, key, bounds)
        with self._lock:
            if not self._fits(key, bounds) and self._count(queue) >= depth:
                raise PoolFullError
            self._waiting.append(ticket)
            self._grant()
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """Give back the slot or the place in the queue."""
        with self._lock:
            held = self._running if ticket.is_granted else self._waiting
            held.remove(ticket)
            self._grant()

    def has_room(
        self,
        queue: str,
        depth: int,
        keys: Iterable[str | None],
        bounds: tuple[Bound, ...] = (),
    ) -> bool:
        """Say whether a ticket with any of these keys could run or wait."""
        with self._lock:
            if self._count(queue) < depth:
                return True
            return any(self._fits(key, bounds) for key in keys)

    def _count(self, queue: str) -> int:
        return sum(ticket.queue == queue for ticket in self._waiting)

    def _fits(self, key: str | None, bounds: tuple[Bound, ...]) -> bool:
        if self._slots and len(self._running) >= self._slots:
            return False
        if not all(self._running_in(scope) < limit for scope, limit in bounds):
            return False
        return key is None or all(ticket.key != key for ticket in self._running)

    def _running_in(self, scope: str) -> int:
        return sum(
            scope == name for ticket in self._running for name, _ in ticket.bounds
        )

    def _grant(self) -> None:
        for ticket in [*self._waiting]:
            if self._fits(ticket.key, ticket.bounds):
                self._waiting.remove(ticket)
                self._running.append(ticket)
                ticket.granted.set()
