"""The file that an engine writes its answer to; whatever it puts there instead."""

from __future__ import annotations

import stat
from pathlib import Path

from conduck_service.executors.beneath import open_folder, read_file


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
        OSError: It cannot be read, or is no regular file.
    """
    with open_folder(path.parent, ()) as folder:
        return read_file(folder, path.name, limit)
