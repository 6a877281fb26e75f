"""Supervision on Linux, the daemon's side: each turn has a warden of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from conduck_service.base.supervision import landlock
from conduck_service.base.supervision.kept_tree import (
    KeptTree,
    is_readable,
    receive,
)
from conduck_service.base.supervision.launch import (
    Launch,
    LaunchError,
    Reason,
    reason_of,
    wrapped,
)
from conduck_service.base.supervision.sweep import kill_family, send, snapshot
from conduck_service.base.supervision.warden import pack

_WAKE_AFTER = 1.0
_ANSWER_LIMIT = 5.0
_ATTEMPTS = 3
_SILENCES = 2
_CLOSE_LIMIT = 2.0
_CODE = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from conduck_service.base.supervision.keeper import main; main(int(sys.argv[2]))"
)
_ROOT = Path(__file__).parents[3]


class _SilentError(Exception):
    """Raised when neither the keeper nor a warden of it does anything."""


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
        silences = 0
        try:
            for _ in range(_ATTEMPTS):
                keeper, control = self._awake_keeper()
                try:
                    with _written_plan(launch) as plan:
                        tree = _hand_over(keeper, control, launch, plan)
                except _SilentError:
                    silences += 1
                    self._replace_keeper(control)
                    if silences == _SILENCES:
                        break
                    continue
                if tree is not None:
                    return tree
                if _is_hung_up(control):
                    self._replace_keeper(control)
        except OSError:
            raise LaunchError("other") from None
        raise LaunchError("other")

    def _awake_keeper(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        with self._lock:
            self._keeper.send_signal(signal.SIGCONT)  # an engine may have stopped it
            return self._keeper, self._control

    def _replace_keeper(self, control: socket.socket) -> None:
        with self._lock:
            if self._control is control and not self._is_closed:
                _drop_keeper(self._keeper, control)
                self._keeper, self._control = self._start_keeper()

    def close(self) -> None:
        """Start nothing any more; trees that still run stay supervised."""
        with self._lock:
            self._is_closed = True
            _stop_keeper(self._keeper, self._control)


def _stop_keeper(keeper: subprocess.Popen[bytes], control: socket.socket) -> None:
    keeper.send_signal(signal.SIGCONT)
    with contextlib.suppress(OSError):
        # Shut down, not closed: the keeper need not stay, for we are still here.
        control.shutdown(socket.SHUT_WR)
    try:
        keeper.wait(_CLOSE_LIMIT)
    except subprocess.TimeoutExpired:
        _drop_keeper(keeper, control)
    control.close()


def _drop_keeper(keeper: subprocess.Popen[bytes], control: socket.socket) -> None:
    """End a keeper that is dead or silent; its wardens at work go on."""
    # Its end wakes its wardens. The waiting one sees the closed socket, and ends.
    control.close()
    keeper.kill()
    keeper.wait()


def _wake_wardens(keeper: subprocess.Popen[bytes]) -> None:
    if keeper.poll() is not None:
        return
    keeper.send_signal(signal.SIGCONT)
    send([item for item in snapshot() if item.parent == keeper.pid], signal.SIGCONT)


def _hand_over(
    keeper: subprocess.Popen[bytes],
    control: socket.socket,
    launch: Launch,
    plan: int,
) -> KeptTree | None:
    """Return the tree of a turn that has begun, or None if nobody took it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with contextlib.ExitStack() as closing:
        closing.enter_context(ours)
        with theirs:
            if not _send_turn(control, theirs, plan, launch):
                return None
        if not _is_answered(ours, keeper):
            # In this order: a warden empties the plan, then looks whether anybody
            # waits. So a plan that is full after the close is never carried out.
            ours.close()
            if os.fstat(plan).st_size:
                raise _SilentError
            raise LaunchError("other")
        report = receive(ours)
        if not report and os.fstat(plan).st_size:
            return None
        if not report:  # the warden was killed, and perhaps it had started it
            kill_family(*launch.marker)
            raise LaunchError("other")
        if report[0] == "refused":
            stage, number = report[1:]
            raise LaunchError(_refused(stage, int(number)))
        closing.pop_all()
    return KeptTree(ours, int(report[1]), launch.marker)


def _refused(stage: str, number: int) -> Reason:
    stages: dict[str, Reason] = {"folder": "folder", "confinement": "confinement"}
    return stages.get(stage) or reason_of(number)


def _is_answered(turn: socket.socket, keeper: subprocess.Popen[bytes]) -> bool:
    if is_readable(turn.fileno(), _WAKE_AFTER):
        return True
    _wake_wardens(keeper)
    return is_readable(turn.fileno(), _ANSWER_LIMIT - _WAKE_AFTER)


def _send_turn(
    control: socket.socket, turn: socket.socket, plan: int, launch: Launch
) -> bool:
    """Say whether there is somebody to take the turn."""
    stdio = [launch.stdin, launch.stdout, launch.stderr]
    try:
        socket.send_fds(control, [b"t"], [turn.fileno(), plan, *stdio])
    except TimeoutError:
        raise _SilentError from None
    except OSError:
        if _is_hung_up(control):
            return False
        raise
    return True


def _is_hung_up(control: socket.socket) -> bool:
    number = control.fileno()  # below zero once it is closed here
    return number < 0 or is_readable(number, 0)


@contextlib.contextmanager
def _written_plan(launch: Launch) -> Iterator[int]:
    """Hold a memory file with the launch; arguments never reach a disk.

    Every attempt has one of its own: who was slow to take the last one may
    empty it even now.
    """
    assert sys.platform == "linux"
    try:
        path, words = wrapped(launch)
        program = os.fsencode(path)
        argv = [os.fsencode(word) for word in words]
        environment = [
            os.fsencode(f"{name}={value}")
            for name, value in launch.marked_environment.items()
        ]
    except UnicodeEncodeError:
        raise LaunchError("other") from None
    folder = os.fsencode(launch.folder)
    rules = _rules(launch)
    if any(b"\0" in word for word in (folder, program, *rules, *argv, *environment)):
        raise LaunchError("other")
    content = pack(
        folder=folder,
        umask=launch.umask,
        program=program,
        rules=rules,
        argv=argv,
        environment=environment,
    )
    plan = os.memfd_create("launch", os.MFD_CLOEXEC)
    try:
        with open(plan, "wb", closefd=False) as file:
            file.write(content)
        yield plan
    finally:
        os.close(plan)


def _rules(launch: Launch) -> list[bytes]:
    """Return what the warden is to enter; nothing when another program does."""
    confinement = launch.confinement
    if confinement is None or confinement.wrapper is not None:
        return []
    kinds = (
        (landlock.READ, confinement.read),
        (landlock.WRITE, confinement.write),
        (landlock.USE, confinement.use),
    )
    return [kind + os.fsencode(path) for kind, paths in kinds for path in paths]
