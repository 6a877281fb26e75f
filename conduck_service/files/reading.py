"""GET and HEAD: whole files and parts of them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from http import HTTPStatus

from conduck_service.files.dav.conditions import (
    etag_of,
    http_date,
    is_not_modified,
    may_use_range,
)
from conduck_service.files.disk.tree import Tree
from conduck_service.files.errors import Headers, LaneError
from conduck_service.files.media_types import media_type_of
from conduck_service.files.request import Answer, LaneRequest
from conduck_service.files.transfers import TransferRoom
from conduck_service.serving.sending import SMALL, FileRange

_ONE_RANGE = re.compile(
    r"bytes=[ \t]*([0-9]{0,100})-([0-9]{0,100})[ \t]*", re.IGNORECASE
)

# A browser that shows a page out of the folder must not run it with the rights
# of the person who signed in to the lane.
_HARMLESS: Headers = (
    ("X-Content-Type-Options", "nosniff"),
    ("Content-Security-Policy", "sandbox"),
)


@dataclass(frozen=True, slots=True)
class Part:
    """Which bytes of a file are sent.

    Attributes:
        start: Offset of the first one.
        size: How many.
    """

    start: int
    size: int


class Reading:
    """Answers GET and HEAD from one open descriptor, headers and bytes alike.

    Keeps: F-METH-01, F-METH-06, F-OUT-07, F-OUT-08.
    """

    def __init__(self, tree: Tree, room: TransferRoom) -> None:
        self._tree = tree
        self._room = room

    def answer(self, request: LaneRequest) -> Answer:
        """Return the answer; its file is closed by whoever sends it.

        Raises:
            LaneError: 404, 403, 405 for a folder, 412 or 416.
        """
        descriptor, found = self._tree.open_file(request.place)
        try:
            return self._answer(request, descriptor, found)
        except BaseException:
            os.close(descriptor)
            raise

    def _answer(
        self, request: LaneRequest, descriptor: int, found: os.stat_result
    ) -> Answer:
        validators = (
            ("ETag", etag_of(found)),
            ("Last-Modified", http_date(int(found.st_mtime))),
        )
        if is_not_modified(request, found):
            os.close(descriptor)
            return Answer("304 Not Modified", validators)
        part = _part_of(request, found)
        headers: Headers = (
            ("Content-Type", media_type_of(os.fsdecode(request.place.names[-1]))),
            ("Accept-Ranges", "bytes"),
            *validators,
            *_HARMLESS,
        )
        if part is None:
            whole = self._sent(request, descriptor, Part(0, found.st_size))
            return Answer("200 OK", headers, whole)
        last = part.start + part.size - 1
        span = ("Content-Range", f"bytes {part.start}-{last}/{found.st_size}")
        sent = self._sent(request, descriptor, part)
        return Answer("206 Partial Content", (*headers, span), sent)

    def _sent(self, request: LaneRequest, descriptor: int, part: Part) -> FileRange:
        """Return a part as a body; what takes a while has a place until its end."""
        sent = FileRange(descriptor, part.start, part.size)
        if part.size > SMALL and request.method == "GET":
            self._room.enter()
            sent.on_close(self._room.leave)
        return sent


def _part_of(request: LaneRequest, found: os.stat_result) -> Part | None:
    """Return the part that is asked for; None stands for the whole file.

    What is no single range of bytes is ignored, as is a range of an empty file:
    the whole is always a right answer (F-METH-07).

    Raises:
        LaneError: 416, the range begins behind the end.
    """
    value = request.header("RANGE")
    size = found.st_size
    if value is None or request.method != "GET" or size == 0:
        return None
    match = _ONE_RANGE.fullmatch(value)
    if match is None or not may_use_range(request, found):
        return None
    first, last = match[1], match[2]
    if not first:
        count = min(int(last), size) if last else size
        if count == 0:
            raise _unsatisfiable(size)
        return Part(size - count, count) if last else None
    start, end = int(first), int(last or size)
    if end < start and last:
        return None
    if start >= size:
        raise _unsatisfiable(size)
    return Part(start, min(end, size - 1) - start + 1)


def _unsatisfiable(size: int) -> LaneError:
    return LaneError(
        HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
        "range_not_satisfiable",
        "the range begins behind the end of the file; ask for a part within it",
        headers=(("Content-Range", f"bytes */{size}"),),
    )
