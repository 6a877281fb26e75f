"""The body of a request: read when it is wanted, within a limit."""

from __future__ import annotations

from collections.abc import Callable

from conduck_service.serving.chunks import Chunks
from conduck_service.serving.intake import (
    BodyCut,
    BodyMalformed,
    BodyStalled,
    BodyTooLarge,
    Intake,
)

__all__ = ["Body", "BodyCut", "BodyMalformed", "BodyStalled", "BodyTooLarge"]

_FIRST_SIZE = 64 * 1024


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

    @property
    def framed(self) -> bool:
        """Whether the request declares a body, be it an empty one."""
        return self.chunked or self.length is not None

    def read_all(
        self, limit: int, *, on_growth: Callable[[int], None] | None = None
    ) -> bytearray:
        """Return the whole body; call this once.

        A sender that expects ``100 Continue`` is told so now, unless its body is
        on the way already.

        Args:
            limit: Most bytes to take.
            on_growth: Called with the size in bytes that the memory of a chunked
                body is about to have; what it raises ends the reading.

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
        self.is_reading = True
        try:
            if self._invite is not None and not self._intake.has_begun:
                self._invite()
            data = (
                self._read_chunks(limit, on_growth)
                if self.chunked
                else self._read_known(self.length or 0)
            )
        finally:
            self.is_reading = False
        self.complete = True
        return data

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
        chunks = Chunks(self._intake)
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


def _grow(data: bytearray, limit: int, on_growth: Callable[[int], None] | None) -> None:
    # By what came, not by what was announced; by a quarter, so that copying stays
    # linear and little is set aside for nothing.
    size = min(limit, max(_FIRST_SIZE, len(data) + len(data) // 4))
    if on_growth is not None:
        on_growth(size)
    data += bytes(size - len(data))
