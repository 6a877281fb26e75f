"""Gives something that is whole its name, in place of what had it before."""

from __future__ import annotations

import errno
import logging
import os
import stat

from conduck_service.files.disk.paths import Place
from conduck_service.files.disk.removing import check_removable, remove
from conduck_service.files.disk.renaming import (
    deciding,
    exchange,
    rename,
    rename_to_free,
)
from conduck_service.files.disk.staging import new_name
from conduck_service.files.disk.targets import already_there
from conduck_service.files.disk.tree import Spot
from conduck_service.files.errors import LaneError

_log = logging.getLogger(__name__)

# Said where a second name for a file is not to be had.
_NO_LINKS = frozenset(
    {errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK}
)


def put_in_place(source: Spot, target: Spot, *, overwrite: bool) -> bool:
    """Rename something and say whether its new name was free.

    Whatever has the name already is replaced in one step, and never merged with:
    nobody sees the name free in between, and it is removed only afterwards.

    Raises:
        LaneError: 412, the name is taken and may not be; 403, a folder has it that
            this service may not empty.
        OSError: The disk refuses it; everything is as it was.
    """
    there = target.look()
    if there is not None and not overwrite:
        raise already_there()
    if there is not None and stat.S_ISDIR(there.st_mode):
        check_removable(target)
    with deciding:
        replaced = _put(source, target, overwrite=overwrite)
    if replaced is not None:
        discard(replaced)
    return there is None


def discard(aside: Spot) -> None:
    """Remove what was replaced; what cannot be removed stays unseen."""
    try:
        is_left = bool(remove(aside, Place((aside.name,))))
    except LaneError:
        is_left = True
    if is_left:
        _log.warning(
            "something that was replaced in the shared folder could not be removed",
            extra={"action": "lane_leftover"},
        )


def _put(source: Spot, target: Spot, *, overwrite: bool) -> Spot | None:
    """Rename; return where what had the name before is now, if it is to be removed."""
    there = target.look()
    if not overwrite:
        _rename_to_free(source, target)
        return None
    if there is None:
        rename(source, target)
        return None
    moved = os.stat(source.name, dir_fd=source.folder, follow_symlinks=False)
    is_folder = stat.S_ISDIR(moved.st_mode)
    is_same = os.path.samestat(moved, there)
    if is_same and (is_folder or moved.st_nlink == 1):
        # One thing under two spellings, where case makes no difference.
        rename(source, target)
        return None
    if is_same or is_folder or stat.S_ISDIR(there.st_mode):
        # Two names of one file too: renaming one to the other would do nothing.
        return _swap(source, target)
    rename(source, target)
    return None


def _swap(source: Spot, target: Spot) -> Spot:
    aside = Spot(source.folder, new_name())
    if exchange(source, target):
        rename(source, aside)
        return aside
    aside = Spot(target.folder, new_name())
    rename(target, aside)
    try:
        rename(source, target)
    except OSError:
        rename(aside, target)
        raise
    return aside


def _rename_to_free(source: Spot, target: Spot) -> None:
    """Rename without ever replacing what came into being meanwhile."""
    try:
        if rename_to_free(source, target):
            return
        _take_name(source, target)
    except FileExistsError:
        raise already_there() from None


def _take_name(source: Spot, target: Spot) -> None:
    """Do in two steps what :func:`rename_to_free` does where it can."""
    found = os.stat(source.name, dir_fd=source.folder, follow_symlinks=False)
    if stat.S_ISDIR(found.st_mode):
        # An empty folder of ours holds the name; a rename may replace it.
        os.mkdir(target.name, dir_fd=target.folder)
        try:
            rename(source, target)
        except OSError:
            os.rmdir(target.name, dir_fd=target.folder)
            raise
        return
    try:
        os.link(
            source.name,
            target.name,
            src_dir_fd=source.folder,
            dst_dir_fd=target.folder,
            follow_symlinks=False,
        )
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        rename(source, target)
        return
    os.unlink(source.name, dir_fd=source.folder)
