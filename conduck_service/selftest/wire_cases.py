"""How requests are framed, and how connections end."""

from __future__ import annotations

import contextlib
import socket

from conduck_service.chat.app import COMPLETIONS, MODELS
from conduck_service.doctor.peer import PeerError, Silence
from conduck_service.selftest.case import OURS, BrokenError, Case, Subject

SECONDS = 15.0
"""How long a connection may stay silent before it counts as kept open."""
_BODY = b'{"messages":[]}'


def _exchange(subject: Subject, head: str, body: bytes = b"") -> bytes:
    """Send a request by hand and return all that comes until the peer closes.

    Raises:
        BrokenError: It does not close.
        PeerError: It cannot be reached.
    """
    value = subject.owner.authorization
    lines = [head, "Host: selftest", f"Authorization: {value}"]
    data = "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body
    address = ("127.0.0.1", subject.chat.port)
    pieces = []
    try:
        with socket.create_connection(address, SECONDS) as connection:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(data)
            with contextlib.suppress(ConnectionResetError):
                while piece := connection.recv(1 << 16):
                    pieces.append(piece)
    except TimeoutError:
        raise BrokenError("the connection is not closed after the answer") from None
    except OSError:
        raise PeerError(Silence.NOBODY) from None
    return b"".join(pieces)


def _status(answer: bytes) -> int:
    words = answer.split(b" ", 2)
    if len(words) < 3 or not words[0].startswith(b"HTTP/1."):
        raise BrokenError("no HTTP came back")
    return int(words[1]) if words[1].isdigit() else 0


def _expect(subject: Subject, wanted: int, head: str, body: bytes = b"") -> bytes:
    answer = _exchange(subject, head, body)
    found = _status(answer)
    if found != wanted:
        raise BrokenError(f"status {found}, where {wanted} is due")
    return answer


def _close(subject: Subject) -> None:
    answer = _expect(subject, 200, f"GET {MODELS} HTTP/1.1\r\nConnection: keep-alive")
    if b"\r\nconnection: close\r\n" not in answer.partition(b"{")[0].lower():
        raise BrokenError("the answer does not say Connection: close")


def _chunked(subject: Subject) -> None:
    """A chunked body is read; this one is refused for what it says."""
    head = f"POST {COMPLETIONS} HTTP/1.1\r\nContent-Type: application/json"
    coded = b"%x\r\n%b\r\n0\r\n\r\n" % (len(_BODY), _BODY)
    _expect(subject, 400, f"{head}\r\nTransfer-Encoding: chunked", coded)


def _both_lengths(subject: Subject) -> None:
    head = f"POST {COMPLETIONS} HTTP/1.1\r\nContent-Length: {len(_BODY)}"
    _expect(subject, 400, f"{head}\r\nTransfer-Encoding: chunked", _BODY)


def _bad_lengths(subject: Subject) -> None:
    for length in ("-1", "1x", "1, 2"):
        head = f"POST {COMPLETIONS} HTTP/1.1\r\nContent-Length: {length}"
        _expect(subject, 400, head, _BODY)


def _too_large(subject: Subject) -> None:
    """A declared size is enough: the body is never sent."""
    size = subject.chat.config.max_body_bytes + 1
    head = f"POST {COMPLETIONS} HTTP/1.1\r\nContent-Length: {size}"
    answer = _expect(subject, 413, head)
    if b"body_too_large" not in answer:
        raise BrokenError("the code body_too_large is missing")


def _any_host(subject: Subject) -> None:
    _expect(subject, 200, f"GET {MODELS} HTTP/1.1\r\nX-Forwarded-Host: a.example")


WIRE_CASES = (
    Case(
        name="connection_close",
        means="no request can be spoiled by one before it",
        remedy=OURS,
        run=_close,
    ),
    Case(
        name="chunked",
        means="bodies of unknown length arrive, as some fronts send them",
        remedy=OURS,
        run=_chunked,
    ),
    Case(
        name="two_lengths",
        means="a request cannot hide another one",
        remedy=OURS,
        run=_both_lengths,
    ),
    Case(
        name="bad_length",
        means="a length that is none is refused",
        remedy=OURS,
        run=_bad_lengths,
    ),
    Case(
        name="body_too_large",
        means="a body beyond the limit is refused before it is sent",
        remedy=OURS,
        run=_too_large,
    ),
    Case(
        name="any_host",
        means="the service answers behind any front",
        remedy=OURS,
        run=_any_host,
    ),
)
