"""The folder that the package for Debian makes, for the users of one group."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_USUAL = "/srv/conduck"


@dataclass(frozen=True, slots=True)
class SharedFolder:
    """A folder that is there already and that a group shares.

    Attributes:
        path: The folder.
        group: The group's number.
    """

    path: Path
    group: int


def shared_folder(
    environment: Mapping[str, str], group: int | None
) -> SharedFolder | None:
    """Return the machine's shared folder, if this user is one of those who share it.

    The service that the package installs has its place in ``CONDUCK_FILES_DIR``.

    Args:
        environment: Variables of the process.
        group: Number of the group that is to share it; None for any.
    """
    path = Path(environment.get("CONDUCK_FILES_DIR") or _USUAL)
    try:
        found = path.stat()
    except OSError:
        return None
    is_shared = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISGID
    groups = {os.getegid(), *os.getgroups()} if group is None else {group}
    is_ours = found.st_gid in groups
    if not (is_shared and is_ours and path.is_absolute()):
        return None
    return SharedFolder(path, found.st_gid)
