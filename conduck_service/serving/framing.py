"""What the head of a request must look like, and what is wrong with one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

HEAD_LIMIT = 64 * 1024
"""Bytes of request line and headers; a longer head is refused."""

# A head that ends in bare line feeds is found too, so that it is answered
# instead of waiting for its deadline.
_END = re.compile(rb"\r?\n\r?\n")
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
        fault: What is wrong with it in one sentence; empty when it can be served.
    """

    method: str
    target: str
    version: str
    headers: tuple[tuple[str, bytes], ...]
    fault: str

    def values(self, name: str) -> list[bytes]:
        """Return the values of every header of a lower-case name."""
        return [value for known, value in self.headers if known == name]

    @property
    def path(self) -> bytes:
        """The decoded path; an encoded slash stays encoded, so as to split nothing."""
        path = self.target.partition("?")[0]
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
        or _END.search(received, max(0, seen - 3)) is not None
    )


def read_head(received: bytearray) -> tuple[Head, bytes]:
    """Return the head, and the bytes that came behind it.

    A head whose lines can be told apart is returned even when it must not be
    served, with its ``fault``: the credential is looked at first.

    Raises:
        UnreadableHeadError: There is no head at the beginning of the bytes.
    """
    end = _END.search(received)
    if end is None or end.end() > HEAD_LIMIT:
        raise UnreadableHeadError("the request head is too long or not HTTP")
    # RFC 9112, 2.2: one empty line before the request line is ignored.
    text = bytes(received[: end.end()]).removeprefix(b"\r\n")
    if not text.endswith(b"\r\n\r\n"):
        raise UnreadableHeadError("a line of the request head ends without CR LF")
    first, *rest = text[:-4].split(b"\r\n")
    match = _REQUEST_LINE.fullmatch(first)
    if match is None:
        raise UnreadableHeadError("the request line is malformed")
    method, target, version = (part.decode("ascii") for part in match.groups())
    headers, fault = _read_headers(rest)
    origin = _reduce(target)
    head = Head(
        method=method,
        target=origin if origin.startswith("/") else "/" + origin,
        version=version,
        headers=headers,
        fault=fault or _find_fault(method, origin, version, headers),
    )
    return head, bytes(received[end.end() :])


def _read_headers(lines: Sequence[bytes]) -> tuple[tuple[tuple[str, bytes], ...], str]:
    headers = []
    fault = ""
    for line in lines:
        if b"\n" in line:
            raise UnreadableHeadError("a line of the request head ends without CR LF")
        if line.startswith((b" ", b"\t")):
            fault = fault or "a header is folded over several lines"
            continue
        name, colon, value = line.partition(b":")
        if not colon:
            raise UnreadableHeadError("a header has no colon")
        value = value.strip(b" \t")
        if not _TOKEN.fullmatch(name):
            fault = fault or "the name of a header is malformed"
        elif _CONTROL.search(value):
            fault = fault or "the value of a header holds a control character"
        elif b"_" not in name:
            headers.append((name.decode("ascii").lower(), value))
    return tuple(headers), fault


def _reduce(target: str) -> str:
    absolute = _ABSOLUTE.match(target)
    if absolute is None:
        return target
    rest = target[absolute.end() :]
    return rest if rest.startswith("/") else "/" + rest


def _find_fault(
    method: str, target: str, version: str, headers: tuple[tuple[str, bytes], ...]
) -> str:
    if version not in ("HTTP/1.0", "HTTP/1.1"):
        return "only HTTP/1.0 and HTTP/1.1 are spoken here"
    if not _METHOD.fullmatch(method):
        return "the method is malformed"
    if "#" in target or not (target.startswith("/") or _has_no_path(method, target)):
        return "the request target is malformed"
    hosts = sum(name == "host" for name, _ in headers)
    if hosts > 1 or (hosts == 0 and version == "HTTP/1.1"):
        return "exactly one Host header is needed"
    return _find_framing_fault(version, headers)


def _has_no_path(method: str, target: str) -> bool:
    return target == "*" or method == "CONNECT"


def _find_framing_fault(version: str, headers: tuple[tuple[str, bytes], ...]) -> str:
    """Return why the end of the body cannot be known for sure (C-CONN-14)."""
    lengths = [value for name, value in headers if name == "content-length"]
    codings = [value.lower() for name, value in headers if name == "transfer-encoding"]
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
