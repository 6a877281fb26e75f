"""Why a request was not answered with what it asked for."""

from __future__ import annotations

from enum import StrEnum


class ErrorCode(StrEnum):
    """The closed list of reasons; each dialect maps every one of them.

    A member is a cause, not a status: the chat listener turns it into the
    OpenAI envelope, the management socket (later) into its own.
    """

    MALFORMED_REQUEST = "malformed_request"
    UNAUTHORIZED = "unauthorized"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    MODEL_NOT_FOUND = "model_not_found"
    IMAGE_UNSUPPORTED = "image_unsupported"
    IMAGE_TOO_LARGE = "image_too_large"
    CONTEXT_TOO_LONG = "context_too_long"
    BODY_TOO_LARGE = "body_too_large"
    QUEUE_FULL = "queue_full"
    NOT_STARTED = "not_started"
    UNAVAILABLE = "unavailable"
    UPSTREAM_TIMEOUT = "upstream_timeout"
    UPSTREAM_FAILURE = "upstream_failure"
    CLIENT_GONE = "client_gone"
    INTERNAL = "internal"


class ServiceError(Exception):
    """Raised when a request ends with an error that its sender is told.

    Attributes:
        code: The cause.
        message: One sentence for the sender. It names fields and limits, never
            a value of the request.
        retry_after: Whole seconds after which trying again makes sense, if any.
        allow: The methods that the path knows, for METHOD_NOT_ALLOWED.
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        retry_after: int | None = None,
        allow: tuple[str, ...] = (),
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.retry_after = retry_after
        self.allow = allow
