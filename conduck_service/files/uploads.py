"""PUT: files that are whole or absent."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from http import HTTPStatus
from typing import Protocol

from conduck_service.files.dav.conditions import (
    etag_of,
    is_conditional,
    is_not_modified,
    must_be_new,
)
from conduck_service.files.disk.paths import Place
from conduck_service.files.disk.renaming import deciding
from conduck_service.files.disk.staging import Staged
from conduck_service.files.disk.targets import open_target, parent_missing
from conduck_service.files.disk.tree import Spot, Tree
from conduck_service.files.errors import (
    Headers,
    LaneError,
    bad_request,
    forbidden,
    from_system,
)
from conduck_service.files.request import Answer, LaneRequest, stalled, too_large
from conduck_service.serving.body import BodyCut, BodyStalled, BodyTooLarge

_ROOM_CHECKED_BYTES = 1024 * 1024
"""Smaller bodies find out by themselves that the disk is full."""

_MTIME = re.compile(r"[0-9]{1,11}([.][0-9]{1,9})?")


class WriteGuard(Protocol):
    """What else has a say in who writes a file."""

    def writing(
        self, request: LaneRequest, found: os.stat_result | None
    ) -> AbstractContextManager[None]:
        """Return what holds locks off while a file is written.

        Raises:
            LaneError: 423 or 412, somebody else holds it.
        """
        ...

    def carry(self, spot: Spot, descriptor: int) -> None:
        """Give a file the stored properties of the one that it will replace."""
        ...


class Uploads:
    """Answers PUT.

    Args:
        tree: The shared folder.
        guard: Locks and stored properties.
        max_bytes: Longest upload.
        note: Called with the state of every file that was put in its place.

    Keeps: F-IN-06, F-IN-08, F-IN-09, F-IN-10, F-IN-11, F-NET-06.
    """

    def __init__(
        self,
        tree: Tree,
        guard: WriteGuard,
        *,
        max_bytes: int,
        note: Callable[[os.stat_result], None],
    ) -> None:
        self._tree = tree
        self._guard = guard
        self._max_bytes = max_bytes
        self._note = note

    def answer(self, request: LaneRequest) -> Answer:
        """Take the upload and return 201 for a new file, 204 for a replaced one.

        Raises:
            LaneError: The file is as it was before.
        """
        self._check(request)
        mtime = _sent_mtime(request)
        with open_target(self._tree, request.place) as spot:
            found = spot.look()
            _check_target(request.place, found)
            if is_conditional(request):
                is_not_modified(request, found)
            with self._guard.writing(request, found):
                state = self._store(request, spot, mtime)
        self._note(state)
        headers: Headers = (("ETag", etag_of(state)),)
        if mtime is not None and int(state.st_mtime) == mtime:
            headers += (("X-OC-Mtime", "accepted"),)
        status = "201 Created" if found is None else "204 No Content"
        return Answer(status, headers)

    def _check(self, request: LaneRequest) -> None:
        coding = request.header("CONTENT_ENCODING")
        if coding is not None and coding.strip().lower() != "identity":
            raise LaneError(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                "coded_body",
                "files are stored as they come; send the body without a coding",
            )
        if request.header("CONTENT_RANGE") is not None:
            raise bad_request("a part of a file cannot be stored; send the whole file")
        request.place.check_creatable()
        if (request.body.length or 0) > self._max_bytes:
            raise self._too_large()

    def _too_large(self) -> LaneError:
        return too_large(
            f"a file may have {self._max_bytes} bytes here; max_upload_bytes in the "
            "config of the service says how many"
        )

    def _store(
        self, request: LaneRequest, spot: Spot, mtime: int | None
    ) -> os.stat_result:
        _check_room(spot.folder, request.body.length or 0)
        took_time = not request.body.is_here
        with Staged(spot.folder, self._tree.file_mode) as staged:
            try:
                request.body.read_to(staged.descriptor, self._max_bytes)
            except BodyTooLarge:
                raise self._too_large() from None
            except BodyStalled:
                raise stalled() from None
            except BodyCut:
                raise bad_request(
                    "the upload ended before all of it had come; send it again",
                    "upload_cut",
                ) from None
            if mtime is not None:
                # Not every disk holds every time; the file is stored all the same.
                with suppress(OSError, OverflowError):
                    os.utime(staged.descriptor, (mtime, mtime))
            staged.settle()
            self._put_in_place(request, spot, staged, took_time=took_time)
            return os.fstat(staged.descriptor)

    def _put_in_place(
        self, request: LaneRequest, spot: Spot, staged: Staged, *, took_time: bool
    ) -> None:
        """Put the file in its place, unless what it depends on has changed."""
        with deciding:
            above = request.place.names[:-1]
            if took_time and not self._tree.is_at(above, spot.folder):
                raise parent_missing()
            if is_conditional(request):
                is_not_modified(request, spot.look())
            self._guard.carry(spot, staged.descriptor)
            _put(staged, spot.name, replace=not must_be_new(request))


def _put(staged: Staged, name: bytes, *, replace: bool) -> None:
    try:
        staged.put(name, replace=replace)
    except FileExistsError:
        raise LaneError(
            HTTPStatus.PRECONDITION_FAILED,
            "precondition_failed",
            "a file of this name has come into being meanwhile; look at it first",
        ) from None
    except FileNotFoundError as error:
        raise parent_missing() from error
    except IsADirectoryError as error:
        raise _is_folder() from error


def _check_target(place: Place, found: os.stat_result | None) -> None:
    if place.is_root or (found is not None and stat.S_ISDIR(found.st_mode)):
        raise _is_folder()
    if place.is_folder:
        raise LaneError(
            HTTPStatus.CONFLICT,
            "bad_name",
            "the name of a file does not end in a slash; leave it out",
        )
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise forbidden(
            "something that is no file has this name; remove it on the machine of the "
            "service"
        )


def _is_folder() -> LaneError:
    return LaneError(
        HTTPStatus.METHOD_NOT_ALLOWED,
        "is_folder",
        "this is a folder; a file needs a name of its own",
        headers=(("Allow", "OPTIONS, PROPFIND, DELETE, COPY, MOVE"),),
    )


def _check_room(folder: int, size: int) -> None:
    """Refuse at once what cannot fit, before all of it was sent."""
    if size < _ROOM_CHECKED_BYTES:
        return
    disk = os.fstatvfs(folder)
    if size > disk.f_bavail * disk.f_frsize:
        raise from_system(OSError(errno.ENOSPC, ""))


def _sent_mtime(request: LaneRequest) -> int | None:
    """Return the time that a sync client gives the file, in seconds."""
    value = request.header("X_OC_MTIME")
    if value is None:
        return None
    if not _MTIME.fullmatch(value):
        raise bad_request(
            "X-OC-Mtime is no number of seconds; correct it, or leave it out"
        )
    return int(float(value))
