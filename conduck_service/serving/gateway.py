"""One answer: cheroot's request and WSGI gateway, with their traps closed."""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cheroot.server import HTTPRequest
from cheroot.wsgi import Gateway_10

from conduck_service.serving.dialect import INTERNAL, Dialect, Refusal
from conduck_service.serving.framing import Head
from conduck_service.serving.peer import has_left

if TYPE_CHECKING:
    from types import TracebackType

    ErrorTriple = tuple[type[BaseException], BaseException, TracebackType]

_STATUS = re.compile(r"[2-5][0-9]{2}( [ -~]*)?")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

# The server decides about these; an application's word would only contradict.
_CONNECTION_HEADERS = frozenset({"connection", "keep-alive", "transfer-encoding"})

CLOSE = ("Connection", "close")


class Request(HTTPRequest):
    """A request whose head was read by ``framing``; cheroot's parser never runs."""

    def __init__(self, server: Any, connection: Any, dialect: Dialect) -> None:
        super().__init__(server, connection)
        self._dialect = dialect
        # C-CONN-01 to C-CONN-07, C-CONN-09: nothing is read behind this request,
        # and cheroot does not read the rest of its body into memory.
        self.close_connection = True
        self.method = b""
        self.body_size = 0
        # Bodies are read within their limits through conduck.body; an
        # application that goes past it fails instead of finding nothing.
        self.rfile = io.BytesIO()
        self.rfile.close()

    def take(self, head: Head) -> None:
        """Become the request that this head describes."""
        self.method = head.method.encode("ascii")
        self.uri = head.target.encode("ascii")
        self.path = head.path
        self.qs = head.query.encode("ascii")
        self.request_protocol = head.version.encode("ascii")
        self.response_protocol = head.version
        self.chunked_read = head.is_chunked
        names = dict.fromkeys(name for name, _ in head.headers if name != "expect")
        self.inheaders = {
            name.encode("ascii"): b", ".join(head.values(name)) for name in names
        }

    def write(self, chunk: bytes) -> None:
        """Write a piece of the response's body."""
        self.body_size += len(chunk)
        super().write(chunk)

    def refuse(self, refusal: Refusal) -> None:
        """Answer in the dialect of the server, unless an answer has begun.

        Raises:
            PeerLeft: The peer does not take it.
        """
        if self.sent_headers:
            return
        response = self._dialect.refusal(refusal)
        length = ("Content-Length", str(len(response.body)))
        status = response.status.encode("latin-1")
        self.status = status  # type: ignore[assignment] # bytes, the stub is wrong
        self.outheaders = [
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in (*response.headers, length, CLOSE)
        ]
        self.ensure_headers_sent()
        if self.method != b"HEAD":
            self.write(response.body)

    def simple_response(self, _status: str, _msg: str = "") -> None:
        """Answer where cheroot would in ``text/plain`` (C-ERR-24)."""
        self.refuse(INTERNAL)


class Gateway(Gateway_10):
    """Calls the application and sends what it answers, exactly once."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.env["conduck.body"] = request.conn.body
        self.env["conduck.client_gone"] = functools.partial(
            has_left, request.conn.socket
        )

    def respond(self) -> None:
        """Run the application to its end.

        cheroot's own version sends the headers of an answer that failed half-way
        and takes fewer bytes than promised for a whole answer.
        """
        result: Iterable[bytes] = self.req.server.wsgi_app(
            self.env, self.start_response
        )
        try:
            for chunk in filter(None, result):
                self.write(chunk)
            if not self.started_response:
                raise RuntimeError("the application did not start a response")
            self.req.ensure_headers_sent()
            if self.remaining_bytes_out and not self._is_bodiless():
                raise ValueError("the body is shorter than its Content-Length")
            if self.req.chunked_write:
                self.req.conn.wfile.write(b"0\r\n\r\n")
        finally:
            close = getattr(result, "close", None)
            if close is not None:
                close()

    def start_response(
        self,
        status: str,
        headers: list[tuple[str, str]],
        exc_info: ErrorTriple | None = None,
    ) -> Any:
        """Take status and headers; see PEP 3333.

        Raises:
            ValueError: One of them would break the head of the response.
        """
        if not _STATUS.fullmatch(status):
            raise ValueError("the status is malformed")
        for name, value in headers:
            if not _NAME.fullmatch(name) or _CONTROL.search(value):
                raise ValueError("a header of the response is malformed")
        unwanted = _CONNECTION_HEADERS
        if status.startswith("204"):
            unwanted |= {"content-length"}
        kept = [item for item in headers if item[0].lower() not in unwanted]
        if not self.req.sent_headers:
            self.req.outheaders = []
            self.remaining_bytes_out = None
        return super().start_response(status, [*kept, CLOSE], exc_info)

    def write(self, chunk: bytes) -> None:
        """Send a piece of the body.

        Raises:
            ValueError: It goes beyond the declared length.
            PeerLeft: The peer does not take it.
        """
        if not self.started_response:
            raise RuntimeError("a body without a start of the response")
        if self.remaining_bytes_out is not None and not self._is_bodiless():
            if len(chunk) > self.remaining_bytes_out:
                raise ValueError("the body is longer than its Content-Length")
            self.remaining_bytes_out -= len(chunk)
        self.req.ensure_headers_sent()
        if not self._is_bodiless():
            self.req.write(chunk)

    def _is_bodiless(self) -> bool:
        status: bytes = self.req.status
        return self.req.method == b"HEAD" or status[:3] in (b"204", b"304")
