"""Programs that give a value, and can neither hold anybody up nor say too much."""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conduck_service.base.supervision.launch import MARKER
from conduck_service.base.supervision.sweep import kill_family

_FIRST_LOOK = 0.0005
_LOOK = 0.02
"""Seconds between two looks at whether the program has ended.

Its end is not told by the pipe when something that it left behind keeps that open.
"""

_KILLED = 1.0
"""Seconds in which a killed program is gone, unless it is another user's."""

_CHUNK = 1 << 16


class TooMuchOutputError(Exception):
    """Raised when a program prints more than it may; it has been ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A program that has ended.

    Attributes:
        status: Exit status; below zero, the number of the signal that ended it.
        output: What it printed; kept out of ``repr``.
    """

    status: int
    output: bytes = field(repr=False)


def run_bounded(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    seconds: float,
    limit: int,
    given: bytes = b"",
) -> Finished:
    """Run a program to its end, and leave nothing of its process group.

    Of one that has to be ended, every descendant is ended with it, in whatever group
    or session. What a program that ended by itself has put there is not found.

    It begins a session, so it has no terminal to ask questions on. What it says on
    standard error is thrown away. It is used from many threads and reaps no other
    child of this process.

    Args:
        argv: The program's path and its arguments.
        environment: All of its variables.
        folder: Where it starts.
        seconds: How long it may take.
        limit: Most bytes that it may print.
        given: What it reads on standard input.

    Raises:
        OSError: It could not be started.
        ValueError: An argument or a variable cannot be handed to a program.
        TimeoutError: It took too long.
        TooMuchOutputError: It printed too much.
    """
    deadline = time.monotonic() + seconds
    process = subprocess.Popen(
        argv,
        env=environment,
        cwd=folder,
        umask=0o077,
        stdin=subprocess.PIPE if given else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,
    )
    try:
        output = _talk(process, given, limit, deadline)
        # It may have closed its output and go on, though mostly it is just ending.
        pause = _FIRST_LOOK
        while not _has_ended(process):
            _check_time(deadline)
            time.sleep(pause)
            pause = min(2 * pause, _LOOK)
    finally:
        status = _end(process)
    return Finished(status=status, output=output)


def _talk(
    process: subprocess.Popen[bytes], given: bytes, limit: int, deadline: float
) -> bytes:
    """Return what the program printed until it ended or closed its output."""
    output = bytearray()
    rest = memoryview(given)
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        source = selector.register(process.stdout, selectors.EVENT_READ)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE)
        while True:
            # Asked first: then all that it printed is in the pipe already.
            ended = _has_ended(process)
            ready = [key for key, _ in selector.select(0 if ended else _LOOK)]
            if process.stdin in [key.fileobj for key in ready]:
                rest = _feed(process, selector, rest)
            if source in ready:
                chunk = os.read(source.fd, _CHUNK)
                output += chunk
                if len(output) > limit:
                    raise TooMuchOutputError
                if not chunk:
                    return bytes(output)
            elif ended:
                return bytes(output)
            _check_time(deadline)


def _feed(
    process: subprocess.Popen[bytes],
    selector: selectors.BaseSelector,
    rest: memoryview,
) -> memoryview:
    """Write as much as goes into the pipe; return what is left of it."""
    stdin = process.stdin
    assert stdin is not None
    try:
        rest = rest[os.write(stdin.fileno(), rest) :]
    except BrokenPipeError:
        rest = rest[:0]
    if not rest:
        selector.unregister(stdin)
        stdin.close()
    return rest


def _check_time(deadline: float) -> None:
    if time.monotonic() >= deadline:
        raise TimeoutError


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Say whether the program has ended, if possible without reaping it.

    Until it is reaped its number is nobody else's, so its group can be killed.
    """
    if not hasattr(os, "waitid"):  # macOS before Python 3.13
        return process.poll() is not None
    options = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return os.waitid(os.P_PID, process.pid, options) is not None


def _end(process: subprocess.Popen[bytes]) -> int:
    """Kill what is left of the program's group, and return its exit status."""
    if not _has_ended(process):
        _kill_descendants(process.pid)
    # Another user's program (sudo) cannot be killed, nor waited for.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    try:
        return process.wait(_KILLED)
    except subprocess.TimeoutExpired:
        return -signal.SIGKILL


def _kill_descendants(pid: int) -> None:
    """Kill what a living program has started, also in sessions of their own."""
    # Stopped, it starts nothing more while its descendants are looked for.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGSTOP)
    # A marker that nobody carries: they are known by who started them.
    kill_family(MARKER, secrets.token_hex(16), (pid,))
