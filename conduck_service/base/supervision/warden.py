"""The parent of one engine: sees every descendant, and leaves none behind.

It runs in a process of its own, forked by the keeper, single-threaded and child
subreaper, so that a descendant whose parent ends becomes its child. That is why
it finds what forked twice, made its own session and emptied its environment.

It is sent the launch as a memory file, which it empties: from then on nobody else
may start it. It talks with the daemon over one socket and says ``started <pid>`` or
``refused <stage> <errno>``, later ``ended <status> <leftovers>``. It may be told
``end <grace>``; a closed socket means that the daemon is gone.
"""

from __future__ import annotations

import _thread
import array
import contextlib
import math
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence

from conduck_service.base.supervision import landlock
from conduck_service.base.supervision.lineage import (
    descendants,
    kill,
    stop_descendants,
    terminate_descendants,
)

LEFTOVERS_GRACE = 1.0
"""Seconds for what outlived an engine that ended by itself."""

ABANDONED_GRACE = 2.0
"""Seconds for an engine whose daemon is gone."""

LOOK = 0.1
"""Seconds after which a tree that is being ended is looked at again."""

KILLING_LIMIT = 10.0
"""Seconds after which killing gives up, in case of an undying process."""

CATCHABLE = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
"""Signals whose effect a process may choose, all at their default in engines."""

IGNORED = CATCHABLE - {signal.SIGCHLD}
"""Signals that keeper and wardens outlive; only their sockets end them.

A program that tells its parent that it is ready, with SIGUSR1 say, must not end
its warden by that.
"""

_ROUND_MILLISECONDS = 10
_REAPED_AT_ONCE = 4096  # a fork bomb may die faster than it can be reaped


def pack(
    *,
    folder: bytes,
    umask: int,
    program: bytes,
    rules: Sequence[bytes],
    argv: Sequence[bytes],
    environment: Sequence[bytes],
) -> bytes:
    """Return a launch as the bytes that a warden reads; none may hold a NUL.

    Args:
        folder: The working folder.
        umask: The file mode creation mask.
        program: What exec gets as the path.
        rules: What Landlock is to allow; when there are none, it is not entered.
        argv: What it gets as the arguments.
        environment: Its variables as ``name=value``.
    """
    head = [folder, b"%d" % umask, program, b"%d" % len(rules), b"%d" % len(argv)]
    return b"\0".join([*head, *rules, *argv, *environment])


class RefusalError(Exception):
    """Raised when the engine cannot be started.

    Attributes:
        stage: ``folder``, ``confinement`` or ``program``.
        number: The error number; zero when there is none.
    """

    def __init__(self, stage: str, number: int) -> None:
        super().__init__(stage)
        self.stage = stage
        self.number = number


class Engine:
    """The processes of one turn, as their common ancestor knows them."""

    def __init__(self, plan: bytes, stdio: Sequence[int]) -> None:
        self.status: int | None = None
        self._pid = _spawn(plan, stdio)

    def reap(self, numbers: set[int]) -> bool:
        """Collect whoever has ended, and say whether anybody is left.

        Args:
            numbers: Process ids, of which those that are free again are taken.
        """
        for _ in range(_REAPED_AT_ONCE):
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            numbers.discard(pid)
            if pid == self._pid:
                self.status = os.waitstatus_to_exitcode(status)
        return True


def _spawn(plan: bytes, stdio: Sequence[int]) -> int:
    folder, umask, program, confined, count, *words = plan.split(b"\0")
    rules, words = words[: int(confined)], words[int(confined) :]
    argv, variables = words[: int(count)], words[int(count) :]
    try:
        os.chdir(folder)
    except OSError as error:
        raise RefusalError("folder", error.errno or 0) from None
    os.umask(int(umask))
    environment = dict(item.split(b"=", 1) for item in variables)
    if rules:
        return _confined(rules, lambda: _run(program, argv, environment, stdio))
    return _run(program, argv, environment, stdio)


def _run(
    program: bytes,
    argv: list[bytes],
    environment: Mapping[bytes, bytes],
    stdio: Sequence[int],
) -> int:
    try:
        # Not fork and exec: copying this process costs three times as much.
        # Every other descriptor here is closed by exec. C-SEC-02, C-SEC-09
        return os.posix_spawn(
            program,
            argv,
            environment,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, number, target)
                for target, number in enumerate(stdio)
            ],
            setsid=True,
            setsigmask=(),
            setsigdef=CATCHABLE,
        )
    except OSError as error:
        raise RefusalError("program", error.errno or 0) from None
    except ValueError:
        raise RefusalError("program", 0) from None


def _confined(rules: Sequence[bytes], run: Callable[[], int]) -> int:
    """Start the engine from a thread that is confined, and return its number.

    Landlock holds a thread and what it starts. The warden itself stays free: it has
    to see and to end everybody, and a confined engine cannot signal it.
    """
    outcome: list[int | RefusalError] = []
    over = _thread.allocate_lock()
    over.acquire()

    def start() -> None:
        try:
            landlock.enter(rules)
            outcome.append(run())
        except RefusalError as refusal:
            outcome.append(refusal)
        except OSError as error:
            outcome.append(RefusalError("confinement", error.errno or 0))
        finally:
            over.release()

    try:
        _thread.start_new_thread(start, ())
    except RuntimeError:  # no room for a thread
        raise RefusalError("confinement", 0) from None
    over.acquire()
    result = outcome[0] if outcome else RefusalError("confinement", 0)
    if isinstance(result, RefusalError):
        raise result
    return result


class Bell:
    """Rings when a child has ended, so that ``poll`` can wait for it."""

    def __init__(self) -> None:
        self.number, self._rope = os.pipe()
        os.set_blocking(self.number, False)
        os.set_blocking(self._rope, False)
        signal.set_wakeup_fd(self._rope, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _do_nothing)

    def hush(self) -> None:
        """Forget the rings so far."""
        try:
            os.read(self.number, 65536)
        except BlockingIOError:
            return

    def close(self) -> None:
        """Ring no more."""
        signal.set_wakeup_fd(-1)
        os.close(self.number)
        os.close(self._rope)


def _do_nothing(_signal: int, _frame: object) -> None:
    """Stand for the default, with which no signal would be noticed."""


def serve(control: socket.socket, taken: int) -> None:
    """Wait for a turn, see it through, and leave the process.

    Args:
        control: Where the daemon sends turns; whoever of the keeper's children
            reads one has it.
        taken: Gets one byte as soon as there is a turn, so that the keeper
            makes the next warden.
    """
    bell = Bell()
    turn, plan, stdio = _receive(control)
    with contextlib.suppress(BrokenPipeError):  # the keeper was killed; go on
        os.write(taken, b"t")
    os.close(taken)
    control.close()
    if _hear(turn) is not None:
        return  # nobody waits for it any more
    try:
        engine = Engine(plan, stdio)
    except RefusalError as refusal:
        _say(turn, f"refused {refusal.stage} {refusal.number}")
        return
    for number in stdio:
        os.close(number)
    del plan
    _say(turn, f"started {os.getpid()}")
    leftovers = _watch(engine, turn, bell)
    status = -signal.SIGKILL if engine.status is None else engine.status
    _say(turn, f"ended {status} {leftovers}")


def _watch(engine: Engine, turn: socket.socket, bell: Bell) -> int:
    """Return once the whole tree is gone, with the number that would not go.

    Keeps: C-TIME-04, C-TIME-05, C-TIME-06, C-SEC-16.
    """
    poll = select.poll()
    poll.register(turn, select.POLLIN)
    poll.register(bell.number, select.POLLIN)
    kill_at = math.inf
    asked: set[int] = set()
    while engine.reap(asked):
        now = time.monotonic()
        if engine.status is not None:
            kill_at = min(kill_at, now + LEFTOVERS_GRACE)
        if now >= kill_at:
            return kill_all(engine.reap, bell)
        if kill_at < math.inf:
            terminate_descendants(asked)
        ready = poll.poll(_milliseconds(kill_at - now))
        bell.hush()
        if not any(number == turn.fileno() for number, _ in ready):
            continue
        order = _hear(turn)
        if order is None:
            continue
        grace = float(order.split()[1]) if order else ABANDONED_GRACE
        kill_at = min(kill_at, time.monotonic() + grace)
        if not order:
            poll.unregister(turn)
    return 0


def _milliseconds(rest: float) -> int | None:
    """Return how long to wait: for ever, or a little, as more may be born."""
    return None if rest == math.inf else math.ceil(min(rest, LOOK) * 1000)


def kill_all(reap: Callable[[set[int]], bool], bell: Bell) -> int:
    """Kill until nobody is left, and return how many would not go.

    First all are stopped, pass by pass, until a pass meets nobody new. Then all
    are killed, and it begins again with whatever is still there.
    """
    poll = select.poll()
    poll.register(bell.number, select.POLLIN)
    give_up = time.monotonic() + KILLING_LIMIT
    stopped: set[int] = set()
    while reap(stopped):
        is_late = time.monotonic() > give_up
        if stop_descendants(stopped) and not is_late:
            continue
        is_reached = kill(stopped)
        if is_late or (stopped and not is_reached):
            return max(1, len(list(descendants())))
        stopped.clear()
        poll.poll(_ROUND_MILLISECONDS)
        bell.hush()
    return 0


def _hear(turn: socket.socket) -> bytes | None:
    """Return what the daemon says, None for nothing; empty when it is gone."""
    try:
        return turn.recv(64, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None
    except ConnectionError:
        return b""


def _say(turn: socket.socket, report: str) -> None:
    # A daemon that is gone hears nothing, and the warden ends all the same.
    with contextlib.suppress(OSError):
        turn.send(report.encode())


def _receive(control: socket.socket) -> tuple[socket.socket, bytes, list[int]]:
    numbers = array.array("i")
    message, ancillary, _, _ = control.recvmsg(
        1, socket.CMSG_SPACE(5 * numbers.itemsize), socket.MSG_CMSG_CLOEXEC
    )
    for _level, _kind, payload in ancillary:
        numbers.frombytes(payload)
    if not message or len(numbers) != 5:
        raise SystemExit  # the daemon is gone, or there are no descriptors left
    turn, plan, *stdio = numbers
    size = os.fstat(plan).st_size
    content = os.pread(plan, size, 0)
    os.ftruncate(plan, 0)
    os.close(plan)
    return socket.socket(fileno=turn), content, stdio
