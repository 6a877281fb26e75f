"""The chunked coding of a request body, read strictly and in linear time."""

from __future__ import annotations

import re

from conduck_service.serving.intake import BodyMalformed, Intake

_BUFFER = 64 * 1024
_LINE_LIMIT = 4 * 1024
_EXTRA_LIMIT = 64 * 1024
"""Bytes of extensions and trailers in one body; they are read for nothing."""

_CODING_LIMIT = 1024 * 1024
"""Bytes of size lines in one body, beyond as many as it has bytes of content.

Every line costs processor time, and a body in pieces of one byte would cost
minutes of it.
"""

_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})([ \t]*;[^\r]*)?")


class Chunks:
    """Takes the chunked coding off a body.

    Nothing is written about sizes by what a peer announces: memory is the
    caller's, and only bytes that came are handed out.
    """

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._buffer = bytearray(_BUFFER)
        self._start = 0
        self._end = 0
        self._extra = 0
        self._coding = 0
        self._is_first = True

    @property
    def leftover(self) -> bytes:
        """What came behind the body, once that is at its end."""
        return bytes(self._buffer[self._start : self._end])

    def next_size(self) -> int:
        """Return the size of the next chunk; 0 when the body is at its end.

        The chunk before must have been read to its end.

        Raises:
            BodyMalformed: The coding is broken, or pads without end.
            BodyStalled: Nothing came for the idle time.
            BodyCut: The peer has left.
        """
        if not self._is_first and self._read_line():
            raise BodyMalformed
        self._is_first = False
        line = self._read_line()
        match = _SIZE_LINE.fullmatch(line)
        if match is None:
            raise BodyMalformed
        self._count_extra(len(match[2] or b""))
        size = int(match[1], 16)
        self._coding += len(line) + 4 - size  # with both line ends
        if self._coding > _CODING_LIMIT:
            raise BodyMalformed
        if size == 0:
            self._skip_trailers()
        return size

    def read_into(self, target: memoryview) -> int:
        """Fill the beginning of the target and return by how many bytes.

        The target is not longer than what is left of the chunk.

        Raises:
            BodyStalled: Nothing came for the idle time.
            BodyCut: The peer has left.
        """
        if self._start == self._end:
            if len(target) >= _BUFFER:
                return self._intake.read_into(target)
            self._fill()
        size = min(len(target), self._end - self._start)
        with memoryview(self._buffer) as buffer:
            target[:size] = buffer[self._start : self._start + size]
        self._start += size
        return size

    def _read_line(self) -> bytes:
        while (at := self._buffer.find(b"\n", self._start, self._end)) < 0:
            if self._end - self._start > _LINE_LIMIT:
                raise BodyMalformed
            self._fill()
        line = bytes(self._buffer[self._start : at])
        self._start = at + 1
        if len(line) > _LINE_LIMIT or not line.endswith(b"\r"):
            raise BodyMalformed
        return line[:-1]

    def _fill(self) -> None:
        left = self._end - self._start
        self._buffer[:left] = self._buffer[self._start : self._end]
        self._start = 0
        self._end = left
        with memoryview(self._buffer) as buffer, buffer[left:] as room:
            self._end += self._intake.read_into(room)

    def _skip_trailers(self) -> None:
        while line := self._read_line():
            self._count_extra(len(line))

    def _count_extra(self, size: int) -> None:
        self._extra += size
        if self._extra > _EXTRA_LIMIT:
            raise BodyMalformed
