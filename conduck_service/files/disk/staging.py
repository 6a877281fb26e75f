"""Files that are not there yet: written beside their place without a name."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from types import TracebackType
from typing import Self

_UNNAMED = getattr(os, "O_TMPFILE", 0)

# Said by file systems that have no unnamed files.
_NO_UNNAMED = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL})


def new_name() -> bytes:
    """Return a name for a moment; see ``paths.RESERVED``."""
    return b".conduck-" + secrets.token_hex(16).encode("ascii")


def has_unnamed_files(folder: int) -> bool:
    """Say whether the disk of a folder has files without a name.

    Args:
        folder: Descriptor of a folder that may be written to.
    """
    if not _UNNAMED:
        return False
    try:
        os.close(os.open(".", _UNNAMED | os.O_RDWR, 0o600, dir_fd=folder))
    except OSError:
        return False
    return True


class Staged:
    """A new file in a folder, seen by nobody until it is put in its place.

    Where the system has unnamed files, it has no name at all, so that nothing
    is left of it however this process ends. Elsewhere it has a reserved one,
    which listings leave out and which is swept later.

    Args:
        folder: Descriptor of the folder, which stays the caller's.
        mode: Exact mode of the file, whatever the umask.

    Attributes:
        descriptor: The open file.

    Keeps: F-IN-10, F-METH-10.
    """

    def __init__(self, folder: int, mode: int) -> None:
        self._folder = folder
        self._name: bytes | None = None
        self.descriptor = self._open(mode)
        try:
            os.fchmod(self.descriptor, mode)
        except OSError:
            self.close()
            raise

    def settle(self) -> None:
        """Bring the bytes to the disk; they are there before the file has a name.

        Raises:
            OSError: The disk refuses it.
        """
        os.fsync(self.descriptor)

    def put(self, name: bytes, *, replace: bool) -> None:
        """Give the settled file its name in one step.

        Args:
            name: The name in the folder.
            replace: Whether a file that has the name is replaced.

        Raises:
            FileExistsError: Something has the name, and is not to be replaced.
            OSError: The disk refuses it; what had the name has it still.
        """
        if self._name is None:
            try:
                self._link(name)
            except FileExistsError:
                if not replace:
                    raise
            else:
                return
        elif not replace:
            os.link(self._name, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            return
        temporary = self.name_it()
        os.rename(temporary, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        self.leave()

    def name_it(self) -> bytes:
        """Return a reserved name that the file has from now on."""
        if self._name is None:
            name = new_name()
            self._link(name)
            self._name = name
        return self._name

    def leave(self) -> None:
        """Let go of the reserved name, which was given to something else."""
        self._name = None

    def close(self) -> None:
        """Close the file; if it was not put in its place, nothing is left of it."""
        if self._name is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._name, dir_fd=self._folder)
        os.close(self.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _open(self, mode: int) -> int:
        if _UNNAMED:
            try:
                return os.open(
                    ".", _UNNAMED | os.O_RDWR | os.O_CLOEXEC, mode, dir_fd=self._folder
                )
            except OSError as error:
                if error.errno not in _NO_UNNAMED:
                    raise
        name = new_name()
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, mode, dir_fd=self._folder)
        self._name = name
        return descriptor

    def _link(self, name: bytes) -> None:
        # linkat() follows this to the open file; a name of its own it has none.
        os.link(
            f"/proc/self/fd/{self.descriptor}",
            name,
            dst_dir_fd=self._folder,
            follow_symlinks=True,
        )
