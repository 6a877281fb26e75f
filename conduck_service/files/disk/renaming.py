"""Renames in one step that the standard library has no name for."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import threading

from conduck_service.files.disk.tree import Spot

deciding = threading.RLock()
"""Held while it is decided who of several writers is first.

What is checked under it still holds when it is acted on, as far as requests go.
Nothing that takes long is done under it.
"""

_LIBC = ctypes.CDLL(None, use_errno=True)
if sys.platform == "darwin":
    _RENAME, _EXCHANGE, _TO_FREE = getattr(_LIBC, "renameatx_np", None), 2, 4
else:
    _RENAME, _EXCHANGE, _TO_FREE = getattr(_LIBC, "renameat2", None), 2, 1

# Said where the system or the file system has no such rename.
_UNKNOWN = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})


def rename(source: Spot, target: Spot) -> None:
    """Rename something, in place of a file that has the name.

    Raises:
        OSError: The disk refuses it; everything is as it was.
    """
    os.rename(
        source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder
    )


def exchange(source: Spot, target: Spot) -> bool:
    """Let two things have each other's name; say whether the system can do that.

    Raises:
        OSError: The disk refuses it; everything is as it was.
    """
    return _rename_with(_EXCHANGE, source, target)


def rename_to_free(source: Spot, target: Spot) -> bool:
    """Rename something to a name that is free; say whether the system can do that.

    Raises:
        FileExistsError: The name is taken.
        OSError: The disk refuses it; everything is as it was.
    """
    return _rename_with(_TO_FREE, source, target)


def _rename_with(flags: int, source: Spot, target: Spot) -> bool:
    if _RENAME is None:
        return False
    result = _RENAME(
        ctypes.c_int(source.folder),
        ctypes.c_char_p(source.name),
        ctypes.c_int(target.folder),
        ctypes.c_char_p(target.name),
        ctypes.c_uint(flags),
    )
    if result == 0:
        return True
    error = ctypes.get_errno()
    if error in _UNKNOWN:
        return False
    raise OSError(error, os.strerror(error))
