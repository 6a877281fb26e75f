"""The small process that forks wardens, so that the large daemon need not.

It is started by exec, has one thread, no environment and one socket, and keeps
one warden waiting ahead of time: forking is the dearest part of a turn's start.
It imports little, and nothing of ours but the warden and how it finds children.

What a killed warden leaves becomes a child of the keeper, which ends it. When the
daemon is gone, it stays until the last warden is.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import math
import os
import select
import signal
import socket
import time

from conduck_service.base.supervision import warden
from conduck_service.base.supervision.lineage import children, kill, stop_descendants

_SET_PARENT_DEATH_SIGNAL = 1
_SET_CHILD_SUBREAPER = 36
_RETRY_SECONDS = 0.05
_ROUND_SECONDS = 0.01
_PASSES = 64  # so that a fork bomb cannot keep the keeper from its wardens
_REAPED_AT_ONCE = 4096
_OUTLIVING_LIMIT = warden.ABANDONED_GRACE + warden.KILLING_LIMIT + 1.0


def main(control: int) -> None:
    """Fork wardens until the daemon closes its end of the control socket.

    Args:
        control: Descriptor of the keeper's end.
    """
    os.set_inheritable(control, False)
    gc.disable()  # a collection would copy the pages shared with the wardens
    _settle_signals()
    prctl = ctypes.CDLL(None).prctl
    _become_ancestor(prctl)
    with socket.socket(fileno=control) as daemon:
        Keeper(daemon, prctl).run()


def _settle_signals() -> None:
    # Engines inherit what is set here, whatever the daemon was started with.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in warden.IGNORED:
        signal.signal(number, signal.SIG_IGN)


def _become_ancestor(prctl: ctypes._NamedFuncPointer) -> bool:
    """Adopt orphaned descendants, and be woken when the parent is gone."""
    # Somebody may have stopped this process, and then nobody else would wake it.
    prctl(_SET_PARENT_DEATH_SIGNAL, int(signal.SIGCONT), 0, 0, 0)
    return bool(prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


class Keeper:
    """The wardens, the one that waits, and the orphans of those that were killed.

    Args:
        daemon: Where the waiting warden gets its turn. Shut down means that the
            daemon closes and sees to its trees itself, closed that it is gone.
        prctl: The function of the C library.
    """

    def __init__(self, daemon: socket.socket, prctl: ctypes._NamedFuncPointer) -> None:
        self._daemon = daemon
        self._prctl = prctl
        self._bell = warden.Bell()
        self._ready: int | None = None
        self._wardens: set[int] = set()
        self._given_up: set[int] = set()
        self._give_up_at = math.inf

    def run(self) -> None:
        """Keep a warden waiting until the daemon closes."""
        while True:
            if self._ready is None:
                self._ready = self._fork_warden()
            self._reap()
            self._end_orphans()
            events = self._wait()
            if hung_up := events.get(self._daemon.fileno(), 0):
                break
            if self._ready in events:
                self._take_word(self._ready)
        # Without this process, the waiting warden sees the closed socket and ends.
        if hung_up & select.POLLHUP:
            self._outlive_daemon()

    def _wait(self) -> dict[int, int]:
        poll = select.poll()
        poll.register(self._bell.number, select.POLLIN)
        poll.register(self._daemon, select.POLLRDHUP)
        pause = None if self._give_up_at == math.inf else _ROUND_SECONDS * 1000
        if self._ready is None:
            pause = pause or _RETRY_SECONDS * 1000
        else:
            poll.register(self._ready, select.POLLIN)
        events = dict(poll.poll(pause))
        self._bell.hush()
        return events

    def _take_word(self, ready: int) -> None:
        has_turn = bool(os.read(ready, 1))
        os.close(ready)
        self._ready = None
        if not has_turn:  # it was killed; what kills may go on doing so
            time.sleep(_RETRY_SECONDS)

    def _fork_warden(self) -> int | None:
        """Make a warden, and return what will tell when it has a turn."""
        try:
            ready, taken = os.pipe()
        except OSError:
            return None
        try:
            pid = os.fork()
        except OSError:  # no room for another process
            os.close(taken)
            os.close(ready)
            return None
        if pid == 0:
            self._be_warden(ready, taken)
        os.close(taken)
        self._wardens.add(pid)
        return ready

    def _be_warden(self, ready: int, taken: int) -> None:
        try:
            os.close(ready)
            self._bell.close()
            os.setsid()
            if _become_ancestor(self._prctl):
                warden.serve(self._daemon, taken)
        finally:
            os._exit(0)

    def _reap(self) -> bool:
        """Collect the dead, and say whether anybody is left."""
        for _ in range(_REAPED_AT_ONCE):
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self._wardens.discard(pid)
            self._given_up.discard(pid)
        return True

    def _end_orphans(self) -> None:
        """Kill what became a child of this process without being a warden.

        One round; the next one follows soon if anybody is left. It comes after
        every death, as only a death brings orphans here.
        """
        spared = self._wardens | self._given_up
        orphans = set(children()) - spared
        if not orphans:
            self._give_up_at = math.inf
            return
        now = time.monotonic()
        self._give_up_at = min(self._give_up_at, now + warden.KILLING_LIMIT)
        stopped: set[int] = set()
        for _ in range(_PASSES):
            if not stop_descendants(stopped, spared):
                break
        is_reached = kill(stopped)
        if now > self._give_up_at or (stopped and not is_reached):
            self._given_up |= orphans

    def _signal_wardens(self, number: int) -> None:
        for pid in self._wardens:  # not reaped yet, so the numbers are theirs
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _outlive_daemon(self) -> None:
        """Stay until the last warden has ended its tree; end those that do not.

        An engine may stop its warden as often as it likes, so they are woken as
        often.
        """
        kill_at = time.monotonic() + _OUTLIVING_LIMIT
        poll = select.poll()
        poll.register(self._bell.number, select.POLLIN)
        while self._reap():
            now = time.monotonic()
            self._end_orphans()
            if now > kill_at + warden.KILLING_LIMIT or not (
                self._wardens or set(children()) - self._given_up
            ):
                return
            self._signal_wardens(signal.SIGKILL if now > kill_at else signal.SIGCONT)
            poll.poll(_ROUND_SECONDS * 1000)
            self._bell.hush()
