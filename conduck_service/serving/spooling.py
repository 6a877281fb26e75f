"""From a connection into an open file, with constant memory.

What goes wrong with the connection is a ``Body…`` error; what goes wrong with the
file stays the OSError that it is, so that a full disk is never taken for a peer
that left.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from conduck_service.serving.intake import BodyCut, BodyStalled, Intake

BUFFER = 256 * 1024
_PIPE = 1024 * 1024
_PIPE_WORTHWHILE = 128 * 1024
"""Bytes from which on a pipe costs less than copying through our memory."""
_WRITE_OUT = 16 * 1024 * 1024
"""Bytes after which the disk may begin to write, while more are coming."""

# Not every file system, and not every kernel, moves pages of a pipe.
_NO_SPLICE = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})


class _Unspliceable(Exception):  # noqa: N818 - named for what happened
    """Raised when the kernel does not move these bytes; they have to be copied."""


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write all of the bytes to a file.

    Raises:
        OSError: The file does not take them (ENOSPC, EDQUOT, EFBIG).
    """
    with memoryview(data) as view:
        start = 0
        while start < len(view):
            with view[start:] as rest:
                start += os.write(descriptor, rest)


def spool(intake: Intake, descriptor: int, size: int) -> Iterator[int]:
    """Move that many bytes into the file; yield the size of each piece.

    Raises:
        BodyStalled: Nothing came for the idle time.
        BodyCut: The peer has closed, half-closed or reset the connection.
        OSError: The file does not take them.
    """
    waiting = 0
    for moved in _move(intake, descriptor, size):
        waiting += moved
        if waiting >= _WRITE_OUT:
            _begin_to_write_out(descriptor, waiting)
            waiting = 0
        yield moved


def _begin_to_write_out(descriptor: int, size: int) -> None:
    """Have the disk begin with the last bytes, and do not wait for it.

    Left alone the kernel would keep them in memory until the file is brought to
    the disk at its end, and all of it would then be waited for at once.
    """
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):  # not every file system takes advice
            start = os.lseek(descriptor, 0, os.SEEK_CUR) - size
            os.posix_fadvise(descriptor, start, size, os.POSIX_FADV_DONTNEED)


def _move(intake: Intake, descriptor: int, size: int) -> Iterator[int]:
    early = intake.take_early(size)
    if early:
        write_all(descriptor, early)
        yield len(early)
    left = size - len(early)
    if left >= _PIPE_WORTHWHILE and hasattr(os, "splice"):
        for moved in _splice(intake, descriptor, left):
            left -= moved
            yield moved
    if left:
        yield from _copy(intake, descriptor, left)


def _copy(intake: Intake, descriptor: int, left: int) -> Iterator[int]:
    buffer = memoryview(bytearray(min(left, BUFFER)))
    while left:
        size = intake.read_into(buffer[:left])
        write_all(descriptor, buffer[:size])
        left -= size
        yield size


def _splice(intake: Intake, descriptor: int, left: int) -> Iterator[int]:
    """Move bytes through a pipe, as many as the kernel is willing to."""
    with _pipe() as (out, into), suppress(_Unspliceable):
        while left:
            size = _fill(intake, into, left)
            _empty(out, descriptor, size)
            left -= size
            yield size


@contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    # One for each body: a pipe that outlives a failure could carry bytes of one
    # body into the next.
    out, into = os.pipe()
    try:
        # The system bounds how much a user has in pipes; a small one works too.
        with suppress(OSError):
            fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, _PIPE)
        yield out, into
    finally:
        os.close(out)
        os.close(into)


def _fill(intake: Intake, into: int, left: int) -> int:
    flags = os.SPLICE_F_MOVE | os.SPLICE_F_NONBLOCK
    source = intake.socket.fileno()
    while True:
        try:
            size = os.splice(source, into, min(left, _PIPE), flags=flags)
        except BlockingIOError:
            _wait(intake)
        except OSError as error:
            if error.errno in _NO_SPLICE:
                raise _Unspliceable from None
            raise BodyCut from None
        else:
            if size == 0:
                raise BodyCut
            return size


def _wait(intake: Intake) -> None:
    poll = select.poll()
    poll.register(intake.socket, select.POLLIN)
    seconds = intake.socket.gettimeout()
    if not poll.poll(None if seconds is None else seconds * 1000):
        raise BodyStalled


def _empty(out: int, descriptor: int, size: int) -> None:
    while size:
        try:
            size -= os.splice(out, descriptor, size, flags=os.SPLICE_F_MOVE)
        except OSError as error:
            if error.errno not in _NO_SPLICE:
                raise
            _empty_by_hand(out, descriptor, size)
            size = 0


def _empty_by_hand(out: int, descriptor: int, size: int) -> None:
    while size:
        data = os.read(out, min(size, BUFFER))
        write_all(descriptor, data)
        size -= len(data)
