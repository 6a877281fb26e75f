"""How a running daemon notices that a secret was written, without any watcher."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from conduck_service.base.safefiles import atomic_write, make_private_dir

FOLDER = "private"
FILE_NAME = "secrets.revision"

Revision = tuple[int, ...] | None
"""Tells two states of the file apart; None while there is no file."""


def revision_of(state: Path) -> Callable[[], Revision]:
    """Return what tells the present revision; one look at the file, unread.

    The file is replaced each time, so it is another one or of another time.

    Args:
        state: The state directory.
    """
    file = str(state / FOLDER / FILE_NAME)  # made once, as each request asks

    def revision() -> Revision:
        try:
            found = os.lstat(file)
        except OSError:
            return None
        return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns)

    return revision


def prepare_revision(state: Path) -> None:
    """Make the folder of the revision, with mode 0700, or check the one there is.

    Raises:
        SafeFileError: It is not safe, or cannot be made.
    """
    make_private_dir(state)
    make_private_dir(state / FOLDER)


def raise_revision(state: Path) -> None:
    """Make every running consumer ask for its secrets anew (B-SECRET-54).

    Raises:
        SafeFileError: The file is not safe, or cannot be written.
    """
    prepare_revision(state)
    content = f"{secrets.token_hex(16)}{os.linesep}"
    atomic_write(state / FOLDER / FILE_NAME, content.encode("ascii"))
