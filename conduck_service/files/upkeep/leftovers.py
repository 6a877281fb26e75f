"""Clears away what a killed service left under names of its own."""

from __future__ import annotations

import contextlib
import logging
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from conduck_service.base.removal import remove_all
from conduck_service.files.disk.descent import Descent, names_in
from conduck_service.files.disk.paths import RESERVED
from conduck_service.files.disk.staging import has_unnamed_files
from conduck_service.files.disk.tree import Tree
from conduck_service.files.errors import LaneError
from conduck_service.files.upkeep.rounds import FIRST_SECONDS, PAUSE_SECONDS, Rounds

_log = logging.getLogger(__name__)

AGE_SECONDS = 7200.0
"""What is younger may belong to something that is still going on."""

FILE_AGE_SECONDS = 60.0
"""Where there are unnamed files, one with a name of ours has it for a moment only."""


class Leftovers:
    """Looks through the shared folder from time to time, in the background.

    Only what has a reserved name and was not touched for a while goes; the names
    alone say whose it is, so no other file is ever at risk.

    Args:
        tree: The shared folder.
        first_seconds: From :meth:`start` to the first look.
        pause_seconds: From one look to the next.
    """

    def __init__(
        self,
        tree: Tree,
        *,
        first_seconds: float = FIRST_SECONDS,
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        self._tree = tree
        self._rounds = Rounds(
            "leftovers",
            self._look,
            first_seconds=first_seconds,
            pause_seconds=pause_seconds,
        )

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._rounds.start()

    def stop(self) -> None:
        """End; a removal under way that takes long is left, and goes on next time."""
        self._rounds.stop()

    def sweep(self, now: float) -> int:
        """Remove leftovers and return how many there were.

        Args:
            now: Time since 1970 in seconds.

        Raises:
            LaneError, OSError: The shared folder cannot be looked at.
        """
        removed = 0
        with self._tree.open_folder((), listing=True) as root, Descent(root) as way:
            file_age = FILE_AGE_SECONDS if has_unnamed_files(root) else AGE_SECONDS
            for name in self._walk(way):
                with contextlib.suppress(OSError):
                    found = os.stat(name, dir_fd=way.descriptor, follow_symlinks=False)
                    is_folder = stat.S_ISDIR(found.st_mode)
                    age = now - max(found.st_mtime, found.st_ctime)
                    if age > (AGE_SECONDS if is_folder else file_age):
                        path = Path(os.fsdecode(name))
                        removed += remove_all(path, dir_fd=way.descriptor)
        return removed

    def _look(self) -> None:
        with contextlib.suppress(LaneError, OSError):
            removed = self.sweep(time.time())
            if removed:
                _log.warning(
                    "cleared up after a service that was killed",
                    extra={"action": "leftovers", "count": removed},
                )

    def _walk(self, way: Descent) -> Iterator[bytes]:
        """Give every reserved name; ``way`` then is in the folder that has it."""
        reserved, folders = _names_in(way)
        yield from reserved
        waiting = [folders]
        while waiting and not self._rounds.is_stopped:
            if not waiting[-1]:
                waiting.pop()
                if waiting:
                    way.leave()
                continue
            try:
                way.enter(waiting[-1].pop())
            except OSError:
                continue
            reserved, folders = _names_in(way)
            yield from reserved
            waiting.append(folders)


def _names_in(way: Descent) -> tuple[list[bytes], list[bytes]]:
    """Return the reserved names of a folder, and its folders of other names."""
    folders, others = names_in(way.descriptor)
    reserved = [name for name in folders + others if RESERVED.fullmatch(name)]
    return reserved, [name for name in folders if name not in reserved]
