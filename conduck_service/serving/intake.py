"""Bytes of a request body as they come, and the ways in which they may not."""

from __future__ import annotations

import socket
import time

from conduck_service.serving.peer import count_unread, is_readable_within


class BodyStalled(Exception):  # noqa: N818 - named for what happened
    """Raised when no byte of the body came for the idle time."""


class BodyCut(Exception):  # noqa: N818 - named for what happened
    """Raised when the peer left before the body was whole."""


class BodyTooLarge(Exception):  # noqa: N818 - named for what happened
    """Raised when the body is longer than the reader takes."""


class BodyMalformed(Exception):  # noqa: N818 - named for what happened
    """Raised when the chunked coding of the body is broken."""


class Intake:
    """Reads what came with the head, then from the socket.

    The socket's timeout is the idle limit: it bounds each wait for bytes, not
    the whole transfer (C-TIME-09, C-TIME-10).

    Attributes:
        socket: The connection.
    """

    def __init__(self, sock: socket.socket, early: bytes) -> None:
        self.socket = sock
        self._early = memoryview(early)
        self._deadline: float | None = None

    @property
    def early_size(self) -> int:
        """Bytes that came with the head and were not taken yet."""
        return len(self._early)

    def is_here(self, size: int) -> bool:
        """Say whether so many bytes can be read without waiting."""
        left = size - len(self._early)
        return left <= 0 or count_unread(self.socket) >= left

    def end_after(self, seconds: float) -> None:
        """Let the rest of the body stall when it has not come within this time."""
        self._deadline = time.monotonic() + seconds

    @property
    def has_begun(self) -> bool:
        """Whether bytes are here already."""
        return len(self._early) > 0

    def take_early(self, limit: int) -> memoryview:
        """Return what came with the head and was not read yet, up to the limit."""
        taken, self._early = self._early[:limit], self._early[limit:]
        return taken

    def read_into(self, target: memoryview) -> int:
        """Fill the beginning of the target and return by how many bytes.

        Raises:
            BodyStalled: Nothing came for the idle time.
            BodyCut: The peer has closed or reset the connection.
        """
        if self.has_begun:
            early = self.take_early(len(target))
            target[: len(early)] = early
            return len(early)
        if self._deadline is not None:
            left = max(0.0, self._deadline - time.monotonic())
            if not is_readable_within(self.socket, left):
                raise BodyStalled
        try:
            size = self.socket.recv_into(target)
        except TimeoutError:
            raise BodyStalled from None
        except OSError:
            raise BodyCut from None
        if size == 0:
            raise BodyCut
        return size
