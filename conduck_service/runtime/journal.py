"""Open Work: what was accepted and has not ended.

This is the place that the durable store takes later. Until then a record lives
from its acceptance to its end, in memory, and holds no content.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import Counter

from conduck_service.base.clock import Clock, SystemClock
from conduck_service.domain.event import Event
from conduck_service.domain.work import ALLOWED, Work, WorkState

log = logging.getLogger(__name__)


class ScopeFullError(Exception):
    """Raised when a scope has as much ready and running Work as it may."""


class Journal:
    """The open Work of all scopes; safe to use from many threads."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._changed = threading.Condition()
        self._open: dict[str, Work] = {}
        self._ran_at = -math.inf

    def accept(self, event: Event, work: Work, ready_limit: int) -> None:
        """Record an event together with the Work that its route makes.

        Raises:
            ScopeFullError: The scope has ``ready_limit`` open Works already.
        """
        with self._changed:
            per_scope = Counter(item.scope_id for item in self._open.values())
            if per_scope[work.scope_id] >= ready_limit:
                raise ScopeFullError
            self._open[work.id] = work
        log.debug(
            "work created",
            extra={"action": "work_created", "turn": event.id, "scope": work.scope_id},
        )

    def move(self, work: Work, state: WorkState) -> Work:
        """Record the next state of a Work and return the Work in it.

        Raises:
            TransitionError: The state table does not allow it.
        """
        moved = work.to(state)
        with self._changed:
            if work.state is WorkState.RUNNING:
                self._ran_at = self._clock.monotonic()
            if ALLOWED[state]:
                self._open[work.id] = moved
            else:
                del self._open[work.id]
            self._changed.notify_all()
        log.debug(
            "work is %s",
            state,
            extra={"action": f"work_{state}", "turn": work.event_id},
        )
        return moved

    def running(self) -> int:
        """Return how many Works run now."""
        with self._changed:
            return sum(item.state is WorkState.RUNNING for item in self._open.values())

    def since_run(self) -> float:
        """Return the seconds for which no Work has run.

        They are 0 while one runs, and infinite when none has run yet.
        """
        with self._changed:
            if any(item.state is WorkState.RUNNING for item in self._open.values()):
                return 0.0
            return self._clock.monotonic() - self._ran_at

    def wait_until_empty(self, seconds: float) -> bool:
        """Wait at most this long until no Work is open; say whether none is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._open, seconds)
