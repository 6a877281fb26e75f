"""A client that uses its connection for more than one request."""

from __future__ import annotations

import socket

from tests.support.raw_http import END, RawResponse, parse, read_head


def read_one(sock: socket.socket, *, is_head: bool = False) -> RawResponse:
    """Return the next response of a connection, and read nothing behind it."""
    head = read_head(sock)
    fields = dict(line.lower().split(b": ", 1) for line in head[:-4].split(b"\r\n")[1:])
    body = b""
    if fields.get(b"transfer-encoding") == b"chunked":
        while not body.endswith(b"0" + END):
            body += sock.recv(1) or _fail()
    elif not is_head:
        length = int(fields.get(b"content-length", 0))
        while len(body) < length:
            body += sock.recv(length - len(body)) or _fail()
    return parse(head + body)


def _fail() -> bytes:
    raise AssertionError("the connection ended within a response")
