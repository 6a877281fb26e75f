"""Why the service is not set up as it was asked for, and what to do about it."""

from __future__ import annotations


class RefusedError(Exception):
    """Raised when nothing was done, or not all of it.

    Attributes:
        reason: Why, for people.
        remedy: What to do about it.
    """

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}; {remedy}")
        self.reason = reason
        self.remedy = remedy
