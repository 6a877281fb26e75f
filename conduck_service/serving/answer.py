"""The response of one request, from its status to its last byte."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from email.utils import formatdate
from functools import lru_cache

from conduck_service.serving.dialect import Dialect, Refusal
from conduck_service.serving.peer import Writer
from conduck_service.serving.sending import SMALL, FileCut, FileRange

_STATUS = re.compile(r"[2-5][0-9]{2}( [ -~]*)?")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_DIGITS = re.compile(r"[0-9]{1,18}")

# The server decides about these; an application's word would only contradict.
_CONNECTION_HEADERS = frozenset({"connection", "keep-alive", "transfer-encoding"})

_LAST_ONES = frozenset({400, 401, 408, 413})
"""Statuses that leave in doubt what the peer is sending; they end the connection."""

_SERVER = "conduck-service"


class Answer:
    """What is sent for one request, at most once.

    Attributes:
        status: Code of the response; 0 as long as there is none.
        is_begun: Whether its head went out, or was about to.
        is_whole: Whether all of it went out.
        keeps: Whether its head leaves the connection open.
        body_size: Bytes of the body that were sent, without any coding.
    """

    def __init__(
        self,
        writer: Writer,
        *,
        dialect: Dialect,
        may_keep: Callable[[], bool],
    ) -> None:
        self.status = 0
        self.is_begun = False
        self.is_whole = False
        self.keeps = False
        self.body_size = 0
        self._writer = writer
        self._dialect = dialect
        self._may_keep = may_keep
        self._is_head = False
        self._speaks_chunks = False
        self._line = ""
        self._headers: list[tuple[str, str]] = []
        self._names: set[str] = set()
        self._length: int | None = None
        self._is_chunked = False
        self._wants_close = False

    def take(self, *, method: str, version: str) -> None:
        """Learn what the request allows the response to be."""
        self._is_head = method == "HEAD"
        self._speaks_chunks = version == "HTTP/1.1"

    def start(self, status: str, headers: list[tuple[str, str]]) -> None:
        """Take status and headers, instead of any that were taken before.

        Raises:
            ValueError: One of them would break the head of the response.
        """
        if not _STATUS.fullmatch(status):
            raise ValueError("the status is malformed")
        self._line, self.status = status, int(status[:3])
        self._length = None
        self._is_chunked = False
        self._wants_close = False
        self._headers = []
        self._names = set()
        for name, value in headers:
            self._take_header(name, value)

    def write(self, chunk: bytes) -> None:
        """Send a piece of the body, and the head before the first one.

        Raises:
            ValueError: It goes beyond the declared length.
            PeerLeft: The peer does not take it.
        """
        head = b"" if self.is_begun else self._begin()
        self._write_piece(head, chunk)

    def write_whole(self, body: bytes) -> None:
        """Send a body of which nothing was sent yet, head and all in one packet.

        Raises:
            ValueError: Its size is not the declared one. A shorter one was sent, and
                is seen to be broken.
            PeerLeft: The peer does not take it.
        """
        if self._length is None and not self._is_bodiless:
            self._take_header("Content-Length", str(len(body)))
        self._check_size(len(body), is_whole=False)
        self._write_piece(self._begin(), body)
        self.finish()

    def write_file(self, part: FileRange) -> None:
        """Send a range of a file.

        Raises:
            ValueError: Its size is not the declared one.
            FileCut: The file has become shorter; the response stays broken.
            PeerLeft: The peer does not take it.
        """
        self._check_size(part.size, is_whole=True)
        if self._is_bodiless or part.size == 0:
            self._writer.write(self._begin())
        elif part.size <= SMALL:
            data = part.read()
            self._write_piece(self._begin(), data)
            if len(data) < part.size:
                raise FileCut
        else:
            self._writer.announce(self._begin())
            part.send(self._writer)
            self.body_size = part.size
        self.is_whole = True

    def finish(self) -> None:
        """Send what makes the response whole.

        Raises:
            ValueError: Less was written than the declared length.
            PeerLeft: The peer does not take it.
        """
        if not self.is_begun:
            self._writer.write(self._begin())
        self._check_size(self.body_size, is_whole=True)
        if self._is_chunked:
            self._writer.write(b"0\r\n\r\n")
        self.is_whole = True

    def refuse(self, refusal: Refusal) -> None:
        """Answer in the dialect of the server and close, unless a head went out.

        Raises:
            PeerLeft: The peer does not take it.
        """
        if self.is_begun:
            return
        response = self._dialect.refusal(refusal)
        length = ("Content-Length", str(len(response.body)))
        closing = ("Connection", "close")
        self.start(response.status, [*response.headers, length, closing])
        self.write_whole(response.body)

    @property
    def _is_bodiless(self) -> bool:
        return self._is_head or self.status in (204, 304)

    def _take_header(self, name: str, value: str) -> None:
        if not _is_name(name) or not _is_harmless(value):
            raise ValueError("a header of the response is malformed")
        key = name.lower()
        if key in _CONNECTION_HEADERS:
            if key == "connection":
                self._wants_close = self._wants_close or has_close(value)
            return
        if key == "content-length":
            if not _DIGITS.fullmatch(value) or self._length is not None:
                raise ValueError("the Content-Length of the response is malformed")
            if self.status == 204:
                return
            self._length = int(value)
        self._names.add(key)
        self._headers.append((name, value))

    def _begin(self) -> bytes:
        """Return the head; it counts as sent from now on."""
        is_framed = self._is_bodiless or self._length is not None
        if not is_framed and self._speaks_chunks:
            self._is_chunked = is_framed = True
        keeps = (
            is_framed
            and not self._wants_close
            and self.status not in _LAST_ONES
            and self._may_keep()
        )
        lines = [f"HTTP/1.1 {self._line}"]
        lines += [f"{name}: {value}" for name, value in self._headers]
        if self._is_chunked:
            lines.append("Transfer-Encoding: chunked")
        if not keeps:
            lines.append("Connection: close")
        if "date" not in self._names:
            lines.append(f"Date: {_date(int(time.time()))}")
        if "server" not in self._names:
            lines.append(f"Server: {_SERVER}")
        head = "\r\n".join([*lines, "\r\n"]).encode("latin-1")
        self.keeps = keeps
        self.is_begun = True
        return head

    def _write_piece(self, head: bytes, chunk: bytes) -> None:
        if self._is_bodiless:
            chunk = b""
        self._check_size(self.body_size + len(chunk), is_whole=False)
        data = chunk
        if self._is_chunked and chunk:
            data = b"%x\r\n%b\r\n" % (len(chunk), chunk)
        if len(data) > SMALL and head:
            # Putting it together would copy it.
            self._writer.announce(head)
            head = b""
        if head or data:
            self._writer.write(head + data if head else data)
        self.body_size += len(chunk)

    def _check_size(self, size: int, *, is_whole: bool) -> None:
        if self._length is None or self._is_bodiless:
            return
        if size > self._length:
            raise ValueError("the body is longer than its Content-Length")
        if is_whole and size < self._length:
            raise ValueError("the body is shorter than its Content-Length")


def has_close(value: str) -> bool:
    """Say whether the value of a Connection header has the word ``close``."""
    words = value.lower().split(",")
    return any(word.strip(" \t") == "close" for word in words)


@lru_cache(maxsize=256)
def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def _is_harmless(value: str) -> bool:
    # The first question is much cheaper, and nearly always enough.
    return (value.isascii() and value.isprintable()) or not _CONTROL.search(value)


@lru_cache(maxsize=2)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)
