"""Removes conversation folders that nothing touched for a long time."""

from __future__ import annotations

import contextlib
import logging
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from conduck_service.base.clock import Clock
from conduck_service.base.removal import remove_all
from conduck_service.files.disk.paths import RESERVED
from conduck_service.files.disk.staging import new_name
from conduck_service.files.outbound import CONVERSATION
from conduck_service.files.upkeep.rounds import FIRST_SECONDS, PAUSE_SECONDS, Rounds

log = logging.getLogger(__name__)

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DAY = timedelta(days=1)
_DAY_NS = 86_400 * 10**9
_DEPTH = 64


class _TouchedError(Exception):
    """Raised when something in a folder is too young, or cannot be looked at."""


@dataclass(frozen=True, slots=True)
class _Sight:
    """What both clocks said at one look, to tell a wall clock that jumps."""

    wall: datetime
    monotonic: float

    def jumped_to(self, later: _Sight) -> bool:
        passed = timedelta(seconds=later.monotonic - self.monotonic)
        return abs(later.wall - self.wall - passed) > _DAY


class Retention:
    """Removes conversation folders below a root in which nothing is young.

    A folder is taken away under a reserved name first, so that it is there whole
    or not at all, and removed then. While a turn runs nothing is taken away, and
    what was taken away stays for the next look. Links are never followed.

    Args:
        root: The shared folder, its real path.
        keep_days: A folder goes when nothing in it was touched for so many days.
        turns_running: Returns the number of turns that run now.
        clock: The time.
        first_seconds: From :meth:`start` to the first look.
        pause_seconds: From one look to the next.
    """

    def __init__(
        self,
        root: Path,
        keep_days: int,
        turns_running: Callable[[], int],
        clock: Clock,
        *,
        first_seconds: float = FIRST_SECONDS,
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        self._root = root
        self._keep_days = keep_days
        self._turns_running = turns_running
        self._clock = clock
        self._rounds = Rounds(
            "retention",
            self._look,
            first_seconds=first_seconds,
            pause_seconds=pause_seconds,
        )
        self._last = self._sight()

    def start(self) -> None:
        """Begin to look from time to time, in a thread of its own."""
        self._rounds.start()

    def stop(self) -> None:
        """End; a removal under way that takes long is left, and goes on next time."""
        self._rounds.stop()

    def find(self) -> list[str]:
        """Return the names of the folders that the next look would remove.

        Raises:
            OSError: The root cannot be looked at.
        """
        with self._open_root() as root:
            return list(self._expired(root))

    def remove_expired(self) -> int:
        """Remove what has expired and return the number of folders.

        Nothing is removed while the wall clock cannot be trusted: when it jumped
        since the last look, or is behind what was written to the root.

        Raises:
            OSError: The root cannot be looked at.
        """
        last, self._last = self._last, self._sight()
        if last.jumped_to(self._last):
            log.warning(
                "the clock jumped, so nothing is removed before the next look",
                extra={"action": "retention"},
            )
            return 0
        with self._open_root() as root:
            removed = sum(self._remove(root, name) for name in self._expired(root))
            self._remove_leftovers(root)
        if removed:
            log.info(
                "removed conversation folders that nothing touched for %d days",
                self._keep_days,
                extra={"action": "retention", "count": removed},
            )
        return removed

    def _look(self) -> None:
        try:
            self.remove_expired()
        except OSError:
            log.warning(
                "the shared folder cannot be looked at",
                extra={"action": "retention"},
            )

    def _now(self) -> int:
        """Return the wall time in nanoseconds, as files have it."""
        return int(self._clock.now().timestamp() * 1e9)

    def _sight(self) -> _Sight:
        return _Sight(self._clock.now(), self._clock.monotonic())

    @contextlib.contextmanager
    def _open_root(self) -> Iterator[int]:
        root = os.open(self._root, _FOLDER)
        try:
            yield root
        finally:
            os.close(root)

    def _must_wait(self) -> bool:
        return self._rounds.is_stopped or self._turns_running() > 0

    def _expired(self, root: int) -> Iterator[str]:
        now = self._now()
        names = _names(root)
        if _newest(root, names) > now + _DAY_NS:
            log.warning(
                "the clock is behind the shared folder, so nothing is removed",
                extra={"action": "retention"},
            )
            return
        limit = now - self._keep_days * _DAY_NS
        for name in sorted(filter(_is_conversation, names)):
            if _is_untouched(root, name, limit):
                yield name

    def _remove(self, root: int, name: str) -> bool:
        if self._must_wait():
            return False
        gone = os.fsdecode(new_name())
        before = self._now() - _DAY_NS
        try:
            os.rename(name, gone, src_dir_fd=root, dst_dir_fd=root)
            if not _is_untouched(root, gone, before, is_renamed=True):
                # Somebody came just now.
                os.rename(gone, name, src_dir_fd=root, dst_dir_fd=root)
                return False
        except OSError:
            return False
        if self._must_wait():
            return False  # it is out of the way, and removed at a later look
        return remove_all(Path(gone), dir_fd=root)

    def _remove_leftovers(self, root: int) -> None:
        """Remove folders that were taken away at an earlier look.

        A folder that is being copied has such a name as well, so only those go
        that nothing touched for a day.
        """
        limit = self._now() - _DAY_NS
        for name in _names(root):
            is_ours = RESERVED.fullmatch(os.fsencode(name)) is not None
            if is_ours and not self._must_wait() and _is_untouched(root, name, limit):
                remove_all(Path(name), dir_fd=root)


def _is_conversation(name: str) -> bool:
    return CONVERSATION.fullmatch(os.fsencode(name)) is not None


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def _newest(root: int, names: list[str]) -> int:
    """Return the youngest change of the root and what is directly in it.

    The time of a change is the file system's own: unlike the time of writing,
    nobody can set it.
    """
    found = os.fstat(root).st_ctime_ns
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            status = os.stat(name, dir_fd=root, follow_symlinks=False)
            found = max(found, status.st_ctime_ns)
    return found


def _is_untouched(
    root: int, name: str, limit: int, *, is_renamed: bool = False
) -> bool:
    """Say whether a name is a real folder in which all is older than a moment.

    What cannot be looked at counts as touched.
    """
    try:
        folder = os.open(name, _FOLDER, dir_fd=root)
    except OSError:
        return False
    try:
        found = os.fstat(folder)
        # Its new name was the last change of a renamed folder.
        changed = 0 if is_renamed else found.st_ctime_ns
        _check_age(max(found.st_mtime_ns, changed), limit)
        _look_below(folder, limit, _DEPTH)
    except (OSError, _TouchedError):
        return False
    finally:
        os.close(folder)
    return True


def _look_below(folder: int, limit: int, depth: int) -> None:
    if not depth:
        raise _TouchedError
    with os.scandir(folder) as entries:
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            _check_age(max(status.st_mtime_ns, status.st_ctime_ns), limit)
            if stat.S_ISDIR(status.st_mode):
                below = os.open(entry.name, _FOLDER, dir_fd=folder)
                try:
                    _look_below(below, limit, depth - 1)
                finally:
                    os.close(below)


def _check_age(touched: int, limit: int) -> None:
    if touched >= limit:
        raise _TouchedError
