"""What the sender of a chat request is told when its turn did not end well."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from conduck_service.domain.errors import ErrorCode, ServiceError
from conduck_service.domain.execution import FailureCode

RETRY_SECONDS = 5
"""After which a refused turn may be sent again with some hope."""

_FAILURE = ErrorCode.UPSTREAM_FAILURE

TOLD: Mapping[FailureCode, tuple[ErrorCode, str]] = MappingProxyType(
    {
        FailureCode.TIMEOUT: (
            ErrorCode.UPSTREAM_TIMEOUT,
            "the engine did not finish within its time",
        ),
        FailureCode.EXIT: (_FAILURE, "the engine ended with an error status"),
        FailureCode.CRASH: (_FAILURE, "the engine was ended by a signal"),
        FailureCode.NO_ANSWER: (_FAILURE, "the engine ended without an answer"),
        FailureCode.OUTPUT_LIMIT: (_FAILURE, "the engine printed more than it may"),
        FailureCode.ENGINE_ERROR: (_FAILURE, "the engine reported a failure"),
        FailureCode.CONTEXT_TOO_LONG: (
            ErrorCode.CONTEXT_TOO_LONG,
            "the conversation is longer than the engine can accept",
        ),
        FailureCode.CANNOT_START: (_FAILURE, "the engine could not be started"),
        FailureCode.SECRET_UNAVAILABLE: (
            _FAILURE,
            "a secret of the engine is not available",
        ),
        FailureCode.RESOURCE_UNAVAILABLE: (
            _FAILURE,
            "the folder of the turn is not available",
        ),
        FailureCode.CLIENT_GONE: (
            ErrorCode.CLIENT_GONE,
            "the client left before the answer",
        ),
        FailureCode.OVERLOADED: (
            ErrorCode.NOT_STARTED,
            "overloaded: the turn could not start in time; try again shortly",
        ),
        FailureCode.SHUTDOWN: (_FAILURE, "the service stopped before the answer"),
    }
)
"""Each way a turn can fail, as cause and sentence; nothing of the engine's words."""


def told(code: FailureCode) -> ServiceError:
    """Return the error for the way a turn failed."""
    cause, message = TOLD[code]
    late = RETRY_SECONDS if cause is ErrorCode.NOT_STARTED else None
    return ServiceError(cause, message, retry_after=late)


def queue_full() -> ServiceError:
    """Return the error for a queue without a place (C-CONC-08)."""
    return ServiceError(
        ErrorCode.QUEUE_FULL,
        "overloaded: the queue is full; try again shortly",
        retry_after=RETRY_SECONDS,
    )


def unavailable(why: str) -> ServiceError:
    """Return the error for a scope or a service that takes no turns now."""
    return ServiceError(
        ErrorCode.UNAVAILABLE, f"overloaded: {why}", retry_after=RETRY_SECONDS
    )
