"""What the head of a request must look like, and what is wrong with one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import unquote_to_bytes

HEAD_LIMIT = 64 * 1024
"""Bytes of request line and headers; a longer head is refused."""

_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FIRST_BYTES = frozenset(b"!#$%&'*+.^_`|~-\r") | frozenset(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)
_REQUEST_LINE = re.compile(
    rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+) (HTTP/[0-9]\.[0-9])"
)
_METHOD = re.compile(r"[A-Z][A-Z-]{0,31}")
_ABSOLUTE = re.compile(r"https?://[^/?#]+", re.IGNORECASE)
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_QUOTED_SLASH = re.compile("%2F", re.IGNORECASE)


_SMALL_BLOCK = 1024

Headers = tuple[tuple[str, bytes], ...]
Fields = Mapping[str, Sequence[bytes]]
"""Lower-case names of headers, and all values of each in the order they came."""


class UnreadableHeadError(Exception):
    """Raised when bytes are no HTTP head; the text repeats nothing of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A request line and its headers.

    Attributes:
        method: As sent.
        target: Path and query; an absolute target is reduced to them.
        version: ``HTTP/1.0`` or ``HTTP/1.1``, unless ``fault`` says otherwise.
        headers: Lower-case names and values, as sent. Those with an underscore
            in the name are left out: in an environ they would pass for others.
        fields: The values of each name, for looking them up.
        fault: What is wrong with it in one sentence; empty when it can be served.
    """

    method: str
    target: str
    version: str
    headers: Headers
    fault: str
    fields: Fields = field(repr=False, compare=False)

    def values(self, name: str) -> Sequence[bytes]:
        """Return the values of every header of a lower-case name."""
        return self.fields.get(name, ())

    @property
    def path(self) -> bytes:
        """The decoded path; an encoded slash stays encoded, so as to split nothing."""
        path = self.target.partition("?")[0]
        if "%" not in path:
            return path.encode("ascii")
        return b"%2F".join(unquote_to_bytes(part) for part in _QUOTED_SLASH.split(path))

    @property
    def query(self) -> str:
        """What follows the question mark, as sent."""
        return self.target.partition("?")[2]

    @property
    def length(self) -> int | None:
        """The declared length of the body in bytes, if there is one."""
        values = self.values("content-length")
        return int(values[0]) if values else None

    @property
    def is_chunked(self) -> bool:
        """Whether the body comes in chunks."""
        return bool(self.values("transfer-encoding"))

    @property
    def expects_continue(self) -> bool:
        """Whether the sender holds the body back until it is asked for."""
        expected = self.values("expect")
        return self.version == "HTTP/1.1" and [value.lower() for value in expected] == [
            b"100-continue"
        ]

    @property
    def keeps(self) -> bool:
        """Whether the sender lets the connection be used for another request."""
        if self.version != "HTTP/1.1" or self.method == "CONNECT":
            return False
        options = b",".join(self.values("connection")).lower().split(b",")
        return b"close" not in [option.strip(b" \t") for option in options]


def can_answer(received: bytearray, seen: int) -> bool:
    """Say whether enough was received to begin the answer.

    That is the case when the head is whole, and also when it can become none:
    it is too long already, or begins like TLS does (C-NET-04).

    Args:
        received: Everything so far, at least one byte.
        seen: How much of it an earlier call has looked at.
    """
    return (
        received[0] not in _FIRST_BYTES
        or len(received) > HEAD_LIMIT
        or _find_end(received, max(0, seen - 3)) > 0
    )


def read_head(received: bytearray) -> tuple[Head, bytes]:
    """Return the head, and the bytes that came behind it.

    A head whose lines can be told apart is returned even when it must not be
    served, with its ``fault``: the credential is looked at first.

    Raises:
        UnreadableHeadError: There is no head at the beginning of the bytes.
    """
    end = _find_end(received, 0)
    if not 0 < end <= HEAD_LIMIT:
        raise UnreadableHeadError("the request head is too long or not HTTP")
    # RFC 9112, 2.2: one empty line before the request line is ignored.
    text = bytes(received[:end]).removeprefix(b"\r\n")
    if not text.endswith(b"\r\n\r\n") or text.count(b"\n") != text.count(b"\r\n"):
        raise UnreadableHeadError("a line of the request head ends without CR LF")
    first, _, block = text[:-2].partition(b"\r\n")
    match = _REQUEST_LINE.fullmatch(first)
    if match is None:
        raise UnreadableHeadError("the request line is malformed")
    method, target, version = first.decode("ascii").split(" ")
    # A client repeats itself. What is remembered of it must not be large.
    read = _recall_headers if len(block) <= _SMALL_BLOCK else _read_headers
    headers, fields, fault = read(block)
    origin = target if target.startswith("/") else _reduce(target)
    head = Head(
        method=method,
        target=origin if origin.startswith("/") else "/" + origin,
        version=version,
        headers=headers,
        fault=fault or _find_fault(method, origin, version, fields),
        fields=fields,
    )
    return head, bytes(received[end:])


def _find_end(received: bytearray, start: int) -> int:
    """Return where the first empty line ends, or 0.

    A head that ends in bare line feeds is found too, so that it is answered
    instead of waiting for its deadline.
    """
    proper = received.find(b"\n\r\n", start)
    bare = received.find(b"\n\n", start, len(received) if proper < 0 else proper)
    if bare >= 0:
        return bare + 2
    return proper + 3 if proper >= 0 else 0


def _read_headers(block: bytes) -> tuple[Headers, Fields, str]:
    """Return the headers of these lines, by name too, and what is wrong with them."""
    headers: list[tuple[str, bytes]] = []
    fields: dict[str, list[bytes]] = {}
    fault = ""
    for line in block.split(b"\r\n")[:-1]:
        if line.startswith((b" ", b"\t")):
            fault = fault or "a header is folded over several lines"
            continue
        raw, colon, value = line.partition(b":")
        if not colon:
            raise UnreadableHeadError("a header has no colon")
        value = value.strip(b" \t")
        if not _TOKEN.fullmatch(raw):
            fault = fault or "the name of a header is malformed"
        elif _CONTROL.search(value):
            fault = fault or "the value of a header holds a control character"
        elif b"_" not in raw:
            name = raw.decode("ascii").lower()
            headers.append((name, value))
            fields.setdefault(name, []).append(value)
    return tuple(headers), fields, fault


_recall_headers = lru_cache(maxsize=64)(_read_headers)


def _reduce(target: str) -> str:
    absolute = _ABSOLUTE.match(target)
    if absolute is None:
        return target
    rest = target[absolute.end() :]
    return rest if rest.startswith("/") else "/" + rest


def _find_fault(method: str, target: str, version: str, fields: Fields) -> str:
    if version not in ("HTTP/1.0", "HTTP/1.1"):
        return "only HTTP/1.0 and HTTP/1.1 are spoken here"
    if not _METHOD.fullmatch(method):
        return "the method is malformed"
    if "#" in target or not (target.startswith("/") or _has_no_path(method, target)):
        return "the request target is malformed"
    hosts = len(fields.get("host", ()))
    if hosts > 1 or (hosts == 0 and version == "HTTP/1.1"):
        return "exactly one Host header is needed"
    return _find_framing_fault(version, fields)


def _has_no_path(method: str, target: str) -> bool:
    return method == "CONNECT" or (target == "*" and method == "OPTIONS")


def _find_framing_fault(version: str, fields: Fields) -> str:
    """Return why the end of the body cannot be known for sure (C-CONN-14)."""
    lengths = fields.get("content-length", ())
    codings = [value.lower() for value in fields.get("transfer-encoding", ())]
    if codings and version == "HTTP/1.0":
        return "Transfer-Encoding does not exist in HTTP/1.0"
    if codings and lengths:
        return "Content-Length and Transfer-Encoding exclude each other"
    if codings and codings != [b"chunked"]:
        return "the only Transfer-Encoding known here is chunked"
    if len(lengths) > 1:
        return "Content-Length is given more than once"
    if lengths and not _LENGTH.fullmatch(lengths[0]):
        return "Content-Length is not a plain number of bytes"
    return ""
