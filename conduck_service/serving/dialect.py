"""What the server itself refuses, and the port that puts it into words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Cause(StrEnum):
    """Why the server answers instead of the application."""

    UNAUTHORIZED = "unauthorized"
    BAD_REQUEST = "bad_request"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that the application had no part in.

    Attributes:
        cause: Why.
        message: One sentence for the sender; nothing of the request is in it.
    """

    cause: Cause
    message: str


UNAUTHORIZED = Refusal(Cause.UNAUTHORIZED, "the request carries no valid credential")
INTERNAL = Refusal(Cause.INTERNAL, "the service failed; its log says how")


def bad_request(message: str) -> Refusal:
    """Return the refusal of a request that cannot be understood."""
    return Refusal(Cause.BAD_REQUEST, message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A whole response; the server adds the length and ``Connection: close``.

    Attributes:
        status: Code and phrase, such as ``401 Unauthorized``.
        headers: Names and values, ``Content-Type`` among them.
        body: The whole body.
    """

    status: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Dialect(Protocol):
    """How the clients of a server want errors to look."""

    def refusal(self, refusal: Refusal) -> Response:
        """Return the response that says this."""
        ...
