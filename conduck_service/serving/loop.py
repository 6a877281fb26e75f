"""One thread a server that owns every connection which no worker has."""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import resource
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable

from conduck_service.serving.guests import (
    LINGER_SECONDS,
    Arrival,
    Farewell,
    Guest,
    Verdict,
)

_log = logging.getLogger(__name__)

GUEST_LIMIT = 512
"""Connections that wait for a head, and that are seen off, at once.

Beyond it the oldest is closed, a kept one first.
"""

_PAUSE_SECONDS = 0.25
_LOG_SECONDS = 60.0
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

Room = dict[Guest, None]
"""Guests in order of arrival, which is also the order of their deadlines."""


def guest_limit() -> int:
    """Return how many connections wait at once where descriptors are scarce.

    Two servers with two kinds of guests each leave half of them for everything
    else.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return GUEST_LIMIT if soft < 0 else max(8, min(GUEST_LIMIT, soft // 8))


class ConnectionLoop:
    """Accepts connections, hands whole heads on, and sees answered ones off.

    An idle or half-sent head waits here and costs no worker; so does a kept
    connection between two requests, and a peer that is slow to take its answer.

    Keeps: C-TIME-11, C-TIME-12.
    """

    def __init__(
        self,
        listener: socket.socket,
        *,
        name: str,
        head_seconds: float,
        deliver: Callable[[socket.socket, bytearray], None],
        keep_seconds: float = 0,
    ) -> None:
        self._listener: socket.socket | None = listener
        self._name = name
        self._head_seconds = head_seconds
        self._keep_seconds = keep_seconds
        self._deliver = deliver
        self._guest_limit = guest_limit()
        self._arrivals: Room = {}
        self._kept: Room = {}
        self._farewells: Room = {}
        self._resume_at: float | None = None
        self._logged_at = -_LOG_SECONDS
        self._lock = threading.Lock()
        self._inbox: deque[Callable[[], None]] = deque()
        self._is_finishing = False
        self._is_over = False
        self._selector = selectors.DefaultSelector()
        self._wake, self._waker = socket.socketpair()
        self._thread = threading.Thread(
            target=self._run, name=f"{name}-connections", daemon=True
        )

    def start(self) -> None:
        """Begin to accept connections."""
        assert self._listener is not None
        for sock in (self._listener, self._wake, self._waker):
            sock.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(self._wake, selectors.EVENT_READ, self._clear_wake)
        self._thread.start()

    def close_doors(self) -> None:
        """Close the listener and idle kept connections; returns when that is done."""
        self._call(self._close_listener)

    def answers(self, seconds: float) -> bool:
        """Say whether the loop comes round within this time."""
        came_round = threading.Event()
        return self._post(came_round.set) and came_round.wait(seconds)

    def take_back(self, sock: socket.socket, received: bytearray) -> None:
        """Take a connection over that is good for another request, from any thread.

        Args:
            sock: The connection.
            received: What has come of the next request.
        """
        sock.setblocking(False)
        if not self._post(functools.partial(self._keep, sock, received)):
            sock.close()

    def see_off(self, sock: socket.socket, limit: int) -> None:
        """Take an answered connection over, from any thread.

        The peer sees the end of the answer at once; the connection is closed
        when the peer has closed it too, or a moment later.

        Args:
            sock: The connection.
            limit: Bytes that are read and dropped meanwhile.
        """
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_WR)
        sock.setblocking(False)
        if not self._post(functools.partial(self._begin_farewell, sock, limit)):
            sock.close()

    def finish(self) -> None:
        """Close what has no whole head; end when every answered peer is gone.

        This takes a little more than a second at most.
        """
        self._post(self._finish)
        self._thread.join()
        self._selector.close()
        self._wake.close()
        self._waker.close()

    def _post(self, command: Callable[[], None]) -> bool:
        with self._lock:
            if self._is_over:
                return False
            self._inbox.append(command)
            # A full pipe is full of reasons to wake up.
            with contextlib.suppress(BlockingIOError):
                self._waker.send(b"\0")
            return True

    def _call(self, command: Callable[[], None]) -> None:
        done = threading.Event()

        def run() -> None:
            try:
                command()
            finally:
                done.set()

        if self._post(run):
            done.wait()

    def _run(self) -> None:
        while not self._check_over():
            try:
                self._turn()
            # Whatever it is, the port must not go deaf.
            except Exception as error:
                self._warn(f"the connection loop failed: {type(error).__name__}")
                time.sleep(_PAUSE_SECONDS)

    def _check_over(self) -> bool:
        with self._lock:
            self._is_over = (
                self._is_finishing and not self._inbox and not self._farewells
            )
            return self._is_over

    def _turn(self) -> None:
        for key, _ in self._selector.select(self._time_left()):
            key.data()
        while self._inbox:
            self._inbox.popleft()()
        now = time.monotonic()
        for room in (self._arrivals, self._kept, self._farewells):
            while room and (oldest := next(iter(room))).deadline <= now:
                self._dismiss(oldest, room)
        if self._resume_at is not None and now >= self._resume_at:
            self._resume()

    def _time_left(self) -> float | None:
        rooms = (self._arrivals, self._kept, self._farewells)
        moments = [next(iter(room)).deadline for room in rooms if room]
        if self._resume_at is not None:
            moments.append(self._resume_at)
        return max(0.0, min(moments) - time.monotonic()) if moments else None

    def _clear_wake(self) -> None:
        self._wake.recv(4096)

    def _accept(self) -> None:
        """Take one connection; the selector says so again if there are more.

        Asking until there is none would cost more, most of the time in vain.
        """
        if self._listener is None:
            return
        try:
            sock, _ = self._listener.accept()
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno in _EXHAUSTED:
                self._make_room()
            return
        sock.setblocking(False)
        # macOS refuses this for a peer that has gone already.
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._make_place()
        # Most often the request is there by now.
        self._expect(Arrival(sock, time.monotonic() + self._head_seconds))

    def _expect(self, guest: Arrival) -> None:
        """Hand a connection on if its head is there, or wait for the rest of it."""
        verdict = guest.read()
        if verdict is Verdict.READY:
            self._deliver(guest.sock, guest.received)
        elif verdict is Verdict.CLOSE:
            guest.sock.close()
        else:
            self._admit(guest, self._arrivals)

    def _keep(self, sock: socket.socket, received: bytearray) -> None:
        now = time.monotonic()
        if received:
            guest = Arrival(sock, now + self._head_seconds, received)
            if guest.is_ready:
                self._deliver(sock, received)
            else:
                self._expect(guest)
        elif self._listener is None:
            sock.close()
        else:
            self._admit(Arrival(sock, now + self._keep_seconds), self._kept)

    def _make_room(self) -> None:
        """Close the oldest idle connection, so that idle peers keep nobody out.

        Without one, accepting pauses: the listener stays readable, and trying
        again at once would spin.
        """
        assert self._listener is not None
        self._warn("out of file descriptors: connections have to wait or go")
        if self._kept or self._arrivals:
            self._dismiss_oldest(self._kept or self._arrivals)
            return
        self._selector.unregister(self._listener)
        self._resume_at = time.monotonic() + _PAUSE_SECONDS

    def _resume(self) -> None:
        self._resume_at = None
        if self._listener is not None:
            self._selector.register(self._listener, selectors.EVENT_READ, self._accept)

    def _warn(self, message: str) -> None:
        now = time.monotonic()
        if now - self._logged_at < _LOG_SECONDS:
            return
        self._logged_at = now
        with contextlib.suppress(Exception):
            _log.warning(message, extra={"action": "connections", "server": self._name})

    def _admit(self, guest: Guest, room: Room) -> None:
        if room is not self._farewells:
            self._make_place()
        elif len(room) >= self._guest_limit:
            self._dismiss_oldest(room)
        look = functools.partial(self._attend, guest, room)
        try:
            self._selector.register(guest.sock, selectors.EVENT_READ, look)
        except OSError:
            guest.sock.close()
            return
        room[guest] = None

    def _make_place(self) -> None:
        if len(self._arrivals) + len(self._kept) >= self._guest_limit:
            self._dismiss_oldest(self._kept or self._arrivals)

    def _dismiss_oldest(self, room: Room) -> None:
        self._dismiss(next(iter(room)), room)

    def _dismiss(self, guest: Guest, room: Room) -> None:
        self._forget(guest, room)
        guest.sock.close()

    def _forget(self, guest: Guest, room: Room) -> None:
        del room[guest]
        self._selector.unregister(guest.sock)

    def _attend(self, guest: Guest, room: Room) -> None:
        # Something earlier in this turn may have closed it.
        if guest not in room:
            return
        verdict = guest.read()
        if verdict is Verdict.CLOSE:
            self._dismiss(guest, room)
        elif verdict is Verdict.READY:
            assert isinstance(guest, Arrival)
            self._forget(guest, room)
            self._deliver(guest.sock, guest.received)
        elif room is self._kept:
            # The next request has begun, and its head has a time of its own.
            assert isinstance(guest, Arrival)
            self._forget(guest, room)
            guest.deadline = time.monotonic() + self._head_seconds
            self._admit(guest, self._arrivals)

    def _begin_farewell(self, sock: socket.socket, limit: int) -> None:
        deadline = time.monotonic() + LINGER_SECONDS
        self._admit(Farewell(sock, deadline, limit), self._farewells)

    def _close_listener(self) -> None:
        while self._kept:
            self._dismiss_oldest(self._kept)
        if self._listener is None:
            return
        if self._resume_at is None:
            self._selector.unregister(self._listener)
        self._resume_at = None
        self._listener.close()
        self._listener = None

    def _finish(self) -> None:
        self._close_listener()
        for guest in list(self._arrivals):
            self._dismiss(guest, self._arrivals)
        self._is_finishing = True
