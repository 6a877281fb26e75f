"""Watches the shared folder: mends modes of new entries, counts stray files.

Nothing correct depends on it: where pyinotify or the system has no watches, the
lane works without it (F-PERM-12).
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from conduck_service.files.disk.paths import RESERVED
from conduck_service.files.upkeep.elsewhere import Elsewhere, Identity, identity_of
from conduck_service.files.upkeep.inotify import (
    Event,
    Inotify,
    WatchLimitError,
    is_usable,
)

log = logging.getLogger(__name__)

MOST_WATCHES = 8192
"""Folders that are watched at once."""

LOOK_SECONDS = 1.0
"""Between looks at the clock while a count is due."""

_DEPTH = 32
_STAND = (
    getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
)
_PATH_ONLY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC

_FILE_BITS = stat.S_IRGRP | stat.S_IWGRP
_FOLDER_BITS = stat.S_IRWXG | stat.S_ISGID

Steps = tuple[bytes, ...]


class Watcher:
    """Watches a root and everything below it, in a thread of its own.

    Args:
        root: The shared folder, its real path.
        mends: Whether new entries of this user get the permissions of a group
            that shares the folder.
        since_turn: Returns the seconds for which no turn has run.

    Keeps: F-PERM-12.
    """

    def __init__(
        self, root: Path, *, mends: bool, since_turn: Callable[[], float]
    ) -> None:
        self._root = root
        self._mends = mends
        self._strays = Elsewhere(since_turn, self._is_there)
        self._inotify: Inotify | None = None
        self._folders: dict[int, tuple[Steps, Identity]] = {}
        self._is_full = False
        self._is_stopping = False
        self._thread = threading.Thread(target=self._work, name="watch", daemon=True)

    def start(self) -> None:
        """Begin to watch, or say in the log why nothing is watched."""
        if not is_usable():
            log.info(
                "the shared folder is not watched, since pyinotify is not there",
                extra={"action": "watch"},
            )
            return
        try:
            self._inotify = Inotify()
        except OSError:
            log.warning(
                "the shared folder is not watched, since the system has no watch left",
                extra={"action": "watch"},
            )
            return
        # What is there already is watched and left as it is.
        self._take_in((), is_new=False)
        self._thread.start()

    def stop(self) -> None:
        """End; returns when nothing is watched any more."""
        if self._inotify is not None:
            self._is_stopping = True
            self._inotify.wake()
            self._thread.join()
            self._inotify.close()
            self._inotify = None

    def note(self, state: os.stat_result) -> None:
        """Remember a file that the lane put in its place, given as its state.

        It may be called from any thread, and after the file was seen.
        """
        self._strays.note_written(identity_of(state))

    def _work(self) -> None:
        inotify = self._inotify
        assert inotify is not None
        while not self._is_stopping:
            seconds = LOOK_SECONDS if self._strays.is_waiting else None
            for event in inotify.wait(seconds):
                # Nothing that an engine does in its folder ends the watch.
                with contextlib.suppress(OSError):
                    self._handle(event)
            self._strays.report_if_due()
        self._strays.report_if_due(now=True)

    def _handle(self, event: Event) -> None:
        if event.is_lost:
            self._take_in((), is_new=False)
        elif event.is_over:
            self._folders.pop(event.watch, None)
        elif event.watch in self._folders and event.name and self._cares_for(event):
            steps, identity = self._folders[event.watch]
            with self._open_folder(steps) as folder:
                # The folder may be somewhere else by now.
                if identity_of(os.fstat(folder)) == identity:
                    self._look_at(folder, (*steps, event.name))

    def _cares_for(self, event: Event) -> bool:
        """Say whether there is anything to do; mostly there is not."""
        return event.is_folder or self._mends or self._strays.is_counting

    def _look_at(self, folder: int, steps: Steps) -> None:
        """Look at an entry that is new, or was written or moved to its place."""
        if RESERVED.fullmatch(steps[-1]):
            return
        entry = os.open(steps[-1], _PATH_ONLY, dir_fd=folder)
        try:
            found = os.fstat(entry)
            if stat.S_ISREG(found.st_mode):
                self._strays.note_found(steps, identity_of(found))
                self._mend(entry, found, _FILE_BITS)
                return
            if stat.S_ISDIR(found.st_mode):
                self._mend(entry, found, _FOLDER_BITS)
        finally:
            os.close(entry)
        if stat.S_ISDIR(found.st_mode):
            self._take_in(steps, is_new=True)

    def _mend(self, entry: int, found: os.stat_result, wanted: int) -> None:
        if not self._mends or found.st_uid != os.geteuid():
            return
        # A file with two names may have the other one outside of the root.
        if stat.S_ISREG(found.st_mode) and found.st_nlink != 1:
            return
        mode = stat.S_IMODE(found.st_mode)
        if mode & wanted != wanted:
            # A handle that only stands for a file leads to that file alone.
            Path(f"/proc/self/fd/{entry}").chmod(mode | wanted)

    def _take_in(self, steps: Steps, *, is_new: bool) -> None:
        """Watch a folder and all below it; look at what is in a new one.

        The watch comes first, so that nothing appears between it and the look.
        """
        with contextlib.suppress(OSError), self._open_folder(steps) as folder:
            if len(steps) > _DEPTH or not self._watch(folder, steps):
                return
            for name, is_folder in _entries(folder):
                with contextlib.suppress(OSError):
                    if is_new:
                        self._look_at(folder, (*steps, name))
                    elif is_folder:
                        self._take_in((*steps, name), is_new=False)

    def _watch(self, folder: int, steps: Steps) -> bool:
        assert self._inotify is not None
        if len(self._folders) < MOST_WATCHES:
            with contextlib.suppress(WatchLimitError):
                number = self._inotify.watch(folder)
                self._folders[number] = (steps, identity_of(os.fstat(folder)))
                return True
        if not self._is_full:
            self._is_full = True
            log.warning(
                "there are more folders than watches, so new entries of some are not "
                "looked at",
                extra={"action": "watch", "count": len(self._folders)},
            )
        return False

    @contextlib.contextmanager
    def _open_folder(self, steps: Steps) -> Iterator[int]:
        """Give a handle of a folder in the root, reached without any link."""
        descriptor = os.open(self._root, _STAND)
        try:
            for name in steps:
                below = os.open(name, _STAND, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = below
            yield descriptor
        finally:
            os.close(descriptor)

    def _is_there(self, steps: Steps, identity: Identity) -> bool:
        with contextlib.suppress(OSError), self._open_folder(steps[:-1]) as folder:
            found = os.stat(steps[-1], dir_fd=folder, follow_symlinks=False)
            return identity_of(found) == identity
        return False


def _entries(folder: int) -> list[tuple[bytes, bool]]:
    """Return the names in a folder, each with whether it is a folder."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    readable = os.open(".", flags, dir_fd=folder)
    try:
        with os.scandir(readable) as entries:
            return [
                (os.fsencode(entry.name), entry.is_dir(follow_symlinks=False))
                for entry in entries
            ]
    finally:
        os.close(readable)
