"""MOVE: a rename."""

from __future__ import annotations

import errno
from http import HTTPStatus

from conduck_service.files.disk.placing import put_in_place
from conduck_service.files.disk.tree import Spot
from conduck_service.files.errors import LaneError


def move(source: Spot, target: Spot, *, overwrite: bool) -> bool:
    """Move a file or folder; say whether its new name was free.

    Args:
        source: Where it is.
        target: Where it is to be.
        overwrite: Whether it may take the place of something.

    Raises:
        LaneError: 412, the name is taken and may not be; 502, it lies on another
            disk, and what came into it during a copy would be lost with it.
        OSError: Everything is as it was.
    """
    try:
        return put_in_place(source, target, overwrite=overwrite)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    raise LaneError(
        HTTPStatus.BAD_GATEWAY,
        "other_disk",
        "the destination is on another disk; COPY it there, then DELETE it here",
    )
