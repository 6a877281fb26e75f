"""Where something new comes to be: a name in a folder that has to be there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from conduck_service.files.disk.paths import Place
from conduck_service.files.disk.tree import Spot, Tree, is_served
from conduck_service.files.errors import LaneError, forbidden


@contextmanager
def open_target(tree: Tree, place: Place) -> Iterator[Spot]:
    """Give the spot of something new for the length of a ``with``.

    Raises:
        LaneError: 409 when the folder that it belongs in is not there.
    """
    spots = tree.open_spot(place)
    try:
        spot = spots.__enter__()
    except LaneError as error:
        if error.status is HTTPStatus.NOT_FOUND:
            raise parent_missing() from error
        raise
    try:
        yield spot
    finally:
        spots.__exit__(None, None, None)


def parent_missing() -> LaneError:
    """Return the refusal of something new whose folder is not there."""
    return LaneError(
        HTTPStatus.CONFLICT,
        "parent_missing",
        "the folder that it belongs in is not there; make it with MKCOL first",
    )


def already_there() -> LaneError:
    """Return the refusal of replacing what may not be replaced."""
    return LaneError(
        HTTPStatus.PRECONDITION_FAILED,
        "precondition_failed",
        "there is something at the destination already, and Overwrite is F; choose "
        "another",
    )


def check_replaceable(
    place: Place, there: os.stat_result | None, moved: os.stat_result
) -> None:
    """Refuse a target that a file or folder cannot take the place of.

    Args:
        place: The target.
        there: What is there; None for nothing.
        moved: What is to be there.

    Raises:
        LaneError: 403 for a link, pipe or device; 409 for the name of a new file
            with a slash at its end.
    """
    if there is not None and not is_served(there):
        raise forbidden(
            "something that is neither file nor folder has this name; remove it on the "
            "machine of the service"
        )
    is_folder = there is not None and stat.S_ISDIR(there.st_mode)
    if place.is_folder and not is_folder and not stat.S_ISDIR(moved.st_mode):
        raise LaneError(
            HTTPStatus.CONFLICT,
            "bad_name",
            "the name of a file does not end in a slash; leave it out",
        )
