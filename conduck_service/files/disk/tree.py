"""The shared folder as a tree: every step by handle, no link ever followed."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from conduck_service.files.disk.paths import Place
from conduck_service.files.errors import LaneError, from_system, not_found

# A handle that only stands for a folder needs no permission to read it.
_STAND = (
    getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
)
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

# Opening a pipe would wait for a writer, and a device may do anything.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY


@dataclass(frozen=True, slots=True)
class Spot:
    """Where something is, or may come to be: a name in an open folder.

    Attributes:
        folder: Descriptor of the folder; valid within the ``with`` that gave it.
        name: The name in it; ``.`` for the shared folder itself.
    """

    folder: int
    name: bytes

    def look(self) -> os.stat_result | None:
        """Return the state of what has the name, links included, or None.

        Raises:
            OSError: It cannot be found out.
        """
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None


class Tree:
    """The shared folder.

    Each call starts at the root's path and opens step by step relative to the
    folder before, so a folder that is exchanged for a link between a check and
    its use leads nowhere.

    Args:
        root: Real path of the shared folder.
        file_mode: Mode of new files.
        folder_mode: Mode of new folders.
        is_closing: Says whether what takes long has to end, since the service does.

    Keeps: F-ROOT-11, F-ROOT-12, F-ROOT-13.
    """

    def __init__(
        self,
        root: Path,
        *,
        file_mode: int,
        folder_mode: int,
        is_closing: Callable[[], bool] = lambda: False,
    ) -> None:
        self.root = root
        self.file_mode = file_mode
        self.folder_mode = folder_mode
        self._is_closing = is_closing

    def check_open(self) -> None:
        """End what takes long when the service has to end.

        Raises:
            LaneError: 503.
        """
        if self._is_closing():
            raise LaneError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "stopping",
                "the service is being stopped; try again when it is back",
                headers=(("Retry-After", "5"),),
            )

    def is_at(self, names: Sequence[bytes], folder: int) -> bool:
        """Say whether the folder of an open handle is still where it was opened."""
        try:
            with self.open_folder(names) as found:
                return os.path.sameopenfile(found, folder)
        except LaneError:
            return False

    @contextmanager
    def open_folder(
        self, names: Sequence[bytes], *, listing: bool = False
    ) -> Iterator[int]:
        """Give a handle of a folder for the length of a ``with``.

        Args:
            names: The steps to it.
            listing: Whether its names are to be read.

        Raises:
            LaneError: 404 when there is no such folder, 403 when it may not be
                entered or read, 503 when the shared folder itself is not there.
        """
        descriptor = self._open_root(listing and not names)
        try:
            for index, name in enumerate(names, 1):
                flags = _LIST if listing and index == len(names) else _STAND
                below = os.open(name, flags, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = below
        except OSError as error:
            os.close(descriptor)
            raise from_system(error) from error
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def open_spot(self, place: Place) -> Iterator[Spot]:
        """Give the spot of a place for the length of a ``with``.

        The folder it is in must be there; it itself need not.

        Raises:
            LaneError: As :meth:`open_folder` does for the folder it is in.
        """
        with self.open_folder(place.names[:-1]) as folder:
            yield Spot(folder, place.names[-1] if place.names else b".")

    def find(self, place: Place) -> os.stat_result:
        """Return the state of the file or folder at a place.

        Raises:
            LaneError: 404 when there is neither: nothing, a link, a pipe, a
                device, or a file where a folder was asked for.
        """
        place.check_readable()
        with self.open_spot(place) as spot:
            return found_at(spot, place)

    def open_file(self, place: Place) -> tuple[int, os.stat_result]:
        """Open a regular file for reading; the caller closes it.

        Raises:
            LaneError: 404 when there is none, 403 when it may not be read, 405
                for a folder.
        """
        place.check_readable()
        with self.open_spot(place) as spot:
            found = found_at(spot, place)
            if stat.S_ISDIR(found.st_mode):
                raise LaneError(
                    HTTPStatus.METHOD_NOT_ALLOWED,
                    "is_folder",
                    "this is a folder; PROPFIND with Depth: 1 lists it",
                    headers=(("Allow", "OPTIONS, PROPFIND, DELETE, COPY, MOVE"),),
                )
            try:
                descriptor = os.open(spot.name, _READ, dir_fd=spot.folder)
            except OSError as error:
                raise from_system(error) from error
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            raise not_found()
        return descriptor, found

    def make_folder(self, spot: Spot) -> None:
        """Make a folder with the mode of the tree, whatever the umask.

        Raises:
            OSError: The disk refuses it, or something has the name.
        """
        os.mkdir(spot.name, self.folder_mode & 0o777, dir_fd=spot.folder)
        descriptor = os.open(spot.name, _LIST, dir_fd=spot.folder)
        try:
            # The set-group-id bit comes from the folder above, with the group.
            mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
            wanted = self.folder_mode | (mode & stat.S_ISGID)
            if mode != wanted:
                with contextlib.suppress(PermissionError):
                    os.fchmod(descriptor, wanted)
        finally:
            os.close(descriptor)

    def _open_root(self, listing: bool) -> int:
        try:
            return os.open(self.root, _LIST if listing else _STAND)
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE, errno.EACCES):
                raise from_system(error) from error
            # Not 404: that would say that a conversation's folder is free.
            raise LaneError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "no_shared_folder",
                "the shared folder is not there; put it back on the machine of the "
                "service",
            ) from error


def found_at(spot: Spot, place: Place) -> os.stat_result:
    """Return the state of the file or folder at a spot.

    Raises:
        LaneError: 404 when there is neither, as for :meth:`Tree.find`.
    """
    try:
        found = spot.look()
    except OSError as error:
        raise from_system(error) from error
    if found is None or not is_served(found):
        raise not_found()
    if place.is_folder and not stat.S_ISDIR(found.st_mode):
        raise not_found()
    return found


def is_served(found: os.stat_result) -> bool:
    """Say whether something is a regular file or a folder, so is served at all."""
    return stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
