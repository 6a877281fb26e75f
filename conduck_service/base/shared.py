"""Folders that serve others too, so that they must stay as they are."""

from __future__ import annotations

import contextlib
import os
import pwd
import stat
from pathlib import Path

_SYSTEM_TREES = frozenset(
    {"Applications", "Library", "System", "bin", "boot", "dev", "etc"}
    | {"lib", "lib64", "proc", "run", "sbin", "sys", "usr"}
)


def is_shared(path: Path, found: os.stat_result) -> bool:
    """Say whether a folder is the system's, a home or another user's.

    Closing such a folder, or giving it away, would break what else uses it.
    """
    if found.st_mode & stat.S_ISVTX or path == path.parent or _is_home(found):
        return True
    if found.st_uid != os.geteuid():
        return True
    if found.st_uid:
        return False
    steps = path.absolute().parts[1:]  # root owns the system's folders and its own
    return len(steps) < 3 or steps[0] in _SYSTEM_TREES


def _is_home(found: os.stat_result) -> bool:
    homes = [os.environ.get("HOME", "")]
    with contextlib.suppress(KeyError):
        homes.append(pwd.getpwuid(os.geteuid()).pw_dir)
    for home in filter(None, homes):
        with contextlib.suppress(OSError):
            if os.path.samestat(found, Path(home).stat()):
                return True
    return False
