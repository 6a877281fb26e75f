"""Removes a folder that somebody else filled, whatever is in it."""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import sys
from pathlib import Path

_SHALLOW = 12
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_all(path: Path, *, dir_fd: int | None = None) -> bool:
    """Remove what stands at a path, and say whether nothing is left there.

    Links are removed and never followed, folders that nobody may enter are made
    enterable, and no depth is too deep: what is left of a usual tree that was
    removed the quick way is moved up, folder by folder, before each is removed, so
    that a few descriptors are enough.

    Args:
        path: Where it is.
        dir_fd: Descriptor of the folder that a relative path starts in; the
            working directory when there is none.
    """
    with contextlib.suppress(OSError):
        if not _unlink(str(path), dir_fd):
            _remove_folder(str(path), dir_fd)
    return _is_gone(str(path), dir_fd)


def _is_gone(path: str, dir_fd: int | None) -> bool:
    try:
        os.stat(path, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _remove_folder(path: str, dir_fd: int | None) -> None:
    root = _open_folder(path, dir_fd)
    numbers = itertools.count()
    token = secrets.token_hex(8)  # no name in there can be taken by chance
    try:
        _remove_shallow(root, _SHALLOW)
        while names := _names(root):
            for name in names:
                if not _unlink(name, root):
                    _move_up(name, root, token, numbers)
    finally:
        os.close(root)
    os.rmdir(path, dir_fd=dir_fd)


def _remove_shallow(folder: int, depth: int) -> None:
    """Remove what is in a folder as far as nothing stands in the way.

    Args:
        folder: Its descriptor.
        depth: How many levels below it are looked at.
    """
    with os.scandir(folder) as entries:
        found = [(item.name, item.is_dir(follow_symlinks=False)) for item in entries]
    for name, is_folder in found:
        with contextlib.suppress(OSError):
            if not is_folder:
                os.unlink(name, dir_fd=folder)
            elif depth:
                inner = os.open(name, _FOLDER, dir_fd=folder)
                try:
                    _remove_shallow(inner, depth - 1)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=folder)


def _move_up(name: str, root: int, token: str, numbers: itertools.count[int]) -> None:
    folder = _open_folder(name, root)
    try:
        for child in _names(folder):
            target = f"{token}.{next(numbers)}"
            try:
                os.rename(child, target, src_dir_fd=folder, dst_dir_fd=root)
            except PermissionError:  # a folder that its owner may not write to
                _make_enterable(child, folder)
                os.rename(child, target, src_dir_fd=folder, dst_dir_fd=root)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=root)


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def _unlink(name: str, root: int | None) -> bool:
    """Remove what is no folder; say whether it was none."""
    try:
        os.unlink(name, dir_fd=root)
    except (IsADirectoryError, PermissionError):  # the second on macOS
        return False
    return True


def _open_folder(name: str, root: int | None) -> int:
    try:
        folder = os.open(name, _FOLDER, dir_fd=root)
    except PermissionError:
        _make_enterable(name, root)
        folder = os.open(name, _FOLDER, dir_fd=root)
    try:
        os.fchmod(folder, 0o700)
    except OSError:
        os.close(folder)
        raise
    return folder


def _make_enterable(name: str, root: int | None) -> None:
    """Give the owner all rights to a folder, without ever following a link."""
    if sys.platform != "linux":
        os.chmod(name, 0o700, dir_fd=root, follow_symlinks=False)
        return
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    found = os.open(name, flags, dir_fd=root)
    try:
        Path(f"/proc/self/fd/{found}").chmod(0o700)
    finally:
        os.close(found)
