"""Gives something that is whole its name, in place of what had it before."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import stat

from conduck_service.files.disk.paths import Place
from conduck_service.files.disk.removing import remove
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

    A file takes the place of a file in one step. A folder is replaced and not
    merged: it is put aside, put back if the second step fails, and removed only
    when the new one is in its place.

    Raises:
        LaneError: 412, the name is taken and may not be.
        OSError: The disk refuses it; everything is as it was.
    """
    moved = os.stat(source.name, dir_fd=source.folder, follow_symlinks=False)
    there = target.look()
    if there is None or not overwrite:
        if there is not None:
            raise already_there()
        (_rename if overwrite else _rename_to_new)(source, target)
        return True
    is_same = os.path.samestat(moved, there)
    is_folder = stat.S_ISDIR(moved.st_mode)
    if is_same and (is_folder or moved.st_nlink == 1):
        # One thing under two spellings, where case makes no difference.
        _rename(source, target)
    elif is_same or is_folder or stat.S_ISDIR(there.st_mode):
        # Two names of one file too: renaming one to the other would do nothing.
        _swap(source, target)
    else:
        _rename(source, target)
    return False


def set_aside(spot: Spot) -> Spot:
    """Give something a name for a moment, so that its own is free."""
    aside = Spot(spot.folder, new_name())
    _rename(spot, aside)
    return aside


def put_back(aside: Spot, spot: Spot) -> None:
    """Give something that was put aside its own name back."""
    with contextlib.suppress(OSError):
        _rename(aside, spot)


def discard(aside: Spot) -> None:
    """Remove what was put aside; what cannot be removed stays unseen."""
    try:
        is_left = bool(remove(aside, Place((aside.name,))))
    except LaneError:
        is_left = True
    if is_left:
        _log.warning(
            "something that was replaced in the shared folder could not be removed",
            extra={"action": "lane_leftover"},
        )


def _swap(source: Spot, target: Spot) -> None:
    aside = set_aside(target)
    try:
        _rename(source, target)
    except OSError:
        put_back(aside, target)
        raise
    discard(aside)


def _rename(source: Spot, target: Spot) -> None:
    os.rename(
        source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder
    )


def _rename_to_new(source: Spot, target: Spot) -> None:
    """Rename without ever replacing what came into being meanwhile."""
    found = os.stat(source.name, dir_fd=source.folder, follow_symlinks=False)
    is_folder = stat.S_ISDIR(found.st_mode)
    try:
        if is_folder:
            # An empty folder of ours holds the name; a rename may replace it.
            os.mkdir(target.name, dir_fd=target.folder)
        else:
            os.link(
                source.name,
                target.name,
                src_dir_fd=source.folder,
                dst_dir_fd=target.folder,
                follow_symlinks=False,
            )
    except FileExistsError:
        raise already_there() from None
    except OSError as error:
        if is_folder or error.errno not in _NO_LINKS:
            raise
        _rename(source, target)
        return
    try:
        if is_folder:
            _rename(source, target)
        else:
            os.unlink(source.name, dir_fd=source.folder)
    except OSError:
        with contextlib.suppress(OSError):
            (os.rmdir if is_folder else os.unlink)(target.name, dir_fd=target.folder)
        raise
