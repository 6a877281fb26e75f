"""One request and its one answer; what cheroot's workers call a connection."""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conduck_service.serving.access import Answered, log_answered
from conduck_service.serving.bearer import Gate
from conduck_service.serving.body import (
    Body,
    BodyCut,
    BodyMalformed,
    BodyStalled,
)
from conduck_service.serving.dialect import (
    INTERNAL,
    UNAUTHORIZED,
    Dialect,
    bad_request,
)
from conduck_service.serving.framing import Head, UnreadableHeadError, read_head
from conduck_service.serving.gateway import Gateway, Request
from conduck_service.serving.guests import LINGER_BYTES, SHORT_LINGER_BYTES
from conduck_service.serving.intake import Intake
from conduck_service.serving.peer import PeerLeft, Writer

if TYPE_CHECKING:
    from cheroot.server import HTTPServer

_log = logging.getLogger(__name__)

_SHORT = frozenset({401, 413})


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What all exchanges of a server share.

    Attributes:
        name: The server, for log lines.
        gate: Says whose requests are served.
        dialect: Words what the server refuses by itself.
        route_of: Returns what log lines call a path.
    """

    name: str
    gate: Gate
    dialect: Dialect
    route_of: Callable[[str], str]


class Exchange:
    """A connection from the moment its head is whole until it is answered.

    Attributes:
        socket: The connection; its timeout bounds each wait of the exchange.
        body: The request's body once the head was found good.
        linger_bytes: How much of what is under way is read after the answer.
    """

    ssl_env = None
    remote_addr = ""
    remote_port = ""

    def __init__(
        self,
        sock: socket.socket,
        received: bytearray,
        *,
        server: HTTPServer,
        terms: Terms,
        release: Callable[[Exchange], None],
    ) -> None:
        self.socket = sock
        self.wfile = Writer(sock)
        self.body: Body | None = None
        self.linger_bytes = LINGER_BYTES
        self._received = received
        self._head: Head | None = None
        self._server = server
        self._terms = terms
        self._release = release
        self._began = time.monotonic()

    def communicate(self) -> bool:
        """Answer the request; the connection is never kept."""
        request = Request(self._server, self, self._terms.dialect)
        try:
            self._answer_safely(request)
        except PeerLeft:
            pass
        except Exception:
            _log_defect("a request could not be refused")
        if request.sent_headers:
            if int(request.status[:3]) in _SHORT:  # C-CONN-11
                self.linger_bytes = SHORT_LINGER_BYTES
            # A line that cannot be written costs no worker.
            with contextlib.suppress(Exception):
                self._log(request)
        return False

    def close(self) -> None:
        """Let go of the connection and of all that was received."""
        self._received = bytearray()
        self.body = None
        self._head = None
        self._release(self)

    def stop_reading(self) -> None:
        """Cut a body that a worker waits for."""
        body = self.body
        if body is not None and body.is_reading:
            with contextlib.suppress(OSError):
                self.socket.shutdown(socket.SHUT_RD)

    def cut(self) -> None:
        """End whatever a worker waits for on this connection."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def _answer_safely(self, request: Request) -> None:
        try:
            self._answer(request)
        except (PeerLeft, BodyStalled, BodyCut):
            pass
        except BodyMalformed:
            request.refuse(bad_request("the chunked coding is broken"))
        # SystemExit too: one request must not end the server.
        except BaseException:
            _log_defect("a request failed")
            request.refuse(INTERNAL)

    def _answer(self, request: Request) -> None:
        try:
            head, early = read_head(self._received)
        except UnreadableHeadError as error:
            request.refuse(bad_request(str(error)))
            return
        self._received = bytearray()
        self._head = head
        request.take(head)
        # C-AUTH-02, C-ERR-14: before framing, routing and the body.
        if not self._terms.gate(head.values("authorization")):
            request.refuse(UNAUTHORIZED)
            return
        if head.fault:
            request.refuse(bad_request(head.fault))
            return
        self.body = Body(
            Intake(self.socket, early),
            length=head.length,
            chunked=head.is_chunked,
            invite=self._invite if head.expects_continue else None,
        )
        Gateway(request).respond()

    def _invite(self) -> None:
        # C-CONN-15: only a body that is wanted is asked for.
        try:
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        except PeerLeft:
            raise BodyCut from None

    def _log(self, request: Request) -> None:
        head = self._head
        path = head.path.decode("utf-8", "replace") if head else ""
        log_answered(
            Answered(
                server=self._terms.name,
                method=head.method if head else "",
                route=self._terms.route_of(path) if head else "-",
                status=int(request.status[:3]),
                size=request.body_size,
                began=self._began,
            )
        )


def _log_defect(message: str) -> None:
    with contextlib.suppress(Exception):
        _log.exception(message, extra={"action": "defect"})
