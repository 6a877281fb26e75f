"""What pyinotify gives, where it can be had: watches, and events with plain names.

Its own reading of events ends at the first name that is not UTF-8, so only its
binding to the system is used.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import select
import struct
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

pyinotify: Any = None
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it imports a module that is on its way out
    # It raises errors of its own on systems without inotify.
    with contextlib.suppress(Exception):
        import pyinotify as _found

        pyinotify = _found

_HEAD = struct.Struct("iIII")
_READ = 1 << 16

BURST_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a watched folder.

    Attributes:
        watch: Number of the watch of the folder.
        name: Name in the folder; empty when it is about the folder itself.
        is_folder: Whether the name is that of a folder.
        is_over: Whether the watch is gone, and its number is free again.
        is_lost: Whether events were lost before this one.
    """

    watch: int
    name: bytes
    is_folder: bool
    is_over: bool
    is_lost: bool


class WatchLimitError(Exception):
    """Raised when the system grants no more watches."""


def is_usable() -> bool:
    """Say whether folders can be watched here."""
    return pyinotify is not None


class Inotify:
    """An inotify instance; used by one thread, but for :meth:`wake`.

    Raises:
        OSError: The system grants no instance.
    """

    def __init__(self) -> None:
        _silence()
        self._manager = pyinotify.WatchManager()
        self._descriptor: int = self._manager.get_fd()
        os.set_inheritable(self._descriptor, False)
        self._mask = (
            pyinotify.IN_CREATE
            | pyinotify.IN_MOVED_TO
            | pyinotify.IN_CLOSE_WRITE
            | pyinotify.IN_ONLYDIR
        )
        self._woken, self._waker = os.pipe()

    def watch(self, folder: int) -> int:
        """Watch an open folder and return the number of the watch.

        A folder that is watched already keeps its number.

        Raises:
            WatchLimitError: There are no more watches.
            OSError: It cannot be watched.
        """
        path = f"/proc/self/fd/{folder}"
        try:
            added = self._manager.add_watch(path, self._mask, quiet=False)
        except pyinotify.WatchManagerError as error:
            # The number of the error stands in its text only.
            if errno.errorcode[errno.ENOSPC] in str(error):
                raise WatchLimitError from None
            raise OSError("the folder cannot be watched") from None
        number: int = added[path]
        return number

    def wait(self, seconds: float | None) -> Iterator[Event]:
        """Wait until something happens, at most so long, and yield what did.

        Args:
            seconds: Longest wait; None for ever, or until :meth:`wake`.
        """
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        ready = poll.poll(None if seconds is None else seconds * 1000)
        if any(descriptor == self._descriptor for descriptor, _ in ready):
            # What comes in bursts is looked at in bursts, beside what makes it.
            poll.unregister(self._descriptor)
            poll.poll(BURST_SECONDS * 1000)
            yield from self._events(os.read(self._descriptor, _READ))

    def wake(self) -> None:
        """End the present wait, and every later one at once."""
        os.write(self._waker, b".")

    def close(self) -> None:
        """Let go of every watch."""
        for descriptor in (self._descriptor, self._woken, self._waker):
            os.close(descriptor)

    def _events(self, data: bytes) -> Iterator[Event]:
        at = 0
        while at < len(data):
            number, mask, _, size = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            is_over = bool(mask & pyinotify.IN_IGNORED)
            if is_over:
                self._manager.watches.pop(number, None)
            yield Event(
                watch=number,
                name=data[at : at + size].rstrip(b"\0"),
                is_folder=bool(mask & pyinotify.IN_ISDIR),
                is_over=is_over,
                is_lost=bool(mask & pyinotify.IN_Q_OVERFLOW),
            )
            at += size


def _silence() -> None:
    """Keep pyinotify from printing, and from telling names to a log."""
    logging.getLogger("pyinotify").setLevel(logging.CRITICAL + 1)
