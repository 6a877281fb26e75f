"""The running service, as far as the system tells about its process."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conduck_service.base.ports import holder_of

_PROC = Path("/proc")
_START_FIELD = 19
_TERMINAL_FIELD = 4
"""Places in ``/proc/PID/stat`` behind the name in brackets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The process that owns the state directory.

    Attributes:
        pid: Its number; 0 where the system does not tell.
        environment: Its variables; None where the system does not tell.
        has_terminal: Whether it was started from a terminal and still hangs on it.
        user: Number of the user that it runs as.
        started: Seconds since 1970; 0 where the system does not tell.
    """

    pid: int = 0
    environment: Mapping[str, str] | None = field(default=None, repr=False)
    has_terminal: bool = False
    user: int = 0
    started: float = 0.0

    def is_on(self, port: int) -> bool | None:
        """Say whether it listens on a port; None where the system does not tell."""
        holder = holder_of(port)
        if not holder or not self.pid:
            return None
        return holder.endswith(f"(process {self.pid})")


def find_service(state: Path | None) -> Service | None:
    """Return the service that uses a state directory, if it runs.

    Its lock is looked at and not touched where the system shows who holds it.
    """
    if state is None:
        return None
    lock = state / "lock"
    if not _PROC.joinpath("self/fd").is_dir():
        return Service(user=lock.stat().st_uid) if _is_held(lock) else None
    for folder in _PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str(lock) in _open_files(folder):
                return _described(folder)
    return None


def _open_files(folder: Path) -> Iterator[str]:
    for entry in (folder / "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            yield str(entry.readlink())


def _described(folder: Path) -> Service:
    text = (folder / "stat").read_text("utf-8", "replace")
    fields = text.rpartition(")")[2].split()
    pairs = (folder / "environ").read_bytes().split(b"\0")
    split = (os.fsdecode(pair).partition("=") for pair in pairs if b"=" in pair)
    return Service(
        pid=int(folder.name),
        environment={name: value for name, _, value in split},
        has_terminal=fields[_TERMINAL_FIELD] != "0",
        user=folder.stat().st_uid,
        started=_boot() + int(fields[_START_FIELD]) / os.sysconf("SC_CLK_TCK"),
    )


def _boot() -> float:
    lines = (_PROC / "stat").read_text("ascii").splitlines()
    return next((float(x.split()[1]) for x in lines if x.startswith("btime ")), 0.0)


def _is_held(lock: Path) -> bool:
    """Say whether somebody holds a lock, where only trying tells."""
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
