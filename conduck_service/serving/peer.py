"""The other end of a connection: whether it is there, and writing to it."""

from __future__ import annotations

import select
import socket

# Linux tells a half-closed peer even while bytes of it wait unread; macOS says
# so with POLLHUP.
_LEFT = (
    getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR | select.POLLNVAL
)


class PeerLeft(Exception):  # noqa: N818 - named for what happened
    """Raised when the peer has gone, or takes nothing for the idle time."""


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


class Writer:
    """Writes to a peer; each wait for room is bounded by the socket's timeout.

    cheroot's own writer copies all that is left for every piece it sends, and
    ``sendall`` bounds the whole instead of each wait.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def write(self, data: bytes) -> None:
        """Write all of the bytes.

        Raises:
            PeerLeft: The peer has gone, or takes nothing for the idle time.
        """
        try:
            with memoryview(data) as view:
                sent = 0
                while sent < len(data):
                    sent += self._sock.send(view[sent:])
        except OSError as error:
            raise PeerLeft from error
