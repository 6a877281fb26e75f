"""DELETE: one walk that removes all it may and tells what stayed."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass

from conduck_service.files.disk.descent import Descent, names_in
from conduck_service.files.disk.failures import Failures
from conduck_service.files.disk.paths import Place
from conduck_service.files.disk.tree import Spot
from conduck_service.files.errors import from_system

_NO_FOLDER = frozenset({errno.ENOTDIR, errno.ELOOP})


@dataclass(slots=True)
class _Visit:
    name: bytes
    folders: list[bytes]
    is_kept: bool = False


def remove(spot: Spot, place: Place) -> Failures:
    """Remove a file, a link, or a folder with everything in it.

    Links are removed and never followed.

    Args:
        spot: Where it is.
        place: Its path, for what is told of it.

    Returns:
        What stayed, though other things are gone.

    Raises:
        LaneError: Nothing was removed. 404, when there is nothing (any more).

    Keeps: F-METH-03, F-ROOT-13.
    """
    try:
        found = os.stat(spot.name, dir_fd=spot.folder, follow_symlinks=False)
        if not stat.S_ISDIR(found.st_mode):
            os.unlink(spot.name, dir_fd=spot.folder)
            return Failures(place)
        # Else all that is in it would be gone before the folder itself cannot be.
        if not os.access(".", os.W_OK | os.X_OK, dir_fd=spot.folder):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        with Descent(spot.folder) as descent:
            return _Removal(descent, place).run(spot.name)
    except OSError as error:
        raise from_system(error) from error


def check_removable(spot: Spot) -> None:
    """Refuse what could not be removed whole, before anything is changed.

    Raises:
        LaneError: 403, this service may not empty the folder, or one in it.
    """
    try:
        with Descent(spot.folder) as way:
            way.enter(spot.name)
            disk = os.fstat(way.descriptor).st_dev
            waiting = [_folders_to_empty(way, disk)]
            while waiting:
                if waiting[-1]:
                    way.enter(waiting[-1].pop())
                    waiting.append(_folders_to_empty(way, disk))
                    continue
                waiting.pop()
                way.leave()
    except (FileNotFoundError, NotADirectoryError):
        return  # somebody else is at it already
    except OSError as error:
        raise from_system(error) from error


def _folders_to_empty(way: Descent, disk: int) -> list[bytes]:
    if os.fstat(way.descriptor).st_dev != disk:
        # Another disk is mounted here, which no replacement takes away.
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
    folders, others = names_in(way.descriptor)
    if (folders or others) and not os.access(
        ".", os.W_OK | os.X_OK, dir_fd=way.descriptor
    ):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return folders


class _Removal:
    """The removal of one folder, without recursion and with few descriptors."""

    def __init__(self, descent: Descent, place: Place) -> None:
        self._descent = descent
        self._failures = Failures(place)
        self._visits: list[_Visit] = []
        self._has_removed = False

    def run(self, name: bytes) -> Failures:
        try:
            self._enter(name)
        except PermissionError as error:
            self._remove_unread(name, error)
        while self._visits:
            visit = self._visits[-1]
            if visit.folders:
                self._go_down(visit.folders.pop())
            else:
                self._go_up()
        if self._failures and not self._has_removed:
            self._failures.raise_common()
        return self._failures

    def _enter(self, name: bytes) -> None:
        self._descent.enter(name)
        try:
            folders, others = names_in(self._descent.descriptor)
        except OSError:
            self._descent.leave()
            raise
        self._visits.append(_Visit(name, folders))
        for other in others:
            self._unlink(other)

    def _go_down(self, name: bytes) -> None:
        try:
            self._enter(name)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno in _NO_FOLDER:  # exchanged for a link or a file meanwhile
                self._unlink(name)
            else:
                self._remove_unread(name, error)

    def _remove_unread(self, name: bytes, error: OSError) -> None:
        """Remove a folder that cannot be looked into, which works for an empty one."""
        try:
            os.rmdir(name, dir_fd=self._descent.descriptor)
        except OSError:
            self._keep(name, error, is_folder=True)
        else:
            self._has_removed = True

    def _go_up(self) -> None:
        visit = self._visits.pop()
        self._descent.leave()
        if visit.is_kept:
            # Told by what is in it.
            if self._visits:
                self._visits[-1].is_kept = True
            return
        try:
            os.rmdir(visit.name, dir_fd=self._descent.descriptor)
        except FileNotFoundError:
            if not self._visits:  # somebody else has removed all of it
                raise
        except OSError as error:
            self._keep(visit.name, error, is_folder=True)
        else:
            self._has_removed = True

    def _unlink(self, name: bytes) -> None:
        try:
            os.unlink(name, dir_fd=self._descent.descriptor)
        except FileNotFoundError:
            return
        except OSError as error:
            self._keep(name, error)
        else:
            self._has_removed = True

    def _keep(self, name: bytes, error: OSError, *, is_folder: bool = False) -> None:
        steps: list[bytes] = []
        if self._visits:
            self._visits[-1].is_kept = True
            steps = [*(visit.name for visit in self._visits[1:]), name]
        self._failures.add(steps, error, is_folder=is_folder)
