"""A connection while a worker has it: requests, and one answer to each."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from conduck_service.serving.access import Answered, log_answered
from conduck_service.serving.answer import Answer
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
from conduck_service.serving.environ import request_environ
from conduck_service.serving.framing import (
    Head,
    UnreadableHeadError,
    can_answer,
    read_head,
)
from conduck_service.serving.gateway import Gateway
from conduck_service.serving.guests import LINGER_BYTES, SHORT_LINGER_BYTES
from conduck_service.serving.intake import Intake
from conduck_service.serving.peer import PeerLeft, Writer, is_readable_within
from conduck_service.serving.sending import FileCut

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

_log = logging.getLogger(__name__)

SKIP_LIMIT = 64 * 1024
"""Bytes of a body that are dropped behind an answer, so as to keep its connection."""

_SHORT = frozenset({401, 413})
_NEXT_SECONDS = 0.005
"""How long a worker that is not needed elsewhere waits for what comes next.

Handing a connection to the loop and back costs more than most requests.
"""

_READ_SIZE = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What all exchanges of a server share.

    Attributes:
        name: The server, for log lines.
        app: The application.
        environ: What its environ always holds.
        gate: Says whose requests are served.
        dialect: Words what the server refuses by itself.
        route_of: Returns what log lines call a path.
        keeps: Whether connections are kept at all.
        slow_places: Taken by answers that their peers are slow to take.
    """

    name: str
    app: WSGIApplication
    environ: dict[str, Any]
    gate: Gate
    dialect: Dialect
    route_of: Callable[[str], str]
    keeps: bool
    slow_places: threading.BoundedSemaphore | None


class House(Protocol):
    """What an exchange has to know of its server."""

    @property
    def is_closing(self) -> bool:
        """Whether connections are not kept any more."""
        ...

    @property
    def has_idle_worker(self) -> bool:
        """Whether no request waits for a worker, and would not if one came."""
        ...

    def release(self, exchange: Exchange) -> None:
        """Take the connection back, as the exchange leaves it."""
        ...


class Exchange:
    """What cheroot's workers call a connection.

    Attributes:
        socket: The connection; its timeout bounds each wait of the exchange.
        received: What has come of the next request.
        body: The request's body once the head was found good.
        keeps: Whether the connection is good for another request.
        is_over: Whether the peer has ended the connection too.
        linger_bytes: How much of what is under way is read after the last answer.
    """

    remote_addr = ""
    remote_port = ""

    def __init__(
        self,
        sock: socket.socket,
        received: bytearray,
        *,
        terms: Terms,
        house: House,
    ) -> None:
        self.socket = sock
        self.received = received
        self.body: Body | None = None
        self.keeps = False
        self.is_over = False
        self.linger_bytes = LINGER_BYTES
        self._terms = terms
        self._house = house
        self._writer = Writer(sock, terms.slow_places)
        self._head: Head | None = None
        self._began = time.monotonic()

    def communicate(self) -> bool:
        """Answer requests until none is there; cheroot is to keep nothing."""
        while True:
            self._serve()
            if not self.keeps:
                self._part()
                return False
            if not self._has_next():
                return False
            self._began = time.monotonic()

    def close(self) -> None:
        """Let go of the connection, to be kept or not."""
        self.body = None
        self._head = None
        self._house.release(self)

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

    def _serve(self) -> None:
        self.keeps = False
        answer = Answer(
            self._writer, dialect=self._terms.dialect, may_keep=self._may_keep
        )
        try:
            self._answer_safely(answer)
        except (PeerLeft, FileCut):
            pass
        except Exception:
            _log_defect("a request could not be refused")
        if answer.is_begun:
            if answer.status in _SHORT:  # C-CONN-11
                self.linger_bytes = SHORT_LINGER_BYTES
            # A line that cannot be written costs no worker.
            with contextlib.suppress(Exception):
                self._log(answer)
        body = self.body
        if answer.keeps and answer.is_whole and body and body.skip(SKIP_LIMIT):
            self.received = bytearray(body.leftover)
            self.keeps = True

    def _answer_safely(self, answer: Answer) -> None:
        try:
            self._answer(answer)
        except (PeerLeft, FileCut, BodyStalled, BodyCut):
            pass
        except BodyMalformed:
            answer.refuse(bad_request("the chunked coding is broken"))
        # SystemExit too: one request must not end the server.
        except BaseException:
            _log_defect("a request failed")
            answer.refuse(INTERNAL)

    def _answer(self, answer: Answer) -> None:
        self.body = self._head = None
        try:
            head, early = read_head(self.received)
        except UnreadableHeadError as error:
            answer.refuse(bad_request(str(error)))
            return
        finally:
            self.received = bytearray()
        self._head = head
        answer.take(method=head.method, version=head.version)
        # C-AUTH-02, C-ERR-14: before framing, routing and the body.
        if not self._terms.gate(head.values("authorization")):
            answer.refuse(UNAUTHORIZED)
            return
        if head.fault:
            answer.refuse(bad_request(head.fault))
            return
        self.body = Body(
            Intake(self.socket, early),
            length=head.length,
            chunked=head.is_chunked,
            invite=self._invite if head.expects_continue else None,
        )
        environ = request_environ(self._terms.environ, head, self.body, self.socket)
        Gateway(self._terms.app, answer).respond(environ)

    def _invite(self) -> None:
        # C-CONN-15: only a body that is wanted is asked for.
        try:
            self._writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        except PeerLeft:
            raise BodyCut from None

    def _may_keep(self) -> bool:
        return (
            self._terms.keeps
            and not self._house.is_closing
            and self._head is not None
            and self._head.keeps
            and self.body is not None
            and self.body.is_skippable(SKIP_LIMIT)
        )

    def _has_next(self) -> bool:
        """Wait a moment for a whole head, unless the worker has better to do."""
        deadline = time.monotonic() + _NEXT_SECONDS
        seen = 0
        while self._house.has_idle_worker:
            if self.received and can_answer(self.received, seen):
                return True
            left = deadline - time.monotonic()
            if left <= 0 or not is_readable_within(self.socket, left):
                return False
            seen = len(self.received)
            data = self._receive()
            if not data:
                self.keeps, self.is_over = False, True
                return False
            self.received += data
        return False

    def _part(self) -> None:
        """Say goodbye, and wait a moment for the peer's."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)
        if self._house.has_idle_worker and is_readable_within(
            self.socket, _NEXT_SECONDS
        ):
            data = self._receive()
            self.is_over = not data
            self.linger_bytes -= len(data)

    def _receive(self) -> bytes:
        try:
            return os.read(self.socket.fileno(), _READ_SIZE)
        except OSError:
            return b""

    def _log(self, answer: Answer) -> None:
        head = self._head
        path = head.path.decode("utf-8", "replace") if head else ""
        log_answered(
            Answered(
                server=self._terms.name,
                method=head.method if head else "",
                route=self._terms.route_of(path) if head else "-",
                status=answer.status,
                size=answer.body_size,
                began=self._began,
            )
        )


def _log_defect(message: str) -> None:
    with contextlib.suppress(Exception):
        _log.exception(message, extra={"action": "defect"})
