"""Files that only their owner may touch: read, written and locked with care."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import shlex
import stat
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self

from conduck_service.base.shared import is_shared

OTHERS = 0o077
"""Every permission of the group and the world."""

OWN_FOLDER = "use a private folder of its own instead (mkdir -m 700 makes one)"
"""The remedy where a folder serves other ends too, so that it must stay as it is."""

_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC


class Fault(StrEnum):
    """Why a file or folder is not used."""

    MISSING = "missing"
    LINK = "link"
    KIND = "kind"
    OWNER = "owner"
    MODE = "mode"
    SIZE = "size"
    SYSTEM = "system"


class SafeFileError(Exception):
    """Raised when a file or folder is not safe to use, or cannot be used.

    Attributes:
        path: The file or folder.
        fault: Why.
        reason: Why, for people; nothing of the content is in it.
        remedy: What to do about it.
    """

    def __init__(self, path: Path, fault: Fault, reason: str, remedy: str) -> None:
        super().__init__(f"{path}: {reason}; {remedy}")
        self.path = path
        self.fault = fault
        self.reason = reason
        self.remedy = remedy


class LockHeldError(Exception):
    """Raised when another process holds a lock.

    Attributes:
        path: The lock file.
        reason: What that means.
        remedy: What to do about it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reason = "another process holds this lock and uses the folder"
        self.remedy = "stop that process, or choose another folder with --data-dir"
        super().__init__(f"{path}: {self.reason}; {self.remedy}")


def make_private_dir(path: Path) -> None:
    """Create a folder that only its owner may enter, or check the one there is.

    Missing parents are made with the same mode, 0700. Nothing that exists is
    changed.

    Raises:
        SafeFileError: What is there is a link, no folder, somebody else's or
            open to others, or the folder cannot be made.

    Keeps: B-PERM-19.
    """
    missing = [
        folder for folder in (path, *path.parents) if not os.path.lexists(folder)
    ]
    for folder in reversed(missing):
        try:
            folder.mkdir(0o700)
        except FileExistsError:
            continue  # another process was faster; the check below looks at it
        except OSError as error:
            raise _system(folder, error) from error
    check_private_dir(path)


def check_private_dir(path: Path) -> None:
    """Refuse a folder that is not the caller's alone.

    Raises:
        SafeFileError: It is missing, a link, no folder, somebody else's or open
            to others.

    Keeps: B-PERM-09, B-PERM-16.
    """
    descriptor = _open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _check(path, os.fstat(descriptor), 0o700, folder=True)
    finally:
        os.close(descriptor)


def check_file_there(path: Path) -> None:
    """Refuse a path that leads to no regular file.

    It is asked before the folder is looked at: nobody should be told to change a
    folder because of a mistyped name.

    Raises:
        SafeFileError: Nothing is there, or something else than a regular file.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        raise SafeFileError(
            path, Fault.MISSING, "there is no such file", "create it"
        ) from None
    except OSError as error:
        raise _system(path, error) from error
    _check_kind(path, found, folder=False)


def read_private(path: Path, limit: int) -> bytes:
    """Return the bytes of a file that nobody but the caller can read.

    What is checked is the open file itself, so it cannot be exchanged between
    the check and the reading.

    Args:
        path: The file.
        limit: Most bytes that it may have.

    Raises:
        SafeFileError: It is missing, a link, no regular file, somebody else's,
            open to others, larger than the limit or not readable.

    Keeps: B-PERM-12, B-PERM-13, B-PERM-16, B-PERM-19.
    """
    return _read(path, limit, 0o600)


def read_unwritable(path: Path, limit: int) -> bytes:
    """Return the bytes of a file that nobody but the caller can change.

    Others may read it, as they may the files of a checkout.

    Args:
        path: The file.
        limit: Most bytes that it may have.

    Raises:
        SafeFileError: It is missing, a link, no regular file, somebody else's,
            writable by others, larger than the limit or not readable.

    Keeps: B-INCL-10, B-INCL-11, B-INCL-12, B-INCL-13.
    """
    return _read(path, limit, 0o755)


def _read(path: Path, limit: int, mode: int) -> bytes:
    # Opening a pipe would wait for a writer; the check then refuses it.
    descriptor = _open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        _check(path, os.fstat(descriptor), mode)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise _system(path, error) from error
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise SafeFileError(
            path,
            Fault.SIZE,
            f"the file is larger than {limit} bytes",
            "make it smaller",
        )
    return data


def atomic_write(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Put data in the place of a file, so that it has the old or the new bytes.

    The data is on the disk under another name before it gets this one, and the
    name is on the disk before this returns. The mode is exact, whatever the
    umask.

    Raises:
        SafeFileError: What stands in the place is a link, no regular file,
            somebody else's or more open than ``mode``, or writing failed; the
            old file is then as it was.

    Keeps: B-PERM-19.
    """
    folder = _open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _check_replaceable(path, folder, mode)
        _replace(path.name, data, mode, folder)
    except OSError as error:
        raise _system(path, error) from error
    finally:
        os.close(folder)


class ExclusiveLock:
    """A file that at most one process on this machine holds locked.

    The lock is the system's, not the file's content: it ends with the process
    that holds it, however that ends, and a file left behind locks nothing. The
    file is never removed, since another process may be about to lock it.

    Keeps: B-LOCK-05, B-LOCK-07, B-LOCK-08.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock at once or not at all; nothing happens if it is held.

        Raises:
            LockHeldError: Another process holds it.
            SafeFileError: The file is not safe, or cannot be locked.
        """
        if self._descriptor is not None:
            return
        descriptor = _open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _check(self.path, os.fstat(descriptor), 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise LockHeldError(self.path) from None
        except OSError as error:
            os.close(descriptor)
            raise _system(self.path, error) from error
        except SafeFileError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        # A child that never calls exec would go on holding the lock for us.
        os.register_at_fork(after_in_child=self._close)

    def release(self) -> None:
        """Give the lock back; the file stays. Nothing happens if it is not held."""
        self._close()

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


def _open(path: Path, flags: int, mode: int = 0) -> int:
    try:
        return os.open(path, flags | _FLAGS, mode)
    except FileNotFoundError:
        raise SafeFileError(
            path, Fault.MISSING, "there is no such file or folder", "create it"
        ) from None
    except OSError as error:
        # Systems do not agree on the errno for a link or a wrong kind of file.
        with contextlib.suppress(OSError):
            found = path.lstat()
            _check_kind(path, found, folder=bool(flags & os.O_DIRECTORY))
        raise _system(path, error) from error


def _check(
    path: Path, found: os.stat_result, mode: int, *, folder: bool = False
) -> None:
    """Refuse what is of the wrong kind, not ours or more open than the mode."""
    _check_kind(path, found, folder=folder)
    shared = folder and is_shared(path, found)
    name = shlex.quote(str(path))
    if found.st_uid != os.geteuid():
        raise SafeFileError(
            path,
            Fault.OWNER,
            "it belongs to another user",
            OWN_FOLDER
            if shared
            else f"run this as its owner, or chown {os.geteuid()} {name}",
        )
    if stat.S_IMODE(found.st_mode) & OTHERS & ~mode:
        raise SafeFileError(
            path,
            Fault.MODE,
            "others than its owner have access to it",
            OWN_FOLDER if shared else f"chmod {mode:o} {name}",
        )


def _check_kind(path: Path, found: os.stat_result, *, folder: bool) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise SafeFileError(
            path,
            Fault.LINK,
            "it is a symbolic link",
            "put what it points to in its place",
        )
    if not folder and stat.S_ISDIR(found.st_mode):
        raise SafeFileError(
            path,
            Fault.KIND,
            "it is a folder, not a regular file",
            "put a regular file in its place",
        )
    wanted = stat.S_ISDIR if folder else stat.S_ISREG
    if not wanted(found.st_mode):
        word = "folder" if folder else "regular file"
        raise SafeFileError(
            path, Fault.KIND, f"it is not a {word}", f"put a {word} in its place"
        )


def _check_replaceable(path: Path, folder: int, mode: int) -> None:
    try:
        found = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return
    _check(path, found, mode)


def _replace(name: str, data: bytes, mode: int, folder: int) -> None:
    temporary = f".{name}.{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS
    descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
    os.fsync(folder)


_REMEDIES = {
    errno.EACCES: "give its owner access to it and to the folders above it",
    errno.EPERM: "give its owner access to it and to the folders above it",
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room in the quota",
    errno.EROFS: "choose a folder that can be written",
    errno.ENOLCK: "choose a folder on a disk of this machine",
    errno.ENOTDIR: "make every step of the path a folder",
    errno.ENAMETOOLONG: "choose a shorter path",
}


def _system(path: Path, error: OSError) -> SafeFileError:
    reason = error.strerror or "the system refused it"
    remedy = _REMEDIES.get(error.errno or 0, "look at the file and its disk")
    return SafeFileError(path, Fault.SYSTEM, reason, remedy)
