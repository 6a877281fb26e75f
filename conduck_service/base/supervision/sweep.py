"""Processes of a turn that nobody holds any more, found by their marker.

Elsewhere than on Linux this is how a tree is ended; on Linux it ends what a
killed predecessor of the daemon left. A process is known by its number and its
start together, so that a number used again is never mistaken for it.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conduck_service.base.supervision.launch import MARKER

GIVE_UP = 10.0
"""Seconds of killing after which a process that will not die is left alone."""

_PAUSE = 0.02
_EXEC_LIMIT = 0.2
_EXEC_PAUSE = 0.0005
_KERNEL_THREAD = 0x200000
_PS_LIMIT = 10.0
_PROC = Path("/proc")
_PS_LINE = re.compile(
    rb"^ *(?P<pid>\d+) +(?P<parent>\d+) +(?P<group>\d+)"
    rb" +(?P<state>\S+)"
    rb" +(?P<started>\w{3} +\w{3} +\d+ +[\d:]+ +\d{4}) +(?P<command>.*)$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A process of our user.

    Attributes:
        pid: Its number.
        started: When it began, in whatever way the system writes it.
        parent: The number of its parent.
        group: The number of its process group.
        environment: Text that holds its environment, each variable with a NUL
            or a blank before it.
    """

    pid: int
    started: str
    parent: int = field(compare=False)
    group: int = field(compare=False)
    environment: bytes = field(repr=False)

    @property
    def identity(self) -> tuple[int, str]:
        """Number and start; no other process ever has both."""
        return self.pid, self.started


def sweep(prefix: str, grace: float, variable: str = MARKER) -> int:
    """End every process whose marker begins so, and return how many there were.

    Args:
        prefix: A whole marker, or ``<instance>.`` for all of an installation.
        grace: Seconds between SIGTERM and SIGKILL; zero kills at once.
        variable: The variable that holds the marker.
    """
    kill_at = time.monotonic() + grace
    met: set[tuple[int, str]] = set()
    while victims := family(snapshot(), variable, prefix):
        now = time.monotonic()
        if now > kill_at + GIVE_UP:
            break
        fresh = [item for item in victims if item.identity not in met]
        met.update(item.identity for item in fresh)
        if now >= kill_at:
            send(victims, signal.SIGKILL)
        else:
            send(fresh, signal.SIGTERM)
        time.sleep(_PAUSE)
    return len(met)


def kill_family(variable: str, prefix: str, roots: Sequence[int] = ()) -> int:
    """Kill a family until nobody is left, and return how many would not go.

    First all are stopped, pass by pass, until a pass meets nobody new: what is
    stopped does not fork.

    Args:
        variable: The variable that holds the marker.
        prefix: A whole marker, or what it begins with.
        roots: Processes whose descendants belong to it; they are spared
            themselves.
    """
    give_up = time.monotonic() + GIVE_UP
    stopped: set[tuple[int, str]] = set()
    while True:
        found = family(snapshot(), variable, prefix, roots)
        victims = [item for item in found if item.pid not in roots]
        is_late = time.monotonic() > give_up
        if not victims or is_late:
            send(victims, signal.SIGKILL)
            return len(victims)
        fresh = [item for item in victims if item.identity not in stopped]
        if fresh:
            stopped.update(item.identity for item in fresh)
            send(fresh, signal.SIGSTOP)
            continue
        send(victims, signal.SIGKILL)
        time.sleep(_PAUSE)


def family(
    processes: Iterable[Process], variable: str, prefix: str, roots: Iterable[int] = ()
) -> list[Process]:
    """Return the marked processes, the roots, and all that descend from them.

    This process is never among them, nor is what descends from it alone.
    """
    needle = re.compile(rb"(?:^|[\0 ])" + re.escape(f"{variable}={prefix}".encode()))
    others = [item for item in processes if item.pid != os.getpid()]
    members = {item.pid for item in others if needle.search(item.environment)}
    members.update(roots)
    while more := {item.pid for item in others if item.parent in members} - members:
        members |= more
    return [item for item in others if item.pid in members]


def send(victims: Sequence[Process], number: int) -> None:
    """Signal the processes that are still the same as when they were found."""
    if not victims:
        return
    living = set(snapshot([item.pid for item in victims]))
    for process in victims:
        if process in living:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, number)


def snapshot(pids: Sequence[int] = ()) -> list[Process]:
    """Return the living processes of our user, or those of these numbers."""
    if os.uname().sysname == "Linux":
        return _from_proc(pids)
    return _from_ps(pids)


def _from_proc(pids: Sequence[int]) -> list[Process]:
    folders = [_PROC / str(pid) for pid in pids] or list(_PROC.glob("[0-9]*"))
    found = []
    for folder in folders:
        with contextlib.suppress(OSError):  # it has gone, or is not ours
            if folder.stat().st_uid != os.geteuid():
                continue
            process = _read(folder)
            if process is not None:
                found.append(process)
    return found


def _read(folder: Path) -> Process | None:
    """Return the process of a folder of /proc, or nothing when it is dead.

    While a process becomes another program its environment reads as empty. Then
    it has no addresses yet either, unlike the environment of one that has none.
    """
    give_up = time.monotonic() + _EXEC_LIMIT
    while True:
        environment = (folder / "environ").read_bytes()
        stat = (folder / "stat").read_text("latin-1").rpartition(")")[2].split()
        if stat[0] in "ZX":
            return None
        is_empty = stat[47] == stat[48] != "0" or int(stat[6]) & _KERNEL_THREAD
        if environment or is_empty or time.monotonic() > give_up:
            return Process(
                pid=int(folder.name),
                parent=int(stat[1]),
                group=int(stat[2]),
                started=stat[19],
                environment=environment,
            )
        time.sleep(_EXEC_PAUSE)


def _from_ps(pids: Sequence[int]) -> list[Process]:
    which = ["-p", ",".join(map(str, pids))] if pids else ["-x"]
    columns = ["-ww", "-E", "-o", "pid=,ppid=,pgid=,stat=,lstart=,command="]
    try:
        done = subprocess.run(
            ["/bin/ps", *which, *columns],
            env={"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_PS_LIMIT,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return parse_ps(done.stdout)


def parse_ps(output: bytes) -> list[Process]:
    """Return the living processes of ``ps -E`` with the columns asked for here.

    The environment follows the command, behind a blank.
    """
    return [
        Process(
            pid=int(line["pid"]),
            parent=int(line["parent"]),
            group=int(line["group"]),
            started=line["started"].decode(),
            environment=line["command"],
        )
        for line in _PS_LINE.finditer(output)
        if not line["state"].startswith(b"Z")
    ]
