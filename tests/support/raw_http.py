"""HTTP by hand, for what a well-behaved client would never send or see."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from dataclasses import dataclass

END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class RawResponse:
    """A response as it came over the wire, up to the end of the connection.

    Attributes:
        status: Code of the final response.
        headers: Names as sent, and values, in order.
        body: The body without any chunked coding.
        rest: What came behind the response; nothing, if all is well.
        interim: Codes of the 1xx responses before it.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    rest: bytes = b""
    interim: tuple[int, ...] = ()

    def values(self, name: str) -> list[str]:
        """Return the values of every header of that name."""
        return [value for known, value in self.headers if known.lower() == name.lower()]


def connect(port: int, *, timeout: float = 20.0) -> socket.socket:
    """Return a connection to 127.0.0.1; each wait on it is bounded in seconds."""
    return socket.create_connection(("127.0.0.1", port), timeout)


def request(
    method: str,
    path: str,
    *,
    token: str | None = None,
    headers: Iterable[tuple[str, str]] = (),
    body: bytes | None = None,
    version: str = "HTTP/1.1",
) -> bytes:
    """Return a request as bytes, with a Host header.

    A body gets its Content-Length, unless a header says how it is framed.
    """
    fields = [("Host", "test"), *headers]
    names = {name.lower() for name, _ in fields}
    if token is not None:
        fields.append(("Authorization", f"Bearer {token}"))
    if body is not None and not names & {"content-length", "transfer-encoding"}:
        fields.append(("Content-Length", str(len(body))))
    lines = [f"{method} {path} {version}", *(f"{n}: {v}" for n, v in fields)]
    return "\r\n".join(lines).encode("latin-1") + END + (body or b"")


def chunked(*chunks: bytes) -> bytes:
    """Return a body in the chunked coding, its end included."""
    return b"".join(b"%x\r\n%b\r\n" % (len(c), c) for c in (*chunks, b""))


def exchange(port: int, data: bytes, *, timeout: float = 20.0) -> RawResponse:
    """Send bytes over a new connection and return what is answered."""
    with connect(port, timeout=timeout) as sock:
        sock.sendall(data)
        return read_response(sock)


def read_head(sock: socket.socket) -> bytes:
    """Return what comes up to and with the first empty line."""
    data = b""
    while END not in data:
        piece = sock.recv(1)
        if not piece:
            break
        data += piece
    return data


def read_to_end(sock: socket.socket) -> bytes:
    """Return all that comes until the peer closes."""
    pieces = []
    while piece := sock.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


def read_response(sock: socket.socket) -> RawResponse:
    """Return the response that comes until the peer closes."""
    return parse(read_to_end(sock))


def parse(data: bytes) -> RawResponse:
    """Return the response that these bytes are; they are all there is.

    Raises:
        ValueError: They are no response, or are cut short.
    """
    interim: list[int] = []
    while True:
        head, end, data = data.partition(END)
        if not end:
            raise ValueError(f"no whole response head in {head[:80]!r}")
        first, *lines = head.decode("latin-1").split("\r\n")
        status = int(first.split(" ")[1])
        if status >= 200:
            break
        interim.append(status)
    pairs = (line.partition(":") for line in lines)
    headers = tuple((name, value.strip()) for name, _, value in pairs)
    fields = {name.lower(): value for name, value in headers}
    body, rest = _split_body(fields, data)
    return RawResponse(
        status=status, headers=headers, body=body, rest=rest, interim=tuple(interim)
    )


def _split_body(fields: dict[str, str], data: bytes) -> tuple[bytes, bytes]:
    if fields.get("transfer-encoding") == "chunked":
        return _unchunk(data)
    length = int(fields.get("content-length", len(data)))
    # An answer to HEAD announces a body that does not come.
    if data and len(data) < length:
        raise ValueError(f"{len(data)} bytes of a body of {length}")
    return data[:length], data[length:]


def _unchunk(data: bytes) -> tuple[bytes, bytes]:
    body = b""
    while True:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        body += data[:length]
        if data[length : length + 2] != b"\r\n":
            raise ValueError("a chunk of the response is cut short")
        data = data[length + 2 :]
        if not length:
            return body, data
