"""The unit that has a life: from ready to one of three ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

CHAT_WORK = "conduck.chat"
"""Kind of the Work of a chat turn: it runs once and is never retried."""


class WorkState(StrEnum):
    """Where a Work stands; nothing leaves the last three."""

    READY = "ready"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


ALLOWED: Mapping[WorkState, frozenset[WorkState]] = MappingProxyType(
    {
        WorkState.READY: frozenset({WorkState.RUNNING, WorkState.CANCELLED}),
        WorkState.RUNNING: frozenset(
            {WorkState.COMPLETED, WorkState.FAILED, WorkState.CANCELLED}
        ),
        WorkState.COMPLETED: frozenset(),
        WorkState.FAILED: frozenset(),
        WorkState.CANCELLED: frozenset(),
    }
)


class TransitionError(Exception):
    """Raised when a record is asked to go where its state table has no way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One piece of work, pinned to the binding that its route chose."""

    id: str
    event_id: str
    scope_id: str
    kind: str
    binding: str
    state: WorkState = WorkState.READY
    revision: int = 1

    def to(self, state: WorkState) -> Work:
        """Return the Work in its next state, with the next revision.

        Raises:
            TransitionError: The state table does not allow it.
        """
        if state not in ALLOWED[self.state]:
            raise TransitionError(f"work: {self.state} to {state}")
        return replace(self, state=state, revision=self.revision + 1)
