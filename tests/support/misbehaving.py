"""Engines that misbehave, and the tools to start them and to look for them.

Every engine ends by itself after a minute, whatever a failing test leaves.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from conduck_service.base.processes import (
    MARKER,
    Ended,
    Launch,
    ProcessTree,
    Supervisor,
)
from conduck_service.base.supervision.sweep import snapshot

REPOSITORY = Path(__file__).parents[2]
PATIENCE = 20.0

TELLS_PID = "echo $$ > pid.part; mv pid.part pid"
IGNORES_TERM = f"trap '' TERM; {TELLS_PID}; sleep 60 & wait; wait"
STOPS_ITSELF = f"{TELLS_PID}; kill -STOP $$; sleep 60"
STOPS_ITS_WARDEN = "kill -STOP $PPID; echo hi"
STOPS_ITS_WARDEN_ALWAYS = (
    f"trap '' TERM; {TELLS_PID}; while :; do kill -STOP $PPID || exit; done"
)
CLOSES_ITS_STREAMS = f"exec <&- >&- 2>&-; {TELLS_PID}; sleep 60"
LEAVES_A_CHILD = "sleep 60 & echo $! > pid.part; mv pid.part pid; echo done"
HAS_MANY = (
    "for i in 1 2 3 4 5 6 7 8; do (sleep 60 & sleep 60 & sleep 60 & wait) & done; "
    f"{TELLS_PID}; wait"
)

_WRITE_PID = """
def write_pid():
    with open("pid.part", "w") as file:
        file.write(str(os.getpid()))
    os.rename("pid.part", "pid")
"""

HAS_AN_UNMARKED_CHILD = f"""
import os, time
{_WRITE_PID}
if os.fork() == 0:
    os.setsid()
    os.execve("/bin/sh", ["sh", "-c", "trap '' TERM; {TELLS_PID}; sleep 60"], {{}})
time.sleep(60)
"""

# A grandchild that forked twice, has a session of its own and no environment, and
# holds stdout open. Ignoring SIGTERM is up to the first argument, staying alive
# as its grandparent up to the second.
ESCAPES = f"""
import os, sys, time
HIDDEN = '''
import os, signal, sys, time
{_WRITE_PID}
if sys.argv[1] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
write_pid()
time.sleep(60)
'''
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        words = [sys.executable, "-I", "-S", "-c", HIDDEN, sys.argv[1]]
        os.execve(sys.executable, words, {{}})
    os._exit(0)
os.wait()
while not os.path.exists("pid"):
    time.sleep(0.01)
print("done", flush=True)
if sys.argv[2] == "stay":
    time.sleep(60)
"""

# Runs away for ever: each generation forks the next one, alone in a new session
# if asked so, and ends. No process number stays valid for longer than that.
RUNS_AWAY = f"""
import os, signal, sys, time
{_WRITE_PID}
signal.signal(signal.SIGTERM, signal.SIG_IGN)
write_pid()
end = time.monotonic() + 60
if os.fork():
    time.sleep(60)
while time.monotonic() < end:
    if os.fork():
        os._exit(0)
    if sys.argv[1] == "sessions":
        os.setsid()
"""

# A bounded fork bomb: a tree of processes whose leaves never stop forking.
MULTIPLIES = f"""
import os, signal, time
{_WRITE_PID}
signal.signal(signal.SIGTERM, signal.SIG_IGN)
end = time.monotonic() + 60
write_pid()
for _ in range(4):
    os.fork()
while time.monotonic() < end:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(0.05)
        os._exit(0)
    os.wait()
"""

# What the daemon is to its engine: starts it, tells that it runs, waits.
HOLDS_AN_ENGINE = """
import os, sys, time
from pathlib import Path
from conduck_service.base.processes import Launch, start_supervisor
supervisor = start_supervisor("held")
null = os.open(os.devnull, os.O_RDWR)
tree = supervisor.start(
    Launch(
        argv=tuple(sys.argv[3:]), environment={"PATH": os.defpath},
        folder=Path(sys.argv[1]), umask=0o077, stdin=null, stdout=null, stderr=null,
        marker=("CONDUCK_EXECUTION", sys.argv[2]),
    )
)
print("started", flush=True)
tree.wait(60)
print("ended", tree.wait(0), flush=True)
"""


def python(source: str, *arguments: str) -> tuple[str, ...]:
    """Return the argv of a program in Python."""
    return (sys.executable, "-I", "-S", "-c", source, *arguments)


def shell(source: str) -> tuple[str, ...]:
    """Return the argv of a program for the shell."""
    return ("sh", "-c", source)


class Run:
    """One started engine, with the files that are its streams."""

    def __init__(self, tree: ProcessTree, launch: Launch, output: IO[bytes]) -> None:
        self.tree = tree
        self.folder = launch.folder
        self.marker = launch.marker[1]
        self._output = output

    def ended(self, patience: float = PATIENCE) -> Ended:
        """Return how the tree ended; it must end within the patience."""
        ended = self.tree.wait(patience)
        assert ended is not None, "the tree has not ended"
        return ended

    def output(self) -> str:
        """Return what is on stdout so far."""
        return os.pread(self._output.fileno(), 1 << 20, 0).decode()

    def pid(self) -> int:
        """Return the process id that the engine wrote into its folder."""
        path = self.folder / "pid"
        wait_until(path.exists)
        return int(path.read_text())


class Bench:
    """Starts engines in a folder and ends what a test leaves.

    Args:
        supervisor: What starts them.
        folder: Their working folder.
        marker: What their markers begin with.
    """

    def __init__(self, supervisor: Supervisor, folder: Path, marker: str) -> None:
        self.supervisor = supervisor
        self.folder = folder
        self.marker = marker
        self._runs: list[Run] = []
        self._numbers = itertools.count()

    def start(
        self,
        argv: tuple[str, ...],
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        umask: int = 0o077,
    ) -> Run:
        """Start an engine."""
        with tempfile.TemporaryFile() as given, open(os.devnull, "wb") as null:  # noqa: PTH123 - not a file
            given.write(stdin)
            given.seek(0)
            output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the bench
            launch = Launch(
                argv=argv,
                environment={"PATH": os.defpath}
                if environment is None
                else environment,
                folder=folder or self.folder,
                umask=umask,
                stdin=given.fileno(),
                stdout=output.fileno(),
                stderr=null.fileno(),
                marker=(MARKER, f"{self.marker}{next(self._numbers):04}"),
            )
            try:
                tree = self.supervisor.start(launch)
            except BaseException:
                output.close()
                raise
        run = Run(tree, launch, output)
        self._runs.append(run)
        return run

    def close(self) -> None:
        """End what still runs."""
        for run in self._runs:
            run.tree.end(0)
        for run in self._runs:
            run.tree.wait(PATIENCE)
            run._output.close()
        self._runs.clear()


def wait_until(condition: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Return once the condition holds; fail when it does not in time."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "it has not happened in time"
        time.sleep(0.005)


def is_alive(pid: int) -> bool:
    """Say whether a process of ours is there and not a zombie."""
    return any(item.pid == pid for item in snapshot([pid]))


def is_marked_alive(marker: str) -> bool:
    """Say whether a process with this marker lives."""
    needle = f"{MARKER}={marker}".encode()
    return any(needle in item.environment for item in snapshot())
