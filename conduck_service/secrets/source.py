"""Why a place does not give the value of a secret."""

from __future__ import annotations

from enum import StrEnum


class SecretCode(StrEnum):
    """Why a secret cannot be had."""

    MISSING = "secret_missing"
    EMPTY = "secret_empty"
    UNSAFE_FILE = "unsafe_file"
    COMMAND_NOT_FOUND = "command_not_found"
    COMMAND_FAILED = "command_failed"
    COMMAND_TIMEOUT = "command_timeout"
    OUTPUT_TOO_LARGE = "output_too_large"
    KEYRING_UNAVAILABLE = "keyring_unavailable"


class SourceError(Exception):
    """Raised when a place does not give a value.

    Nothing that the place said is in it: neither output nor the text of an
    exception (B-SECRET-50).

    Attributes:
        code: Why.
        remedy: What to do about it.
    """

    def __init__(self, code: SecretCode, remedy: str) -> None:
        super().__init__(f"{code}; {remedy}")
        self.code = code
        self.remedy = remedy


def is_usable(value: object) -> bool:
    """Say whether a value is a text that an environment and a header can hold."""
    if not isinstance(value, str) or "\0" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
