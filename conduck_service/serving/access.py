"""One line in the log for each request that was answered."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from http import HTTPMethod

_log = logging.getLogger(__name__)

_MESSAGE = "request answered"
_METHODS = frozenset(HTTPMethod) | {
    "ACL", "BASELINE-CONTROL", "BIND", "CHECKIN", "CHECKOUT", "COPY", "LABEL",
    "LINK", "LOCK", "MERGE", "MKACTIVITY", "MKCALENDAR", "MKCOL", "MKREDIRECTREF",
    "MKWORKSPACE", "MOVE", "ORDERPATCH", "PRI", "PROPFIND", "PROPPATCH", "QUERY",
    "REBIND", "REPORT", "SEARCH", "UNBIND", "UNCHECKOUT", "UNLINK", "UNLOCK",
    "UPDATE", "UPDATEREDIRECTREF", "VERSION-CONTROL",
}  # fmt: skip
"""The registered ones; any other text of a peer stays out of the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What is known of a request in the end, without anything of its content.

    Attributes:
        server: Name of the server that answered.
        method: As sent; empty when the head could not be read.
        route: What the server calls the path; never the path.
        status: HTTP status.
        size: Bytes of the response's body.
        began: Monotonic time at which the head was whole, in seconds.
    """

    server: str
    method: str
    route: str
    status: int
    size: int
    began: float


def log_answered(request: Answered) -> None:
    """Write the line."""
    if not _log.isEnabledFor(logging.INFO):
        return
    # Looking for the calling function, as the usual way does, costs more than
    # all the rest.
    record = logging.LogRecord(_log.name, logging.INFO, "", 0, _MESSAGE, None, None)
    record.__dict__ |= {
        "action": "request",
        "server": request.server,
        "method": request.method if request.method in _METHODS else "-",
        "route": request.route,
        "status": request.status,
        "size": request.size,
        "ms": round((time.monotonic() - request.began) * 1000),
    }
    _log.handle(record)
