"""A part of a file as the body of a response; the kernel copies it."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator

from conduck_service.serving.peer import PeerLeft, Writer

SMALL = 64 * 1024
"""Bytes up to which a range is read and sent with the head, in one packet."""

_STEP = 1 << 30
_CHUNK = 256 * 1024
_NO_SENDFILE = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})


class FileCut(Exception):  # noqa: N818 - named for what happened
    """Raised when a file ends before the range that was promised."""


class FileRange:
    """What an application returns instead of chunks: bytes of an open file.

    The application has declared their number as Content-Length. The server sends
    them with constant memory, and closes the descriptor in any case.

    Attributes:
        size: Bytes of the range.
    """

    def __init__(self, descriptor: int, offset: int, size: int) -> None:
        self.size = size
        self._descriptor = descriptor
        self._offset = offset
        self._actions: list[Callable[[], object]] = []

    def __iter__(self) -> Iterator[bytes]:
        """Read the range, for file systems and tests that know no other way."""
        return self._read_from(0)

    def read(self) -> bytes:
        """Return the whole range, less what the file lacks; only for small ones."""
        return os.pread(self._descriptor, self.size, self._offset)

    def send(self, writer: Writer) -> None:
        """Send the whole range.

        Raises:
            FileCut: The file has become shorter.
            PeerLeft: The peer has gone, or takes nothing for the idle time.
        """
        sent = 0
        try:
            while sent < self.size:
                size = self._send_some(writer, sent)
                if size == 0:
                    raise FileCut
                sent += size
        except OSError as error:
            if error.errno not in _NO_SENDFILE or sent:
                raise PeerLeft from error
            for chunk in self:
                writer.write(chunk)

    def on_close(self, action: Callable[[], object]) -> None:
        """Have this called once the descriptor is closed, however sending ended."""
        self._actions.append(action)

    def close(self) -> None:
        """Close the descriptor; more than once does no harm."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        while self._actions:
            self._actions.pop()()

    def _send_some(self, writer: Writer, sent: int) -> int:
        count = min(self.size - sent, _STEP)
        while True:
            try:
                return os.sendfile(
                    writer.socket.fileno(),
                    self._descriptor,
                    self._offset + sent,
                    count,
                )
            except BlockingIOError:
                writer.wait_for_room()

    def _read_from(self, start: int) -> Iterator[bytes]:
        while start < self.size:
            size = min(_CHUNK, self.size - start)
            chunk = os.pread(self._descriptor, size, self._offset + start)
            if not chunk:
                raise FileCut
            start += len(chunk)
            yield chunk
