"""The file that an engine writes its answer to; whatever it puts there instead."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def answer_size(path: Path) -> int:
    """Return how large the answer file is by now; 0 when there is none."""
    try:
        found = path.lstat()
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def read_answer(path: Path, limit: int) -> bytes:
    """Return what stands in the answer file, at most ``limit`` bytes of it.

    Raises:
        OSError: It cannot be read, or is no regular file. A link could lead to
            anything the daemon may read, a pipe would be waited for.
    """
    with open(path, "rb", opener=_open_strictly) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("not a regular file")
        # None is what a file says that would have to be waited for.
        return file.read(limit) or b""


def _open_strictly(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY)
