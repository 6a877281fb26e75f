"""Stops one thread of another process, as a fault deep inside of it would. Linux."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
_EVERY_KIND = 0x40000000
"""``__WALL``: a thread counts as a child too."""


class NotAllowedError(Exception):
    """This machine does not let one process stop another."""


def threads_in(pid: int, *places: str) -> list[int]:
    """Return the threads of a process that wait in one of these parts of the kernel."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "wchan").read_text("ascii").strip() in places:
            found.append(int(task.name))
    return found


@contextmanager
def stopped(thread: int) -> Iterator[None]:
    """Keep a thread from running meanwhile.

    Raises:
        NotAllowedError: As the name says.
    """
    _trace(SEIZE, thread)
    try:
        _trace(INTERRUPT, thread)
        os.waitpid(thread, _EVERY_KIND)
        yield
    finally:
        _trace(DETACH, thread)


def _trace(request: int, thread: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    numbers = [ctypes.c_long(number) for number in (request, thread, 0, 0)]
    if libc.ptrace(*numbers) != 0:
        raise NotAllowedError(os.strerror(ctypes.get_errno()))
