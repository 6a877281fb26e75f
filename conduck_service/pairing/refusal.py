"""Why something does not go into a setup code, and what to do about it."""

from __future__ import annotations


class RefusedError(Exception):
    """Raised when the app would not accept what is to go into a code.

    Attributes:
        code: Stable word for programs, of the list in the errors reference.
        reason: Why, for people; no secret is in it.
        remedy: What to do about it.
    """

    def __init__(self, code: str, reason: str, remedy: str) -> None:
        super().__init__(f"{code}: {reason}; {remedy}")
        self.code = code
        self.reason = reason
        self.remedy = remedy
