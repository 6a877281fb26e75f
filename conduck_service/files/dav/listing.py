"""PROPFIND: what is in the folder at this moment, straight from the disk."""

from __future__ import annotations

import logging
import operator
import os
import stat
import threading
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from conduck_service.domain.filename import is_taken_by_app
from conduck_service.files.dav.conditions import is_not_modified
from conduck_service.files.dav.multistatus import HEAD, HEADERS, TAIL, Rows
from conduck_service.files.dav.propfind import read_depth, read_query
from conduck_service.files.disk.paths import Flaw, Place, flaw_of, is_plain, quoted
from conduck_service.files.disk.tree import Tree, found_at, is_served
from conduck_service.files.errors import from_system
from conduck_service.files.outbound import is_outbound
from conduck_service.files.request import Answer, LaneRequest

_log = logging.getLogger(__name__)

OUTBOUND_FILES = 190
OUTBOUND_BYTES = 240 * 1024
"""The app refuses a listing of more than 200 rows or 256 KiB as a whole."""

_TURN = threading.Lock()
_TURN_SECONDS = 0.05
"""Long listings compete for the interpreter; one after the other they hold up short
requests no more than a single one does. But none waits longer than this for its turn.
"""

Entry = tuple[str, str, os.stat_result]
"""The name of a file or folder as the system decodes it, the same as a step of an
href, and its state."""


class Extras(Protocol):
    """What is known of files beside the disk's own records."""

    def lock_discovery(self, place: Place) -> str:
        """Return the content of the property of this name."""
        ...

    def has_dead_properties(self) -> bool:
        """Say whether any file has stored properties; costs next to nothing."""
        ...

    def dead_properties(self, folder: int, name: bytes) -> Mapping[str, str]:
        """Return the stored properties of an entry, Clark name to element."""
        ...


class Listing:
    """Answers PROPFIND with Depth 0 and 1.

    Keeps: F-PROP-01, F-PROP-03, F-PROP-08, F-PROP-09, F-PROP-16, F-OUT-21.
    """

    def __init__(self, tree: Tree, extras: Extras) -> None:
        self._tree = tree
        self._extras = extras

    def answer(self, request: LaneRequest) -> Answer:
        """Return the multistatus of a place.

        Raises:
            LaneError: 404 when there is nothing, 403 when it may not be read or
                the depth is infinite, 400 for a body that asks for nothing.
        """
        depth = read_depth(request)
        rows = Rows(read_query(request.read_small()), time.time_ns())
        place = request.place
        place.check_readable()
        with self._tree.open_spot(place) as spot:
            found = found_at(spot, place)
            is_not_modified(request, found)
            own = self._row(rows, place, found, spot.folder, spot.name)
        texts = [HEAD, own]
        if depth and stat.S_ISDIR(found.st_mode):
            texts += self._children(rows, place, len(own))
        texts.append(TAIL)
        return Answer("207 Multi-Status", HEADERS, "".join(texts).encode("utf-8"))

    def _children(self, rows: Rows, place: Place, taken: int) -> list[str]:
        is_bounded = is_outbound(place.names)
        with self._tree.open_folder(place.names, listing=True) as folder, _turn():
            entries, hidden = _read_entries(folder)
            if is_bounded:
                entries, unfit = _fit_for_app(entries)
                hidden += unfit
            texts = self._rows(rows, place, entries, folder)
        if hidden:
            _report("lane_names_hidden", "names were left out of a listing", hidden)
        return _bounded(texts, taken) if is_bounded else texts

    def _rows(
        self, rows: Rows, place: Place, entries: Iterable[Entry], folder: int
    ) -> list[str]:
        base = "" if place.is_root else place.href
        if not rows.wants_locks and not self._extras.has_dead_properties():
            return [
                rows.row(f"{base}/{step}", name, found) for name, step, found in entries
            ]
        texts = []
        for text, _, found in entries:
            name = os.fsencode(text)
            below = Place((*place.names, name))
            texts.append(self._row(rows, below, found, folder, name))
        return texts

    def _row(
        self,
        rows: Rows,
        place: Place,
        found: os.stat_result,
        folder: int,
        name: bytes,
    ) -> str:
        label = os.fsdecode(place.names[-1]) if place.names else ""
        locks = self._extras.lock_discovery(place) if rows.wants_locks else ""
        dead = None
        if self._extras.has_dead_properties():
            dead = self._extras.dead_properties(folder, name)
        return rows.row(place.href, label, found, locks=locks, dead=dead)


@contextmanager
def _turn() -> Iterator[None]:
    is_taken = _TURN.acquire(timeout=_TURN_SECONDS)
    try:
        yield
    finally:
        if is_taken:
            _TURN.release()


def _read_entries(folder: int) -> tuple[list[Entry], int]:
    """Return what a folder holds by name, and how many names no href can say.

    What vanishes meanwhile is left out, and so are links, pipes and devices.
    """
    found: list[Entry] = []
    hidden = 0
    try:
        with os.scandir(folder) as items:
            for item in items:
                step = name = item.name
                if not is_plain(name):
                    coded = os.fsencode(name)
                    flaw = flaw_of(coded)
                    if flaw is not None and flaw is not Flaw.CONTROL:
                        hidden += flaw is not Flaw.RESERVED
                        continue
                    step = quoted(coded)
                try:
                    state = item.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                if is_served(state):
                    found.append((name, step, state))
    except OSError as error:
        raise from_system(error) from error
    found.sort(key=_NAME)
    return found, hidden


_NAME = operator.itemgetter(0)


def _fit_for_app(entries: Iterable[Entry]) -> tuple[list[Entry], int]:
    """Return the entries that the app takes, files first; and how many it does not.

    It refuses a whole listing for one name with a backslash, a control character
    or two names that are the same but for their composition. Others it passes over,
    and they must not use up the rows of those that it takes.
    """
    seen: set[str] = set()
    fit: list[Entry] = []
    count = 0
    for entry in entries:
        name = entry[0]
        count += 1
        text = unicodedata.normalize("NFC", name)
        if text in seen or not is_taken_by_app(name):
            continue
        seen.add(text)
        fit.append(entry)
    fit.sort(key=lambda entry: stat.S_ISDIR(entry[2].st_mode))
    return fit, count - len(fit)


def _bounded(rows: list[str], taken: int) -> list[str]:
    """Return as many rows as the app takes in one listing."""
    kept: list[str] = []
    room = OUTBOUND_BYTES - len(HEAD) - len(TAIL) - taken
    for row in rows[:OUTBOUND_FILES]:
        room -= len(row.encode("utf-8"))
        if room < 0:
            break
        kept.append(row)
    if len(kept) < len(rows):
        _report(
            "lane_listing_cut",
            "files were left out of a listing that would be longer than the app takes",
            len(rows) - len(kept),
        )
    return kept


def _report(action: str, message: str, count: int) -> None:
    _log.warning(message, extra={"action": action, "count": count})
