"""Clears away what a killed service left under names of its own."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from conduck_service.base.removal import remove_all
from conduck_service.files.disk.descent import Descent, names_in
from conduck_service.files.disk.paths import RESERVED
from conduck_service.files.disk.tree import Tree
from conduck_service.files.errors import LaneError

_log = logging.getLogger(__name__)

AGE_SECONDS = 7200.0
"""What is younger may belong to something that is still going on."""


class Leftovers:
    """Looks through the shared folder once, in the background.

    Only what has a reserved name and was not touched for two hours goes; the
    names alone say whose it is, so no other file is ever at risk.

    Args:
        tree: The shared folder.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._work, name="leftovers", daemon=True
        )

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """End; returns when nothing is being removed any more."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join()

    def sweep(self, older_than: float) -> int:
        """Remove leftovers and return how many there were.

        Args:
            older_than: Time since 1970 in seconds; what was touched later stays.

        Raises:
            LaneError, OSError: The shared folder cannot be looked at.
        """
        removed = 0
        with self._tree.open_folder((), listing=True) as root, Descent(root) as way:
            for name in self._walk(way):
                with contextlib.suppress(OSError):
                    found = os.stat(name, dir_fd=way.descriptor, follow_symlinks=False)
                    if max(found.st_mtime, found.st_ctime) < older_than:
                        path = Path(os.fsdecode(name))
                        removed += remove_all(path, dir_fd=way.descriptor)
        return removed

    def _work(self) -> None:
        with contextlib.suppress(LaneError, OSError):
            removed = self.sweep(time.time() - AGE_SECONDS)
            if removed:
                _log.warning(
                    "cleared up after a service that was killed",
                    extra={"action": "leftovers", "count": removed},
                )

    def _walk(self, way: Descent) -> Iterator[bytes]:
        """Give every reserved name; ``way`` then is in the folder that has it."""
        reserved, folders = _look(way)
        yield from reserved
        waiting = [folders]
        while waiting and not self._stopped.is_set():
            if not waiting[-1]:
                waiting.pop()
                if waiting:
                    way.leave()
                continue
            try:
                way.enter(waiting[-1].pop())
            except OSError:
                continue
            reserved, folders = _look(way)
            yield from reserved
            waiting.append(folders)


def _look(way: Descent) -> tuple[list[bytes], list[bytes]]:
    """Return the reserved names of a folder, and its folders of other names."""
    folders, others = names_in(way.descriptor)
    reserved = [name for name in folders + others if RESERVED.fullmatch(name)]
    return reserved, [name for name in folders if name not in reserved]
