"""The OpenAI dialect: every cause as status, kind and, where one fits, code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from conduck_service.base.jsonio import dump
from conduck_service.domain.errors import ErrorCode, ServiceError


@dataclass(frozen=True, slots=True)
class Wire:
    """How a cause looks on the wire.

    Attributes:
        status: HTTP status.
        code: One of the contract's eight codes; empty when none fits.
    """

    status: int
    code: str = ""


WIRE: Mapping[ErrorCode, Wire] = MappingProxyType(
    {
        ErrorCode.MALFORMED_REQUEST: Wire(400),
        ErrorCode.UNAUTHORIZED: Wire(401),
        ErrorCode.NOT_FOUND: Wire(404),
        ErrorCode.METHOD_NOT_ALLOWED: Wire(405),
        ErrorCode.MODEL_NOT_FOUND: Wire(400, "model_not_found"),
        ErrorCode.IMAGE_UNSUPPORTED: Wire(400, "image_unsupported"),
        ErrorCode.IMAGE_TOO_LARGE: Wire(413, "image_too_large"),
        ErrorCode.CONTEXT_TOO_LONG: Wire(400, "context_too_long"),
        ErrorCode.BODY_TOO_LARGE: Wire(413, "body_too_large"),
        ErrorCode.QUEUE_FULL: Wire(429, "overloaded"),
        ErrorCode.NOT_STARTED: Wire(503, "overloaded"),
        ErrorCode.UNAVAILABLE: Wire(503, "overloaded"),
        ErrorCode.UPSTREAM_TIMEOUT: Wire(504, "upstream_timeout"),
        ErrorCode.UPSTREAM_FAILURE: Wire(502, "upstream_failure"),
        ErrorCode.CLIENT_GONE: Wire(502, "upstream_failure"),
        ErrorCode.INTERNAL: Wire(500),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorAnswer:
    """A refusal that is ready to be sent."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def error_answer(error: ServiceError) -> ErrorAnswer:
    """Return how the error looks in the OpenAI dialect (C-ERR-01 to C-ERR-05)."""
    wire = WIRE[error.code]
    fields = {
        "message": error.message,
        # C-ERR-26: two kinds, told apart by who is at fault.
        "type": "invalid_request_error" if wire.status < 500 else "server_error",
    }
    if wire.code:
        fields["code"] = wire.code
    headers = [("Content-Type", "application/json")]
    if error.retry_after is not None:
        headers.append(("Retry-After", str(error.retry_after)))  # C-CONC-09
    if error.allow:
        headers.append(("Allow", ", ".join(error.allow)))  # C-ERR-29
    return ErrorAnswer(
        status=wire.status, headers=tuple(headers), body=dump({"error": fields})
    )
