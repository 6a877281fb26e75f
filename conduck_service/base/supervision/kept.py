"""Supervision on Linux, the daemon's side: each turn has a warden of its own."""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

from conduck_service.base.supervision.launch import (
    Ended,
    Launch,
    LaunchError,
    find_program,
    reason_of,
)
from conduck_service.base.supervision.sweep import sweep
from conduck_service.base.supervision.warden import pack

_ANSWER_LIMIT = 30.0
_ATTEMPTS = 3
_CLOSE_LIMIT = 2.0
_LONGEST_WAIT = 3600.0
_CODE = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from conduck_service.base.supervision.keeper import main; main(int(sys.argv[2]))"
)
_ROOT = Path(__file__).parents[3]


class KeptTree:
    """A process tree under a warden; dropping it ends the tree."""

    def __init__(self, turn: socket.socket, marker: tuple[str, str]) -> None:
        self._turn = turn
        self._marker = marker
        self._lock = threading.Lock()
        self._ended: Ended | None = None

    def wait(self, seconds: float) -> Ended | None:
        """Return how it ended once the whole tree is gone, else None."""
        number = self._turn.fileno()
        if number >= 0 and _is_readable(number, seconds):
            with self._lock:
                self._take_report()
        return self._ended

    def _take_report(self) -> None:
        if self._ended is not None:
            return
        report = _receive(self._turn)
        self._turn.close()
        if report:
            status, leftovers = report[1:]
            self._ended = Ended(int(status), int(leftovers))
            return
        # The warden was killed. Nobody knows its tree but by the marker.
        sweep(self._marker[1], 0.0, self._marker[0])
        self._ended = Ended(-signal.SIGKILL)

    def end(self, grace: float) -> None:
        """Begin to end the tree, and return at once."""
        with self._lock, contextlib.suppress(OSError):
            if self._ended is None:
                self._turn.send(f"end {max(grace, 0.0)}".encode(), socket.MSG_DONTWAIT)


class KeptSupervisor:
    """Starts programs under wardens, which a keeper forks.

    Args:
        instance: Name of the daemon's installation, shown in the keeper's
            arguments so that a person can tell whose it is.
    """

    def __init__(self, instance: str) -> None:
        self._instance = instance
        self._lock = threading.Lock()
        self._is_closed = False
        self._keeper, self._control = self._start_keeper()

    def _start_keeper(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(_ANSWER_LIMIT)
        with theirs:
            number = theirs.fileno()
            python = (sys.executable, "-I", "-S", "-c", _CODE)
            keeper = subprocess.Popen(
                (*python, str(_ROOT), str(number), self._instance),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                pass_fds=(number,),
                start_new_session=True,
            )
        return keeper, ours

    def start(self, launch: Launch) -> KeptTree:
        """Start a program.

        Raises:
            LaunchError: It could not be started.
        """
        plan = _write_plan(launch)
        try:
            for _ in range(_ATTEMPTS):
                control = self._control
                turn = _hand_over(control, plan, launch)
                if turn is not None:
                    return KeptTree(turn, launch.marker)
                self._replace_lost_keeper(control)
        except OSError:
            raise LaunchError("other") from None
        finally:
            os.close(plan)
        raise LaunchError("other")

    def _replace_lost_keeper(self, control: socket.socket) -> None:
        if not _is_hung_up(control):
            return
        with self._lock:
            if self._control is control and not self._is_closed:
                _stop_keeper(self._keeper, control)
                self._keeper, self._control = self._start_keeper()

    def close(self) -> None:
        """Start nothing any more; trees that still run stay supervised."""
        with self._lock:
            self._is_closed = True
            _stop_keeper(self._keeper, self._control)


def _stop_keeper(keeper: subprocess.Popen[bytes], control: socket.socket) -> None:
    control.close()
    try:
        keeper.wait(_CLOSE_LIMIT)
    except subprocess.TimeoutExpired:
        keeper.kill()
        keeper.wait()


def _hand_over(
    control: socket.socket, plan: int, launch: Launch
) -> socket.socket | None:
    """Return the socket of a turn that has begun, or None if nobody took it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with contextlib.ExitStack() as closing:
        closing.enter_context(ours)
        with theirs:
            stdio = [launch.stdin, launch.stdout, launch.stderr]
            try:
                socket.send_fds(control, [b"t"], [theirs.fileno(), plan, *stdio])
            except OSError:
                if _is_hung_up(control):
                    return None
                raise
        if not _is_readable(ours.fileno(), _ANSWER_LIMIT):
            raise LaunchError("other")  # closing ours ends what may come of it
        report = _receive(ours)
        if not report and os.fstat(plan).st_size:
            return None
        if not report:  # the warden was killed, and perhaps it had started it
            sweep(launch.marker[1], 0.0, launch.marker[0])
            raise LaunchError("other")
        if report[0] == "refused":
            stage, number = report[1:]
            raise LaunchError("folder" if stage == "folder" else reason_of(int(number)))
        closing.pop_all()
    return ours


def _is_hung_up(control: socket.socket) -> bool:
    number = control.fileno()  # below zero once it is closed here
    return number < 0 or _is_readable(number, 0)


def _write_plan(launch: Launch) -> int:
    """Return a memory file with the launch; arguments never reach a disk."""
    assert sys.platform == "linux"
    try:
        program = os.fsencode(find_program(launch))
        argv = [os.fsencode(word) for word in launch.argv]
        environment = [
            os.fsencode(f"{name}={value}")
            for name, value in launch.marked_environment.items()
        ]
    except UnicodeEncodeError:
        raise LaunchError("other") from None
    folder = os.fsencode(launch.folder)
    if any(b"\0" in word for word in (folder, program, *argv, *environment)):
        raise LaunchError("other")
    content = pack(
        folder=folder,
        umask=launch.umask,
        program=program,
        argv=argv,
        environment=environment,
    )
    plan = os.memfd_create("launch", os.MFD_CLOEXEC)
    with open(plan, "wb", closefd=False) as file:
        file.write(content)
    return plan


def _receive(turn: socket.socket) -> list[str]:
    """Return the words of one report, or none when the other end is gone."""
    for _ in range(2):
        # A warden that closes with an unread order resets the connection; its
        # report is still there, behind the error.
        with contextlib.suppress(ConnectionResetError):
            return turn.recv(256).decode().split()
    return []


def _is_readable(number: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(number, select.POLLIN)
    return bool(poll.poll(math.ceil(min(seconds, _LONGEST_WAIT) * 1000)))
