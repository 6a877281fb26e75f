"""Stored ("dead") properties: one extended attribute on the file or folder itself."""

from __future__ import annotations

import errno
import functools
import json
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from conduck_service.base.clock import Clock, SystemClock
from conduck_service.files.errors import LaneError
from conduck_service.files.strict_xml import parse_xml

KEY = "user.conduck.properties"
MARK = "user.conduck.marked"
"""On the shared folder itself, once anything in it ever got a property."""

_LOOK_SECONDS = 1.0

# Said where there is none, and where there can be none.
_NONE = frozenset(
    {
        errno.ENOTSUP,
        errno.EOPNOTSUPP,
        getattr(errno, "ENODATA", errno.ENOTSUP),
        errno.ENOENT,
        errno.EACCES,
        errno.EPERM,
        errno.ELOOP,
    }
)


class Properties:
    """The stored properties of what is in a shared folder.

    They go wherever the file goes that has them, and no file of ours is left in
    the folder (F-METH-10). Where there are no extended attributes, nothing has
    any and none can be stored.

    Args:
        root: The shared folder.
        clock: Tells when to look again whether there are any.
    """

    def __init__(self, root: Path, clock: Clock | None = None) -> None:
        self._root = root
        self._clock = clock or SystemClock()
        self._is_marked = False
        self._next_look = float("-inf")
        self._lock = threading.Lock()

    def any(self) -> bool:
        """Say whether anything may have properties, at next to no cost."""
        if self._is_marked:
            return True
        now = self._clock.monotonic()
        if now >= self._next_look:
            self._next_look = now + _LOOK_SECONDS
            self._is_marked = _get(str(self._root), MARK) is not None
        return self._is_marked

    def read(self, target: int | str) -> dict[str, str]:
        """Return the properties of a file or folder, Clark name to XML element.

        Args:
            target: Its descriptor, or a path whose last step is not followed.
        """
        value = _get(target, KEY) if self.any() else None
        if value is None:
            return {}
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return {}  # somebody else's
        return {
            name: element
            for name, element in (found.items() if isinstance(found, dict) else ())
            if isinstance(element, str) and _is_property(name, element)
        }

    def read_in(self, folder: int, name: bytes) -> dict[str, str]:
        """Return the properties of an entry of an open folder."""
        if not self.any():
            return {}
        return self.read(f"/proc/self/fd/{folder}/{os.fsdecode(name)}")

    def write(self, descriptor: int, properties: Mapping[str, str]) -> None:
        """Store all properties of a file or folder in one step.

        Raises:
            OSError: There is no room for them, or no place at all.
        """
        if not properties:
            _remove(descriptor)
            return
        value = json.dumps(properties, ensure_ascii=False, separators=(",", ":"))
        with self._lock:
            if not self.any():
                _set(str(self._root), MARK, b"1")
                self._is_marked = True
        _set(descriptor, KEY, value.encode("utf-8"))

    def carry(self, source: int | str, target: int) -> None:
        """Give a new file or folder the properties of another.

        Args:
            source: Descriptor of the other one, or a path to it.
            target: Descriptor of the new one.

        Raises:
            OSError: There is no room for them.
        """
        value = _get(source, KEY) if self.any() else None
        if value is None:
            return
        try:
            _set(target, KEY, value)
        except OSError as error:
            # On another file system that has none they cannot go along.
            if error.errno not in (errno.ENOTSUP, errno.EOPNOTSUPP):
                raise

    def carry_in(self, folder: int, name: bytes, target: int) -> None:
        """Give a new file the properties of an entry of an open folder."""
        if self.any():
            self.carry(f"/proc/self/fd/{folder}/{os.fsdecode(name)}", target)


@functools.lru_cache(maxsize=1024)
def _is_property(name: str, element: str) -> bool:
    """Say whether a stored element may stand in an answer under its name.

    Engines can write to the attribute too.
    """
    try:
        return not name.startswith("{DAV:}") and parse_xml(element).tag == name
    except (LaneError, ValueError):
        return False


def _get(target: int | str, key: str) -> bytes | None:
    if sys.platform != "linux":
        return None
    try:
        if isinstance(target, int):
            return os.getxattr(target, key)
        return os.getxattr(target, key, follow_symlinks=False)
    except OSError as error:
        if error.errno in _NONE:
            return None
        raise


def _set(target: int | str, key: str, value: bytes) -> None:
    if sys.platform != "linux":
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    if isinstance(target, int):
        os.setxattr(target, key, value)
    else:
        os.setxattr(target, key, value, follow_symlinks=False)


def _remove(target: int) -> None:
    if sys.platform != "linux":
        return
    try:
        os.removexattr(target, KEY)
    except OSError as error:
        if error.errno not in (errno.ENODATA, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise
