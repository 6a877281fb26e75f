"""A way down a tree and up again that holds few descriptors, however deep."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from types import TracebackType
from typing import Self

KEPT = 32
"""Most folders that stay open; those above them are found again through ``..``."""

_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_Identity = tuple[int, int]


@dataclass(slots=True)
class _Level:
    identity: _Identity
    descriptor: int | None


class Descent:
    """The folders between where a walk began and where it is.

    Whoever goes up through ``..`` after the tree was changed could come out
    anywhere, so the folder found there has to be the one that was left.

    Args:
        folder: Descriptor of the folder that the walk starts in; it stays the
            caller's and may be one that only stands for a folder.
    """

    def __init__(self, folder: int) -> None:
        self._folder = folder
        self._levels: list[_Level] = []

    @property
    def descriptor(self) -> int:
        """Descriptor of the folder where the walk is."""
        if not self._levels:
            return self._folder
        descriptor = self._levels[-1].descriptor
        assert descriptor is not None
        return descriptor

    def enter(self, name: bytes) -> None:
        """Go into a folder, never through a link.

        Raises:
            OSError: It is none, or may not be entered or listed.
        """
        descriptor = os.open(name, _LIST, dir_fd=self.descriptor)
        self._levels.append(_Level(_identity(descriptor), descriptor))
        if len(self._levels) > KEPT:
            self._let_go(self._levels[-1 - KEPT])

    def leave(self) -> None:
        """Go back to the folder above.

        Raises:
            OSError: It is not found again.
        """
        left = self._levels.pop()
        assert left.descriptor is not None
        try:
            if self._levels and self._levels[-1].descriptor is None:
                self._levels[-1].descriptor = _above(
                    left.descriptor, self._levels[-1].identity
                )
        finally:
            os.close(left.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for level in self._levels:
            self._let_go(level)
        self._levels.clear()

    def _let_go(self, level: _Level) -> None:
        if level.descriptor is not None:
            os.close(level.descriptor)
            level.descriptor = None


def names_in(folder: int) -> tuple[list[bytes], list[bytes]]:
    """Return the names of the folders in a folder, and those of everything else."""
    folders: list[bytes] = []
    others: list[bytes] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            kind = folders if entry.is_dir(follow_symlinks=False) else others
            kind.append(os.fsencode(entry.name))
    return folders, others


def _above(descriptor: int, identity: _Identity) -> int:
    found = os.open("..", _LIST, dir_fd=descriptor)
    if _identity(found) != identity:
        os.close(found)
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
    return found


def _identity(descriptor: int) -> _Identity:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino
