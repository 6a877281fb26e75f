"""The HTTP server of a listener: loopback only, with workers of cheroot."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from cheroot import wsgi

from conduck_service.serving.bearer import Gate
from conduck_service.serving.dialect import Dialect
from conduck_service.serving.environ import SOFTWARE, common_environ
from conduck_service.serving.exchange import Exchange, Terms
from conduck_service.serving.loop import ConnectionLoop

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

_log = logging.getLogger(__name__)

HOST = "127.0.0.1"
BACKLOG = 512
SEND_BYTES = 256 * 1024
"""What the kernel holds of an answer for a peer, at most.

The peer is a proxy of this machine, so nothing is gained by more, and left to itself
the kernel holds megabytes: they are out of the processor's cache by the time the peer
takes them, which doubles the cost of a large file.
"""
QUEUE_LIMIT = 512
"""Requests that may wait for a worker; the connection of one more is closed."""

STOP_SECONDS = 5.0
"""How long stopping waits for answers under way, and again after cutting them."""


class Server:
    """Serves a WSGI application on 127.0.0.1 (C-NET-02, C-NET-03).

    The application finds ``conduck.body`` (a ``Body``) and
    ``conduck.client_gone`` (a function) in its environ; ``wsgi.input`` is closed.
    It may return a ``FileRange``.

    With ``keep_seconds`` a connection is good for more requests, and may be idle
    between them for that long; without, every answer closes its connection.
    ``slow_answers`` bounds how many answers may wait at once for peers that do not
    take them, files excepted; one more is cut after a second.

    Attributes:
        port: The port; once started, the one that is bound.
    """

    def __init__(
        self,
        app: WSGIApplication,
        *,
        port: int,
        gate: Gate,
        dialect: Dialect,
        workers: int,
        route_of: Callable[[str], str],
        name: str,
        head_seconds: float = 15,
        idle_seconds: float = 60,
        keep_seconds: float = 0,
        slow_answers: int | None = None,
    ) -> None:
        self.port = port
        self._terms = Terms(
            name=name,
            app=app,
            environ=common_environ(port),
            gate=gate,
            dialect=dialect,
            route_of=route_of,
            keeps=keep_seconds > 0,
            slow_places=None
            if slow_answers is None
            else threading.BoundedSemaphore(slow_answers),
        )
        self._workers = workers
        self._head_seconds = head_seconds
        self._idle_seconds = idle_seconds
        self._keep_seconds = keep_seconds
        self._exchanges = _Exchanges(workers)
        self._cheroot: _Cheroot | None = None
        self._loop: ConnectionLoop | None = None

    def start(self) -> None:
        """Bind, start the threads and serve; returns at once.

        Raises:
            OSError: The port cannot be had (EADDRINUSE), or no threads.
        """
        listener = _listen(self.port)
        self.port = listener.getsockname()[1]
        self._terms = replace(self._terms, environ=common_environ(self.port))
        self._cheroot = _Cheroot(self._terms.app, self.port, self._workers)
        try:
            self._cheroot.start_workers()
        except OSError:
            listener.close()
            raise
        self._loop = ConnectionLoop(
            listener,
            name=self._terms.name,
            head_seconds=self._head_seconds,
            deliver=self._deliver,
            keep_seconds=self._keep_seconds,
        )
        self._exchanges.open(self._loop)
        self._loop.start()

    def answers(self, seconds: float) -> bool:
        """Say whether connections are attended to, once that is known or in time."""
        loop = self._loop
        return loop is not None and loop.answers(seconds)

    def close_doors(self) -> None:
        """Stop listening and keeping; what is connected is still served."""
        if self._loop is not None:
            self._exchanges.is_closing = True
            self._loop.close_doors()

    def stop(self, patience: Callable[[], bool] = lambda: False) -> None:
        """End serving; returns when nothing is being answered any more.

        Answers under way get a moment, peers that hold them up are cut, and an
        application that still does not return is left behind with a line in the
        log. So this takes some 12 seconds at the very most.

        Args:
            patience: Says for how much longer, before that, everything under way
                goes on untouched.
        """
        loop, cheroot = self._loop, self._cheroot
        if loop is None or cheroot is None:
            return
        self._loop = None
        self._exchanges.is_closing = True
        # Once the loop has done this, it delivers nothing any more.
        loop.close_doors()
        self._exchanges.let_finish(patience)
        is_idle = self._exchanges.wait(Exchange.stop_reading) or self._exchanges.wait(
            Exchange.cut
        )
        loop.finish()
        if is_idle:
            cheroot.requests.stop()
            return
        _log.error(
            "the server stopped while a request was still being worked on",
            extra={"action": "stop", "server": self._terms.name},
        )

    def _deliver(self, sock: socket.socket, received: bytearray) -> None:
        assert self._cheroot is not None
        loop = self._loop
        if loop is None or len(self._exchanges) >= self._workers + QUEUE_LIMIT:
            sock.close()
            return
        sock.settimeout(self._idle_seconds)
        exchange = Exchange(sock, received, terms=self._terms, house=self._exchanges)
        self._exchanges.add(exchange)
        self._cheroot.process_conn(exchange)


class _Exchanges:
    """The exchanges that wait for a worker or have one.

    Attributes:
        is_closing: Whether connections are not kept any more.
    """

    def __init__(self, workers: int) -> None:
        self.is_closing = False
        self._workers = workers
        self._loop: ConnectionLoop | None = None
        self._changed = threading.Condition()
        self._items: set[Exchange] = set()

    def __len__(self) -> int:
        return len(self._items)

    @property
    def has_idle_worker(self) -> bool:
        """Whether there are more workers than exchanges."""
        return len(self._items) < self._workers

    def open(self, loop: ConnectionLoop) -> None:
        """Learn who takes connections back."""
        self._loop = loop
        self.is_closing = False

    def add(self, exchange: Exchange) -> None:
        """Count an exchange from now on."""
        with self._changed:
            self._items.add(exchange)

    def release(self, exchange: Exchange) -> None:
        """Hand the connection of an exchange on, and count it no more."""
        assert self._loop is not None
        if exchange.is_over:
            exchange.socket.close()
        elif exchange.keeps:
            self._loop.take_back(exchange.socket, exchange.received)
        else:
            self._loop.see_off(exchange.socket, exchange.linger_bytes)
        with self._changed:
            self._items.discard(exchange)
            self._changed.notify_all()

    def let_finish(self, patience: Callable[[], bool]) -> None:
        """Wait for all of them to end, as long as patience lasts."""
        with self._changed:
            while self._items and patience():
                self._changed.wait(0.05)

    def wait(self, urge: Callable[[Exchange], None]) -> bool:
        """Wait for all of them to end, urging them on; say whether they did."""
        deadline = time.monotonic() + STOP_SECONDS
        with self._changed:
            while self._items and time.monotonic() < deadline:
                for exchange in self._items:
                    urge(exchange)
                self._changed.wait(0.05)
            return not self._items


class _Cheroot(wsgi.Server):
    """cheroot's workers, without its listener, accept loop and parser."""

    def __init__(self, app: WSGIApplication, port: int, workers: int) -> None:
        super().__init__((HOST, port), app, numthreads=workers, server_name=SOFTWARE)

    def start_workers(self) -> None:
        """Start the threads that answer.

        Raises:
            OSError: The system gives no more threads.
        """
        # Workers inherit being daemonic: one that hangs must not keep the
        # process from ending.
        starter = threading.Thread(target=self.requests.start, daemon=True)
        starter.start()
        starter.join()
        if self.requests.idle < self.numthreads:
            raise OSError("the system does not let the server start its threads")

    def error_log(
        self, msg: str = "", level: int = 20, traceback: bool = False
    ) -> None:
        """Log that something is wrong; cheroot's text can name the peer."""
        with contextlib.suppress(Exception):
            _log.log(
                level,
                "a worker reports a fault",
                exc_info=traceback,
                extra={"action": "defect"},
            )


def _listen(port: int) -> socket.socket:
    # Bound here and not by cheroot, which takes descriptor 3 for its listener
    # when LISTEN_PID is set, whoever that was meant for.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
        listener.bind((HOST, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener
