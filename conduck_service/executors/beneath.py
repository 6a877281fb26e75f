"""Files below a folder that an engine may write to, reached through no link.

What an engine leaves may be anything: a link that leads to whatever the daemon may
read, a pipe that would be waited for, a folder in the place of a file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags with which a folder, and no link to one, is opened."""

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@contextmanager
def open_folder(
    root: Path, steps: Sequence[str], *, make: bool = False
) -> Iterator[int]:
    """Open a folder below another one for the block.

    Args:
        root: Where the way begins.
        steps: Names on the way.
        make: Whether folders that are missing are made, as the umask says.

    Raises:
        OSError: There is a link or no folder on the way.
    """
    descriptor = os.open(root, FOLDER)
    try:
        for step in steps:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(step, dir_fd=descriptor)
            above, descriptor = descriptor, os.open(step, FOLDER, dir_fd=descriptor)
            os.close(above)
        yield descriptor
    finally:
        os.close(descriptor)


def read_file(folder: int, name: str, limit: int) -> bytes:
    """Return what stands in a file, at most ``limit`` bytes of it.

    Args:
        folder: Descriptor of the folder.
        name: Its name there.
        limit: Most bytes.

    Raises:
        OSError: It cannot be read, or is no regular file.
    """
    descriptor = os.open(name, _FILE, dir_fd=folder)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "that is no regular file")
        data = bytearray()
        while len(data) < limit and (piece := file.read(limit - len(data))):
            data += piece
        return bytes(data)
