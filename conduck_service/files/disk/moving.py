"""MOVE: a rename, or a copy and a removal where the disk ends."""

from __future__ import annotations

import errno
import os
import stat

from conduck_service.files.disk.copying import Copying
from conduck_service.files.disk.failures import Failures
from conduck_service.files.disk.paths import Place
from conduck_service.files.disk.placing import discard, put_in_place
from conduck_service.files.disk.removing import remove
from conduck_service.files.disk.staging import new_name
from conduck_service.files.disk.tree import Spot


def move(
    source: Spot, target: Spot, place: Place, copying: Copying, *, overwrite: bool
) -> tuple[bool, Failures]:
    """Move a file or folder; say whether its new name was free, and what stayed.

    Args:
        source: Where it is.
        target: Where it is to be.
        place: The path of the source, for what is told of it.
        copying: Makes exact copies, for another disk within the shared folder.
        overwrite: Whether it may take the place of something.

    Raises:
        LaneError: 412, the name is taken and may not be; 403, it cannot be read.
        OSError: Everything is as it was.
    """
    try:
        return put_in_place(source, target, overwrite=overwrite), Failures(place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    copy = Spot(target.folder, new_name())
    try:
        _copy(source, copy, place, copying)
        is_new = put_in_place(copy, target, overwrite=overwrite)
    except BaseException:
        if copy.look() is not None:
            discard(copy)
        raise
    return is_new, remove(source, place)


def _copy(source: Spot, copy: Spot, place: Place, copying: Copying) -> None:
    found = os.stat(source.name, dir_fd=source.folder, follow_symlinks=False)
    if not stat.S_ISDIR(found.st_mode):
        copying.copy_file(source, copy, overwrite=False)
        return
    _, failures = copying.copy_folder(source, copy, place, overwrite=False, deep=True)
    if failures:
        failures.raise_common()
