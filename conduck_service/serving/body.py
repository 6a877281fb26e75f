"""The body of a request: read when it is wanted, within a limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from conduck_service.serving.chunks import Chunks
from conduck_service.serving.intake import (
    BodyCut,
    BodyMalformed,
    BodyStalled,
    BodyTooLarge,
    Intake,
)
from conduck_service.serving.spooling import BUFFER, spool, write_all

__all__ = ["Body", "BodyCut", "BodyMalformed", "BodyStalled", "BodyTooLarge"]

_FIRST_SIZE = 64 * 1024
_ANY_SIZE = 1 << 62


class Body:
    """What follows the head of one request.

    Attributes:
        length: Declared length in bytes; None when none was declared.
        chunked: Whether it comes in chunks.
        received: Bytes of the body that were read so far, without the coding.
        complete: Whether it was read to its end, or there is none.
        is_reading: Whether a thread waits for its bytes right now.
    """

    def __init__(
        self,
        intake: Intake,
        *,
        length: int | None,
        chunked: bool,
        invite: Callable[[], None] | None = None,
    ) -> None:
        self.length = length
        self.chunked = chunked
        self.received = 0
        self.complete = not chunked and not length
        self.is_reading = False
        self._intake = intake
        self._invite = invite
        self._chunks: Chunks | None = None
        self._was_begun = False

    @property
    def framed(self) -> bool:
        """Whether the request declares a body, be it an empty one."""
        return self.chunked or self.length is not None

    @property
    def is_here(self) -> bool:
        """Whether all of it came with the head, so that reading takes no time."""
        return self.complete or (
            not self.chunked and self._intake.early_size >= (self.length or 0)
        )

    def read_all(
        self,
        limit: int,
        *,
        on_growth: Callable[[int], None] | None = None,
        within: float | None = None,
    ) -> bytearray:
        """Return the whole body; call this once.

        A sender that expects ``100 Continue`` is told so now, unless its body is
        on the way already.

        Args:
            limit: Most bytes to take.
            on_growth: Called with the size in bytes that the memory of a chunked
                body is about to have; what it raises ends the reading.
            within: Seconds that all of it may take; None bounds each wait only.

        Raises:
            BodyTooLarge: The body is longer than the limit.
            BodyStalled: Nothing came for the idle time.
            BodyCut: The peer left before the end.
            BodyMalformed: The chunked coding is broken.
        """
        if (self.length or 0) > limit:
            raise BodyTooLarge
        if self.complete:
            return bytearray()
        if within is not None:
            self._intake.end_after(within)
        with self._reading():
            if self.chunked:
                return self._read_chunks(limit, on_growth)
            return self._read_known(self.length or 0)

    def read_to(self, descriptor: int, limit: int) -> int:
        """Write the whole body to a file from its current position; call this once.

        Memory stays constant. A sender that expects ``100 Continue`` is told so
        now, as in ``read_all``.

        Args:
            descriptor: The open file.
            limit: Most bytes to take.

        Returns:
            The size of the body in bytes.

        Raises:
            BodyTooLarge: The body is longer than the limit; with a declared length
                nothing was read.
            BodyStalled: Nothing came for the idle time.
            BodyCut: The peer left before the end.
            BodyMalformed: The chunked coding is broken.
            OSError: The file does not take it (ENOSPC, EDQUOT, EFBIG).
        """
        if (self.length or 0) > limit:
            raise BodyTooLarge
        if self.complete:
            return 0
        with self._reading():
            if self.chunked:
                self._spool_chunks(descriptor, limit)
            else:
                for size in spool(self._intake, descriptor, self.length or 0):
                    self.received += size
        return self.received

    def is_skippable(self, limit: int) -> bool:
        """Say whether what is unread can be dropped without any doubt of its end.

        It cannot when somebody failed to read it, when it comes in chunks, when it
        is longer than the limit in bytes or not here yet, or when its sender may
        wait to be asked.
        """
        if self.complete:
            return True
        is_withheld = self._invite is not None
        is_doubtful = self.chunked or self._was_begun or is_withheld
        length = self.length or 0
        return not is_doubtful and length <= limit and self._intake.is_here(length)

    def skip(self, limit: int) -> bool:
        """Read and drop an unread body, so that the connection can be kept.

        Args:
            limit: Most bytes to drop.

        Returns:
            Whether the body is at its end now; not so when it is not skippable.
        """
        if self.complete or not self.is_skippable(limit):
            return self.complete
        length = self.length or 0
        scratch = memoryview(bytearray(length))
        try:
            with self._reading():
                while self.received < length:
                    self.received += self._intake.read_into(scratch[self.received :])
        except (BodyStalled, BodyCut):
            return False
        return True

    @property
    def leftover(self) -> bytes:
        """What came behind the body, once that is complete: the next request."""
        behind = bytes(self._intake.take_early(_ANY_SIZE))
        return self._chunks.leftover + behind if self._chunks else behind

    @contextmanager
    def _reading(self) -> Iterator[None]:
        self._was_begun = True
        self.is_reading = True
        try:
            if self._invite is not None and not self._intake.has_begun:
                self._invite()
            yield
        finally:
            self.is_reading = False
        self.complete = True

    def _read_known(self, length: int) -> bytearray:
        data = bytearray()
        while self.received < length:
            if self.received == len(data):
                _grow(data, length, None)
            with memoryview(data) as view, view[self.received :] as rest:
                self.received += self._intake.read_into(rest)
        return data

    def _read_chunks(
        self, limit: int, on_growth: Callable[[int], None] | None
    ) -> bytearray:
        chunks = self._chunks = Chunks(self._intake)
        data = bytearray()
        while size := chunks.next_size():
            end = self.received + size
            if end > limit:
                raise BodyTooLarge
            while self.received < end:
                if self.received == len(data):
                    _grow(data, limit, on_growth)
                with memoryview(data) as view, view[self.received : end] as rest:
                    self.received += chunks.read_into(rest)
        del data[self.received :]
        return data

    def _spool_chunks(self, descriptor: int, limit: int) -> None:
        chunks = self._chunks = Chunks(self._intake)
        buffer = memoryview(bytearray(BUFFER))
        filled = 0
        while size := chunks.next_size():
            end = self.received + size
            if end > limit:
                raise BodyTooLarge
            while self.received < end:
                if filled == len(buffer):
                    write_all(descriptor, buffer)
                    filled = 0
                got = chunks.read_into(buffer[filled : filled + end - self.received])
                filled += got
                self.received += got
        write_all(descriptor, buffer[:filled])


def _grow(data: bytearray, limit: int, on_growth: Callable[[int], None] | None) -> None:
    # By what came, not by what was announced; by a quarter, so that copying stays
    # linear and little is set aside for nothing.
    size = min(limit, max(_FIRST_SIZE, len(data) + len(data) // 4))
    if on_growth is not None:
        on_growth(size)
    data += bytes(size - len(data))
