"""Files of the demo engine: it reads listed ones and hands new ones back.

Nothing outside the working folder is opened or made: listed paths must resolve
to a regular file inside it, and the folder for a reply is entered one segment
at a time, without following a symbolic link.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress

_CHUNK = 1 << 20
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def is_inside(path: str) -> bool:
    """Say whether the path is a plain one below the folder it starts in."""
    return (
        bool(path)
        and not _CONTROL.search(path)
        and not path.startswith("/")
        and ".." not in path.split("/")
    )


def open_inside(path: str) -> int:
    """Open a listed file for reading and return its descriptor.

    Raises:
        OSError: It is not there, not a regular file, or not inside the working
            folder.
    """
    root = os.path.realpath(".")
    real = os.path.realpath(path)
    if not is_inside(path) or not real.startswith(root.rstrip("/") + "/"):
        raise PermissionError("outside of the working folder")
    # Without O_NONBLOCK a named pipe would hold the turn until someone writes.
    descriptor = os.open(
        real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    )
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise PermissionError("not a regular file")


def read_chunks(descriptor: int) -> Iterator[bytes]:
    """Yield what the descriptor has left, in pieces of at most 1 MiB."""
    while chunk := os.read(descriptor, _CHUNK):
        yield chunk


class OutboundFolder:
    """The folder for the files of one reply; made when the first one is written."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = -1
        self._made: list[str] = []
        self._is_used = False

    def write(self, name: str, source: bytes | int) -> int:
        """Write one whole file and return its size in bytes.

        Args:
            name: One path component.
            source: The bytes, or a descriptor to copy from where it stands.

        Raises:
            FileExistsError: The folder has a file of this name already.
            OSError: Whatever else kept it from being made; nothing is left.
        """
        folder = self._enter()
        if _is_there(name, folder):
            raise FileExistsError("a file of this name is there already")
        # Under another name first: the app must never see half a file.
        draft = f".demo-{os.getpid()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        output = os.open(draft, flags, 0o666, dir_fd=folder)
        try:
            with os.fdopen(output, "wb", buffering=0) as file:
                size = _write_all(file.fileno(), source)
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(OSError):
                os.unlink(draft, dir_fd=folder)
            raise
        self._is_used = True
        return size

    def close(self) -> None:
        """Leave the folder; folders made for nothing are removed again."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        if self._is_used:
            return
        for path in reversed(self._made):
            with suppress(OSError):
                os.rmdir(path)  # noqa: PTH106 - pathlib starts slowly

    def _enter(self) -> int:
        if self._descriptor >= 0:
            return self._descriptor
        steps = [step for step in self._path.split("/") if step not in {"", "."}]
        if not steps or not is_inside(self._path):
            raise PermissionError("that is no folder below the working folder")
        folder = os.open(".", _FOLDER)
        for index, step in enumerate(steps):
            folder = self._step(folder, step, "/".join(steps[: index + 1]))
        self._descriptor = folder
        return folder

    def _step(self, parent: int, name: str, path: str) -> int:
        try:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=parent)
                self._made.append(path)
            return os.open(name, _FOLDER, dir_fd=parent)
        except OSError as error:
            # A symbolic link is ENOTDIR on Linux and ELOOP on macOS.
            if error.errno in {errno.ENOTDIR, errno.ELOOP}:
                raise NotADirectoryError("a part of its path is no folder") from None
            raise
        finally:
            os.close(parent)


def _is_there(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _write_all(output: int, source: bytes | int) -> int:
    size = 0
    for chunk in read_chunks(source) if isinstance(source, int) else (source,):
        view = memoryview(chunk)
        while view:
            view = view[os.write(output, view) :]
        size += len(chunk)
    return size
