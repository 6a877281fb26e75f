"""A raw HTTP client that costs little, the same for every server.

It keeps its connection while the server keeps it. Small bodies go out together with
the head; large ones come from memory by ``sendfile``, so that the client has no copy
of its own to make.
"""

from __future__ import annotations

import base64
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass

USER, PASSWORD = "conduck", "bench-password"
INLINE_BYTES = 65536
BUFFER_BYTES = 1 << 20
NOISE_BYTES = 8 << 20
AHEAD_BYTES = 64 << 20
_LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)\r\n")
_CLOSES = re.compile(rb"\r\nconnection: *close\r\n")


def head_of(
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: int,
    password: str = PASSWORD,
) -> bytes:
    """Return a request, a small body of zeros included."""
    credentials = base64.b64encode(f"{USER}:{password}".encode()).decode()
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Basic {credentials}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    if method == "PUT":
        lines.append(f"Content-Length: {body}")
    head = "\r\n".join([*lines, "", ""]).encode()
    return head + bytes(body) if body <= INLINE_BYTES else head


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        status: Of the status line.
        size: Bytes of the body.
        body: The body, when it was asked for and fits into the buffer.
    """

    status: int
    size: int
    body: bytes


class Noise:
    """Bytes that no file system can make smaller, for large uploads."""

    def __init__(self) -> None:
        self._file = os.memfd_create("noise")
        os.write(self._file, os.urandom(NOISE_BYTES))

    def send(self, peer: socket.socket, size: int, ballast: Ballast | None) -> None:
        """Send so many bytes; stop when the peer takes no more."""
        sent = 0
        with open(self._file, "rb", closefd=False) as noise:
            while sent < size:
                if ballast is not None:
                    ballast.give_back(NOISE_BYTES)
                try:
                    sent += peer.sendfile(noise, 0, min(size - sent, NOISE_BYTES))
                except (BrokenPipeError, ConnectionResetError):
                    return

    def close(self) -> None:
        """Give the memory back."""
        os.close(self._file)


class Ballast:
    """Memory that is given back piece by piece while a server stores an upload.

    A virtual machine hands memory that was free for a second to its host, and whoever
    uses it next waits for the host, many times as long as for the disk. A machine
    whose memory is in use, as it is after some days, knows no such wait. So the cached
    pages of a file stand for that use, and make room as fast as room is needed.

    Args:
        path: A file on the disk that is measured, of ``size`` and :data:`AHEAD` bytes.
        size: Of the uploads.
    """

    def __init__(self, path: str, size: int) -> None:
        self._file = os.open(path, os.O_RDONLY)
        self._given = 0
        buffer = bytearray(BUFFER_BYTES)
        left = size + AHEAD_BYTES
        while left > 0 and (read := os.readv(self._file, [buffer])):
            left -= read
        self.give_back(AHEAD_BYTES)

    def give_back(self, size: int) -> None:
        """Let go of so many bytes more."""
        os.posix_fadvise(self._file, self._given, size, os.POSIX_FADV_DONTNEED)
        self._given += size

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)


class GoneError(ConnectionError):
    """Raised when a kept connection turns out to be closed before an answer."""


class Connection:
    """One client of one server.

    Args:
        port: Of 127.0.0.1.
        timeout: Seconds that one wait may take; ``TimeoutError`` after that.
        noise: What large uploads are made of; None when there are none.
        ballast: Memory to give back meanwhile.
    """

    def __init__(
        self,
        port: int,
        timeout: float = 60,
        noise: Noise | None = None,
        ballast: Ballast | None = None,
    ) -> None:
        self._port = port
        self._timeout = timeout
        self._noise = noise
        self._ballast = ballast
        self._socket: socket.socket | None = None
        self._buffer = bytearray(BUFFER_BYTES)
        self._view = memoryview(self._buffer)

    def ask(self, request: bytes, upload: int = 0, *, keep: bool = True) -> Answer:
        """Send a request and read the whole answer.

        Args:
            request: The head, with a small body.
            upload: Bytes of a large body that follow.
            keep: Whether the connection may be used again.
        """
        was_kept = self._socket is not None
        try:
            answer = self._ask_once(request, upload)
        except ConnectionError:
            self.close()
            if not was_kept:
                raise
            answer = self._ask_once(request, upload)
        if not keep:
            self.close()
        return answer

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _ask_once(self, request: bytes, upload: int) -> Answer:
        peer = self._socket
        if peer is None:
            peer = socket.create_connection(("127.0.0.1", self._port), self._timeout)
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket = peer
        peer.sendall(request)
        if upload:
            assert self._noise is not None
            self._noise.send(peer, upload, self._ballast)
        return self._read(peer)

    def _read(self, peer: socket.socket) -> Answer:
        filled, end = 0, -1
        while end < 0:
            received = peer.recv_into(self._view[filled:])
            if not received:
                raise GoneError
            filled += received
            end = self._buffer.find(b"\r\n\r\n", 0, filled)
        head, start = bytes(self._view[: end + 2]).lower(), end + 4
        status = int(head[9:12])
        if length := _LENGTH.search(head):
            size = int(length[1])
            body = self._known(peer, start, filled, size)
        elif b"chunked" in head:
            body = _chunked(peer, bytes(self._view[start:filled]))
            size = len(body)
        else:
            body, size = b"", 0
            if status not in (204, 304):
                raise GoneError
        if _CLOSES.search(head):
            self.close()
        return Answer(status, size, body)

    def _known(self, peer: socket.socket, start: int, filled: int, size: int) -> bytes:
        if start + size <= BUFFER_BYTES:
            while filled < start + size:
                filled += _some(peer.recv_into(self._view[filled:]))
            return bytes(self._view[start : start + size])
        left = size - (filled - start)
        while left:
            left -= _some(peer.recv_into(self._view, min(left, BUFFER_BYTES)))
        return b""


def _some(received: int) -> int:
    if not received:
        raise ConnectionError("the answer was cut")
    return received


def _chunked(peer: socket.socket, start: bytes) -> bytes:
    data, at, parts = bytearray(start), 0, []
    while True:
        while (line := data.find(b"\r\n", at)) < 0:
            data += _more(peer)
        size = int(data[at:line].partition(b";")[0], 16)
        end = line + 2 + size
        while len(data) < end + 2:
            data += _more(peer)
        parts.append(bytes(data[line + 2 : end]))
        if not size:
            return b"".join(parts)
        at = end + 2


def _more(peer: socket.socket) -> bytes:
    data = peer.recv(BUFFER_BYTES)
    _some(len(data))
    return data
