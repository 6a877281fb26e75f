"""COPY: files and folders made anew, whole before anybody sees them."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat

from conduck_service.files.disk.descent import Descent, names_in
from conduck_service.files.disk.failures import Failures
from conduck_service.files.disk.paths import Place, is_reserved
from conduck_service.files.disk.placing import discard, put_in_place
from conduck_service.files.disk.properties import Properties
from conduck_service.files.disk.renaming import deciding
from conduck_service.files.disk.staging import Staged, new_name
from conduck_service.files.disk.targets import already_there
from conduck_service.files.disk.tree import Spot, Tree

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 1024 * 1024
_AT_ONCE = 1 << 30
_LIBC = ctypes.CDLL(None, use_errno=True)

# What an entry of the source may say without ending the copy: it is gone, was
# exchanged for a link, or is not ours to read.
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO})
_DENIED = frozenset({errno.EACCES, errno.EPERM})


class Copying:
    """Copies within the shared folder.

    What may not be read is left out and told; anything else that goes wrong,
    such as a full disk, ends the copy and leaves nothing of it.

    Args:
        tree: The shared folder, whose modes the copies get.
        properties: Stored properties, which go along.
    """

    def __init__(self, tree: Tree, properties: Properties) -> None:
        self._tree = tree
        self._properties = properties

    def copy_file(self, source: Spot, target: Spot, *, overwrite: bool) -> bool:
        """Copy a file and say whether its new name was free.

        Raises:
            LaneError: 412, the name is taken and may not be.
            OSError: Everything is as it was.
        """
        there = target.look()
        if there is not None and not overwrite:
            raise already_there()
        with self._staged_copy(source, target.folder) as staged:
            staged.settle()
            if there is None or not stat.S_ISDIR(there.st_mode):
                with deciding:
                    try:
                        staged.put(target.name, replace=overwrite)
                    except FileExistsError:
                        raise already_there() from None
                return there is None
            copy = Spot(target.folder, staged.name_it())
            put_in_place(copy, target, overwrite=True)
            staged.leave()
        return False

    def copy_folder(
        self,
        source: Spot,
        target: Spot,
        place: Place,
        *,
        overwrite: bool,
        deep: bool,
    ) -> tuple[bool, Failures]:
        """Copy a folder; say whether its new name was free, and what is missing.

        Args:
            source: Where it is.
            target: Where the copy is to be.
            place: The path of the source, for what is told of it.
            overwrite: Whether the copy may take the place of something.
            deep: Whether what is in it is copied too.

        Raises:
            LaneError: 412, the name is taken and may not be.
            OSError: Everything is as it was.
        """
        if not overwrite and target.look() is not None:
            raise already_there()
        copy = Spot(target.folder, new_name())
        failures = Failures(place)
        try:
            self._copy_tree(source, copy, failures, deep=deep)
            sync_disk(target.folder)
            is_new = put_in_place(copy, target, overwrite=overwrite)
        except BaseException:
            if copy.look() is not None:
                discard(copy)
            raise
        return is_new, failures

    def _copy_tree(
        self, source: Spot, target: Spot, failures: Failures, *, deep: bool
    ) -> None:
        with Descent(source.folder) as reading, Descent(target.folder) as writing:
            reading.enter(source.name)
            folders = self._begin(reading, writing, target.name)
            if not deep:
                return
            steps: list[bytes] = []
            pending = [self._copy_files(reading, writing, steps, failures, folders)]
            while pending:
                if pending[-1]:
                    step = pending[-1].pop()
                    if self._go_down(reading, step, steps, failures):
                        steps.append(step)
                        found = self._begin(reading, writing, step)
                        pending.append(
                            self._copy_files(reading, writing, steps, failures, found)
                        )
                    continue
                pending.pop()
                reading.leave()
                writing.leave()
                if steps:
                    steps.pop()

    def _go_down(
        self, reading: Descent, name: bytes, steps: list[bytes], failures: Failures
    ) -> bool:
        try:
            reading.enter(name)
        except OSError as error:
            _pass_over(error, [*steps, name], failures, is_folder=True)
            return False
        return True

    def _begin(
        self, reading: Descent, writing: Descent, name: bytes
    ) -> tuple[list[bytes], list[bytes]]:
        """Make the copy of the folder just entered, and return what is in that."""
        self._tree.make_folder(Spot(writing.descriptor, name))
        writing.enter(name)
        self._properties.carry(reading.descriptor, writing.descriptor)
        return names_in(reading.descriptor)

    def _copy_files(
        self,
        reading: Descent,
        writing: Descent,
        steps: list[bytes],
        failures: Failures,
        found: tuple[list[bytes], list[bytes]],
    ) -> list[bytes]:
        """Copy the files of the folder where the walk is; return its folders."""
        folders, others = found
        for name in others:
            self._tree.check_open()
            if is_reserved(name):
                continue
            source = Spot(reading.descriptor, name)
            try:
                descriptor = _open_source(source)
            except OSError as error:
                _pass_over(error, [*steps, name], failures)
                continue
            if descriptor is None:
                continue
            try:
                self._copy_open(descriptor, Spot(writing.descriptor, name))
            finally:
                os.close(descriptor)
        return [name for name in folders if not is_reserved(name)]

    def _staged_copy(self, source: Spot, folder: int) -> Staged:
        descriptor = _open_regular(source)
        try:
            return self._stage(descriptor, folder)
        finally:
            os.close(descriptor)

    def _copy_open(self, descriptor: int, target: Spot) -> None:
        """Copy an open file into a folder that nobody sees yet."""
        mode = self._tree.file_mode
        made = os.open(target.name, _CREATE, mode, dir_fd=target.folder)
        try:
            os.fchmod(made, mode)
            self._fill(descriptor, made)
        finally:
            os.close(made)

    def _stage(self, descriptor: int, folder: int) -> Staged:
        staged = Staged(folder, self._tree.file_mode)
        try:
            self._fill(descriptor, staged.descriptor)
        except BaseException:
            staged.close()
            raise
        return staged

    def _fill(self, descriptor: int, copy: int) -> None:
        found = os.fstat(descriptor)
        copy_bytes(descriptor, copy, found.st_size)
        self._properties.carry(descriptor, copy)


def copy_bytes(source: int, target: int, size: int) -> None:
    """Copy the content of a file, within the kernel where it can.

    Args:
        source: Descriptor at its beginning.
        target: Descriptor of the copy.
        size: Most bytes to copy; a file that grows meanwhile would never end.
    """
    left = size
    with contextlib.suppress(OSError):
        while left and hasattr(os, "copy_file_range"):
            copied = os.copy_file_range(source, target, min(left, _AT_ONCE))
            if not copied:
                break
            left -= copied
    # What is left is copied here, or the disk says here why it cannot be.
    while left and (piece := os.read(source, min(left, _PIECE))):
        left -= len(piece)
        rest = memoryview(piece)
        while rest:
            rest = rest[os.write(target, rest) :]


def sync_disk(folder: int) -> None:
    """Bring everything on the disk of a folder to it.

    For a tree of many files; one after the other they take a hundred times as
    long.
    """
    syncfs = getattr(_LIBC, "syncfs", None)
    if syncfs is None:
        os.sync()
        return
    try:
        # A handle that only stands for a folder is not taken.
        descriptor = os.open(".", os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
    except PermissionError:
        os.sync()
        return
    try:
        if syncfs(descriptor):
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
    finally:
        os.close(descriptor)


def _open_source(source: Spot) -> int | None:
    """Open a file to be copied; None for what is left out."""
    found = source.look()
    if found is None or not stat.S_ISREG(found.st_mode):
        return None
    return _open_regular(source)


def _open_regular(spot: Spot) -> int:
    descriptor = os.open(spot.name, _READ, dir_fd=spot.folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return descriptor


def _pass_over(
    error: OSError, steps: list[bytes], failures: Failures, *, is_folder: bool = False
) -> None:
    """Leave an entry out if it is gone or not ours to read; else end the copy."""
    if error.errno in _DENIED:
        failures.add(steps, error, is_folder=is_folder)
    elif error.errno not in _GONE:
        raise error
