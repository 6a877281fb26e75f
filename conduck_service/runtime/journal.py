"""Open Work: what was accepted and has not ended.

This is the place that the durable store takes later. Until then a record lives
from its acceptance to its end, in memory, and holds no content.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from conduck_service.base.clock import Clock, SystemClock
from conduck_service.domain.event import Event
from conduck_service.domain.work import ALLOWED, Work, WorkState
from conduck_service.runtime.bounds import Bound

log = logging.getLogger(__name__)


class ScopeFullError(Exception):
    """Raised when a scope has as much ready and running Work as it may."""


@dataclass(frozen=True, slots=True)
class _Open:
    """An open Work, and the scopes that it counts for."""

    work: Work
    scopes: frozenset[str]


class Journal:
    """The open Work of all scopes; safe to use from many threads."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._changed = threading.Condition()
        self._open: dict[str, _Open] = {}
        self._ran_at = -math.inf

    def accept(self, event: Event, work: Work, bounds: Sequence[Bound]) -> None:
        """Record an event together with the Work that its route makes.

        Args:
            event: What was accepted.
            work: What its route makes.
            bounds: How much open Work its scope, and each scope above, may have.

        Raises:
            ScopeFullError: One of them has that much already.
        """
        with self._changed:
            for scope, limit in bounds:
                if sum(scope in item.scopes for item in self._open.values()) >= limit:
                    raise ScopeFullError
            scopes = frozenset(scope for scope, _ in bounds)
            self._open[work.id] = _Open(work, scopes)
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
                self._open[work.id] = replace(self._open[work.id], work=moved)
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
            return sum(map(_is_running, self._open.values()))

    def since_run(self) -> float:
        """Return the seconds for which no Work has run.

        They are 0 while one runs, and infinite when none has run yet.
        """
        with self._changed:
            if any(map(_is_running, self._open.values())):
                return 0.0
            return self._clock.monotonic() - self._ran_at

    def wait_until_empty(self, seconds: float) -> bool:
        """Wait at most this long until no Work is open; say whether none is."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._open, seconds)


def _is_running(item: _Open) -> bool:
    return item.work.state is WorkState.RUNNING
