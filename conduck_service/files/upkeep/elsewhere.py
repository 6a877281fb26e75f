"""Counts files of an engine that no reply will deliver, to say why one is missing."""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable

from conduck_service.files.outbound import OUTBOUND

log = logging.getLogger(__name__)

WINDOW_SECONDS = 60.0
"""After a turn, in which a file still counts as one of the turn."""

MOST = 4096
"""Files that are remembered at once, found ones and those of the lane alike."""

Identity = tuple[int, int]
"""Device and inode of a file."""


class Elsewhere:
    """Files that appear around a turn outside of every folder that is delivered.

    Only a folder named ``out-`` and 32 hex digits is delivered, and only what is
    directly in it. Whether the lane wrote a file is known a moment after it
    appears, so they are counted when the window is over.

    Args:
        since_turn: Returns the seconds for which no turn has run.
        is_there: Says whether a file is still at a place in the root, given as
            its steps.
    """

    def __init__(
        self,
        since_turn: Callable[[], float],
        is_there: Callable[[tuple[bytes, ...], Identity], bool],
    ) -> None:
        self._since_turn = since_turn
        self._is_there = is_there
        self._found: OrderedDict[Identity, tuple[bytes, ...]] = OrderedDict()
        self._lock = threading.Lock()
        self._written: OrderedDict[Identity, None] = OrderedDict()

    @property
    def is_counting(self) -> bool:
        """Whether files that appear now are counted."""
        return self._since_turn() <= WINDOW_SECONDS

    @property
    def is_waiting(self) -> bool:
        """Whether a count is due once the window is over."""
        return bool(self._found)

    def note_written(self, identity: Identity) -> None:
        """Remember a file that the lane wrote; safe to call from any thread."""
        with self._lock:
            self._written[identity] = None
            self._written.move_to_end(identity)
            while len(self._written) > MOST:
                self._written.popitem(last=False)

    def note_found(self, steps: tuple[bytes, ...], identity: Identity) -> None:
        """Take a regular file that appeared in the root, or was moved there."""
        self._found.pop(identity, None)
        is_delivered = len(steps) > 1 and OUTBOUND.fullmatch(steps[-2]) is not None
        if is_delivered or not self.is_counting:
            return
        if len(self._found) < MOST:
            self._found[identity] = steps

    def report_if_due(self, *, now: bool = False) -> None:
        """Write the one line about a window that is over.

        Args:
            now: Whether not to wait for its end.
        """
        if not self._found or not (now or self._since_turn() > WINDOW_SECONDS):
            return
        with self._lock:
            found = {
                identity: steps
                for identity, steps in self._found.items()
                if identity not in self._written
            }
        self._found.clear()
        count = sum(
            self._is_there(steps, identity) for identity, steps in found.items()
        )
        if count:
            log.warning(
                "files appeared around a turn, but not directly in the folder that "
                "its message named, so the app does not get them",
                extra={"action": "lane_files_elsewhere", "count": count},
            )


def identity_of(status: os.stat_result) -> Identity:
    """Return what tells a file from every other that there is now."""
    return status.st_dev, status.st_ino
