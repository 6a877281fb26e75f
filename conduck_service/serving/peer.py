"""The other end of a connection: whether it is there, and writing to it."""

from __future__ import annotations

import fcntl
import os
import select
import socket
import struct
import sys
import termios
import threading

# Linux tells a half-closed peer even while bytes of it wait unread; macOS says
# so with POLLHUP.
_LEFT = (
    getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR | select.POLLNVAL
)

_SO_NWRITE = 0x1024
"""The option with which macOS tells how much of what was sent is on its way."""


class PeerLeft(Exception):  # noqa: N818 - named for what happened
    """Raised when the peer has gone, or takes nothing for the idle time."""


PLACE_SECONDS = 1.0
"""How long a slow peer waits for a place before it is let go."""


def has_left(sock: socket.socket) -> bool:
    """Say at once whether the peer has closed, half-closed or reset.

    Bytes that wait unread do not count as leaving.
    """
    descriptor = sock.fileno()
    if descriptor < 0:
        return True
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | _LEFT)
    events = sum(event for _, event in poll.poll(0))
    if not events:
        return False
    if events & _LEFT:
        return True
    try:
        return not sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True


def count_unread(sock: socket.socket) -> int:
    """Return how many bytes can be received at once; 0 if that is unknown."""
    try:
        answer = fcntl.ioctl(sock, termios.FIONREAD, struct.pack("i", 0))
    except OSError:
        return 0
    return int(struct.unpack("i", answer)[0])


def is_readable_within(sock: socket.socket, seconds: float) -> bool:
    """Wait for bytes, or for the end of them; say whether they came in time."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


class Writer:
    """Writes to a peer that may pause, but not for longer than the socket's timeout.

    The time counts from the last byte that moved: a phone in a pocket takes
    little, and late. Sockets with a timeout never block in the kernel, so most
    writes are one system call here.

    Args:
        sock: The connection.
        places: Taken while the peer is waited for; None bounds nothing. Files are
            sent without one: whoever offers them counts them.
    """

    def __init__(
        self, sock: socket.socket, places: threading.BoundedSemaphore | None = None
    ) -> None:
        self.socket = sock
        self._places = places

    def write(self, data: bytes | memoryview) -> None:
        """Write all of the bytes.

        Raises:
            PeerLeft: The peer has gone, or takes nothing for the idle time.
        """
        sent = self._send(data)
        if sent < len(data):
            with memoryview(data) as view, view[sent:] as rest:
                self._write_slowly(rest)

    def _write_slowly(self, data: memoryview) -> None:
        """Write to a peer that takes less than is there for it.

        Such peers must not hold all workers, so without a place it is let go.
        """
        places = self._places
        if places is not None and not places.acquire(timeout=PLACE_SECONDS):
            raise PeerLeft
        try:
            sent = 0
            while sent < len(data):
                with data[sent:] as rest:
                    size = self._send(rest)
                sent += size
                if not size:
                    self.wait_for_room()
        finally:
            if places is not None:
                places.release()

    def announce(self, head: bytes) -> None:
        """Write bytes that more follow at once, in the same packet if possible.

        Raises:
            PeerLeft: The peer has gone, or takes nothing for the idle time.
        """
        try:
            sent = self.socket.send(head, getattr(socket, "MSG_MORE", 0))
        except OSError as error:
            raise PeerLeft from error
        if sent < len(head):
            self.write(head[sent:])

    def wait_for_room(self) -> None:
        """Wait until something can be sent again.

        Raises:
            PeerLeft: Nothing has moved for the idle time.
        """
        poll = select.poll()
        poll.register(self.socket, select.POLLOUT)
        seconds = self.socket.gettimeout()
        before = _count_unsent(self.socket)
        while not poll.poll(None if seconds is None else seconds * 1000):
            # A buffer of megabytes counts as full until a third of it is free,
            # so a slow peer may well have taken some.
            left = _count_unsent(self.socket)
            if left == before:
                raise PeerLeft
            before = left

    def _send(self, data: bytes | memoryview) -> int:
        try:
            return os.write(self.socket.fileno(), data)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise PeerLeft from error


def _count_unsent(sock: socket.socket) -> int:
    """Return how many bytes the peer's system has not confirmed; 0 if unknown."""
    try:
        if sys.platform == "darwin":
            return sock.getsockopt(socket.SOL_SOCKET, _SO_NWRITE)
        answer = fcntl.ioctl(sock, termios.TIOCOUTQ, struct.pack("i", 0))
        return int(struct.unpack("i", answer)[0])
    except OSError:
        return 0
