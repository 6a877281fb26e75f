"""Time as a parameter: a clock to pass around, and deadlines that never jump."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Where code that is about time gets it from."""

    def now(self) -> datetime:
        """Return the wall time in UTC, for people and records."""
        ...

    def monotonic(self) -> float:
        """Return seconds that only ever grow, for waiting and measuring."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Return the wall time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the monotonic time in seconds."""
        return time.monotonic()


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment of a monotonic clock, in seconds.

    It is a moment and not a duration, so that whoever gets it late has less
    time left, and a step of the wall clock changes nothing.
    """

    at: float

    @classmethod
    def after(cls, seconds: float, clock: Clock) -> Deadline:
        """Return the moment that lies the given seconds from now."""
        return cls(clock.monotonic() + seconds)

    def remaining(self, clock: Clock) -> float:
        """Return the seconds left, never less than zero."""
        return max(0.0, self.at - clock.monotonic())

    def is_past(self, clock: Clock) -> bool:
        """Say whether the moment has come."""
        return clock.monotonic() >= self.at

    def sooner(self, other: Deadline) -> Deadline:
        """Return whichever of the two comes first."""
        return self if self.at <= other.at else other
