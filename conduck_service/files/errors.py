"""What the lane answers when it cannot do what was asked."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from http import HTTPStatus

from conduck_service.serving.dialect import Cause, Refusal, Response

Headers = tuple[tuple[str, str], ...]


class LaneError(Exception):
    """Raised to answer a request with an error.

    Attributes:
        status: HTTP status.
        code: Stable word for programs.
        text: What is wrong and what to do about it; no path, no name.
        headers: More headers of the answer.
        condition: Name of the ``DAV:`` element that says what went wrong (RFC
            4918, section 16); empty for none.
        href: The path that the condition is about, if it is about one.
    """

    def __init__(
        self,
        status: HTTPStatus,
        code: str,
        text: str,
        *,
        headers: Headers = (),
        condition: str = "",
        href: str = "",
    ) -> None:
        super().__init__(code)
        self.status = status
        self.code = code
        self.text = text
        self.headers = headers
        self.condition = condition
        self.href = href


@dataclass(frozen=True, slots=True)
class _Meaning:
    status: HTTPStatus
    code: str
    text: str


_MISSING = _Meaning(
    HTTPStatus.NOT_FOUND,
    "not_found",
    "there is no such file or folder; a listing of the folder above says what is there",
)
_FORBIDDEN = _Meaning(
    HTTPStatus.FORBIDDEN,
    "forbidden",
    "the service may not do this in the shared folder; look at the modes and the "
    "group of the folder on the machine of the service",
)
_FULL = _Meaning(
    HTTPStatus.INSUFFICIENT_STORAGE,
    "no_space",
    "there is no room for this; make room on the machine of the service",
)
_LONG = _Meaning(
    HTTPStatus.BAD_REQUEST,
    "bad_name",
    "a name is too long for the disk; use a shorter one",
)
_CONFLICT = _Meaning(
    HTTPStatus.CONFLICT,
    "conflict",
    "somebody else changed this at the same time; look at it and try again",
)
_BUSY = _Meaning(
    HTTPStatus.SERVICE_UNAVAILABLE,
    "unavailable",
    "the service has too much open at the moment; try again in a few seconds",
)
_BROKEN = _Meaning(
    HTTPStatus.INTERNAL_SERVER_ERROR,
    "disk_failure",
    "the disk of the service failed; look at the log of its machine",
)

_MEANINGS = {
    errno.ENOENT: _MISSING,
    errno.ENOTDIR: _MISSING,
    errno.ELOOP: _MISSING,
    errno.ESTALE: _MISSING,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EROFS: _FORBIDDEN,
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.ENAMETOOLONG: _LONG,
    errno.EINVAL: _LONG,
    errno.EILSEQ: _LONG,
    errno.EEXIST: _CONFLICT,
    errno.ENOTEMPTY: _CONFLICT,
    errno.EISDIR: _CONFLICT,
    errno.EBUSY: _CONFLICT,
    errno.EMFILE: _BUSY,
    errno.ENFILE: _BUSY,
    errno.ENOMEM: _BUSY,
}


def not_found() -> LaneError:
    """Return the definite no: there is nothing at this path (F-PROP-02)."""
    return LaneError(_MISSING.status, _MISSING.code, _MISSING.text)


def forbidden(text: str) -> LaneError:
    """Return the refusal of something that is never done."""
    return LaneError(HTTPStatus.FORBIDDEN, "forbidden", text)


def bad_request(text: str, code: str = "bad_request") -> LaneError:
    """Return the refusal of a request that cannot be understood."""
    return LaneError(HTTPStatus.BAD_REQUEST, code, text)


def from_system(error: OSError) -> LaneError:
    """Return what a failure of the file system means to a client.

    "Not found" is said only when there is certainly nothing: a folder that may
    not be entered is "forbidden".
    """
    meaning = _MEANINGS.get(error.errno or 0, _BROKEN)
    return LaneError(meaning.status, meaning.code, meaning.text)


_SERVER_CODES = {
    Cause.BAD_REQUEST: (HTTPStatus.BAD_REQUEST, "bad_request"),
    Cause.INTERNAL: (HTTPStatus.INTERNAL_SERVER_ERROR, "internal"),
}

CHALLENGE = ("WWW-Authenticate", 'Basic realm="conduck", charset="UTF-8"')
"""The same for every request, and never Digest (F-USER-06)."""


_UNAUTHORIZED = LaneError(
    HTTPStatus.UNAUTHORIZED,
    "unauthorized",
    "user or password is wrong; the user is conduck, and the password is the one of "
    "the file lane, not the token of chat",
    headers=(CHALLENGE,),
)


class LaneDialect:
    """The server's own refusals as short texts."""

    def refusal(self, refusal: Refusal) -> Response:
        """Return the response that says this."""
        if refusal.cause is Cause.UNAUTHORIZED:
            return as_response(_UNAUTHORIZED)
        status, code = _SERVER_CODES[refusal.cause]
        return as_response(LaneError(status, code, refusal.message))


def as_response(error: LaneError) -> Response:
    """Return an error as the lane words it: one line, or the XML of a condition.

    Nothing of the request or of the machine is in it (F-SEC-04).
    """
    status = f"{error.status.value} {error.status.phrase}"
    if error.condition:
        href = f"<D:href>{error.href}</D:href>" if error.href else ""
        body = (
            '<?xml version="1.0" encoding="utf-8"?>\n<D:error xmlns:D="DAV:">'
            f"<D:{error.condition}>{href}</D:{error.condition}></D:error>\n"
        )
        kind = "application/xml; charset=utf-8"
    else:
        body = f"{error.code}: {error.text}\n"
        kind = "text/plain; charset=utf-8"
    headers = (("Content-Type", kind), *error.headers)
    return Response(status=status, headers=headers, body=body.encode("ascii"))
