"""Connections that no worker has: before their head is whole, after the answer."""

from __future__ import annotations

import socket
from enum import Enum, auto
from typing import Protocol

from conduck_service.serving.framing import can_answer

_READ_SIZE = 64 * 1024

LINGER_SECONDS = 1.0
LINGER_BYTES = 96 * 1024 * 1024
SHORT_LINGER_BYTES = 2 * 1024 * 1024
"""How long and how much is read after an answer, so that it is not lost.

A proxy that is cut while it forwards a body makes a failure of its own out of an
answer that it had already, so a whole body is taken within the time. The small
amount is for those who get nothing else: strangers, and bodies over the cap.
"""


class Verdict(Enum):
    """What becomes of a connection after a look at it."""

    STAY = auto()
    READY = auto()
    CLOSE = auto()


class Guest(Protocol):
    """A connection that waits in the loop."""

    @property
    def sock(self) -> socket.socket:
        """The connection; it never blocks."""
        ...

    @property
    def deadline(self) -> float:
        """Monotonic time at which it is closed, in seconds."""
        ...

    def read(self) -> Verdict:
        """Read what is there; the loop calls this when something is."""
        ...


class Arrival:
    """A connection whose head is not whole yet.

    Attributes:
        received: What it has sent so far.
    """

    def __init__(
        self, sock: socket.socket, deadline: float, received: bytearray | None = None
    ) -> None:
        self.sock = sock
        self.deadline = deadline
        self.received = bytearray() if received is None else received

    @property
    def is_ready(self) -> bool:
        """Whether there is something to answer."""
        return bool(self.received) and can_answer(self.received, 0)

    def read(self) -> Verdict:
        """Collect bytes until there is something to answer."""
        try:
            data = self.sock.recv(_READ_SIZE)
        except BlockingIOError:
            return Verdict.STAY
        except OSError:
            return Verdict.CLOSE
        if not data:
            return Verdict.CLOSE
        seen = len(self.received)
        self.received += data
        return Verdict.READY if can_answer(self.received, seen) else Verdict.STAY


class Farewell:
    """An answered connection that is given a moment to take the answer.

    Closing with bytes unread resets the connection, and a reset can overtake
    the answer. So a little of what is under way is read and dropped.

    Keeps: C-CONN-10, C-CONN-11.
    """

    _scratch = memoryview(bytearray(_READ_SIZE))

    def __init__(self, sock: socket.socket, deadline: float, limit: int) -> None:
        self.sock = sock
        self.deadline = deadline
        self._left = limit

    def read(self) -> Verdict:
        """Drop what came; done at the peer's end or after enough of it."""
        try:
            size = self.sock.recv_into(self._scratch)
        except BlockingIOError:
            return Verdict.STAY
        except OSError:
            return Verdict.CLOSE
        self._left -= size
        return Verdict.STAY if size and self._left > 0 else Verdict.CLOSE
