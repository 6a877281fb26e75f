"""A process tree on Linux as the daemon holds it: by the socket of its warden."""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import socket
import threading
import time
import weakref

from conduck_service.base.supervision.launch import Ended
from conduck_service.base.supervision.sweep import kill_family
from conduck_service.base.supervision.warden import KILLING_LIMIT

_LONGEST_LOOK = 1.0
_MARGIN = 1.0


class WardenHandle:
    """A warden that can be signalled without ever meeting another process.

    Args:
        pid: Its number.
        turn: The daemon's end of its socket.
    """

    def __init__(self, pid: int, turn: socket.socket) -> None:
        self.pid = pid
        self._turn = turn
        self._descriptor = -1
        with contextlib.suppress(OSError):  # a kernel before 5.3, or no room
            self._descriptor = os.pidfd_open(pid)
        self._finalizer = weakref.finalize(self, _close, self._descriptor)

    @property
    def is_there(self) -> bool:
        """Whether it lives: nobody else holds the other end of the socket."""
        number = self._turn.fileno()
        return number >= 0 and not _events(number, 0.0, 0) & select.POLLHUP

    def send(self, number: int) -> None:
        """Signal it, if it lives."""
        if not self.is_there:
            return
        with contextlib.suppress(OSError):
            if self._descriptor < 0:
                os.kill(self.pid, number)
            else:
                signal.pidfd_send_signal(self._descriptor, number)

    def close(self) -> None:
        """Forget it; it gets no signal any more."""
        self._finalizer()


def _close(descriptor: int) -> None:
    if descriptor >= 0:
        os.close(descriptor)


class KeptTree:
    """A process tree under a warden; dropping it ends the tree.

    An engine can stop its warden, and whatever else is of its user. So a warden
    that does not report is woken at every look, and one that is overdue is killed
    and its tree ended from here.

    Args:
        turn: The daemon's end of the warden's socket.
        pid: The warden's number.
        marker: Variable and value that mark the tree.
    """

    def __init__(self, turn: socket.socket, pid: int, marker: tuple[str, str]) -> None:
        self._turn = turn
        self._warden = WardenHandle(pid, turn)
        self._marker = marker
        self._lock = threading.Lock()
        self._overdue_at = math.inf
        self._ended: Ended | None = None

    def wait(self, seconds: float) -> Ended | None:
        """Return how it ended once the whole tree is gone, else None."""
        until = time.monotonic() + seconds
        while self._ended is None:
            now = time.monotonic()
            # Short looks, as another thread may begin to end it meanwhile.
            rest = min(until - now, self._overdue_at - now, _LONGEST_LOOK)
            number = self._turn.fileno()
            if number < 0 or is_readable(number, max(rest, 0.0)):
                with self._lock:
                    self._take_report()
                continue
            with self._lock:
                self._prod()
            if now >= until:
                break
        return self._ended

    def _take_report(self) -> None:
        if self._ended is not None:
            return
        report = receive(self._turn)
        if report:
            status, leftovers = report[1:]
            self._close(Ended(int(status), int(leftovers)))
            return
        # The warden was killed. Nobody here knows its tree but by the marker;
        # what hides from that is the keeper's child by now, which ends it.
        self._close(Ended(-signal.SIGKILL, kill_family(*self._marker)))

    def _prod(self) -> None:
        """Wake the warden; if it is overdue, do its work and end it."""
        if self._ended is not None:
            return
        if time.monotonic() < self._overdue_at:
            self._warden.send(signal.SIGCONT)
            return
        # Stopped, it goes on adopting who loses a parent, so its descendants
        # can be found until they are dead.
        self._warden.send(signal.SIGSTOP)
        roots = [self._warden.pid] if self._warden.is_there else []
        leftovers = kill_family(*self._marker, roots)
        self._warden.send(signal.SIGKILL)
        self._close(Ended(-signal.SIGKILL, leftovers))

    def _close(self, ended: Ended) -> None:
        self._turn.close()  # first: without it the warden gets no signal
        self._warden.close()
        self._ended = ended

    def end(self, grace: float) -> None:
        """Begin to end the tree, and return at once."""
        grace = max(grace, 0.0)
        with self._lock:
            if self._ended is not None:
                return
            overdue_at = time.monotonic() + grace + KILLING_LIMIT + _MARGIN
            self._overdue_at = min(self._overdue_at, overdue_at)
            with contextlib.suppress(OSError):
                self._turn.send(f"end {grace}".encode(), socket.MSG_DONTWAIT)
            self._warden.send(signal.SIGCONT)


def receive(turn: socket.socket) -> list[str]:
    """Return the words of one report, or none when the other end is gone."""
    for _ in range(2):
        # A warden that closes with an unread order resets the connection; its
        # report is still there, behind the error.
        with contextlib.suppress(ConnectionResetError):
            return turn.recv(256).decode().split()
    return []


def is_readable(number: int, seconds: float) -> bool:
    """Say whether there is something to read in time, were it only the end."""
    return bool(_events(number, seconds, select.POLLIN))


def _events(number: int, seconds: float, wanted: int) -> int:
    poll = select.poll()
    poll.register(number, wanted)
    found = poll.poll(math.ceil(seconds * 1000))
    return found[0][1] if found else 0
