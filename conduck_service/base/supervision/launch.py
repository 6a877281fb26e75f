"""What is needed to start a program, how that can fail, and the ports for it."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

MARKER = "CONDUCK_EXECUTION"
"""The variable that marks every process of a turn: ``<instance>.<random>``."""

Reason = Literal[
    "not_found", "not_executable", "folder", "too_long", "confinement", "other"
]

_WORDS: dict[Reason, str] = {
    "not_found": "the program was not found",
    "not_executable": "the program cannot be executed",
    "folder": "the working folder cannot be entered",
    "too_long": "the arguments and the environment are too long",
    "confinement": "the program could not be confined",
    "other": "the program could not be started",
}
_REASONS: dict[int, Reason] = {
    errno.ENOENT: "not_found",
    errno.ENOTDIR: "not_found",
    errno.EACCES: "not_executable",
    errno.EISDIR: "not_executable",
    errno.ENOEXEC: "not_executable",
    errno.E2BIG: "too_long",
}


class LaunchError(Exception):
    """Raised when a program could not be started; nothing of it runs.

    Attributes:
        reason: Why, as one word of a closed list. The text names no path and
            no argument.
    """

    def __init__(self, reason: Reason) -> None:
        super().__init__(_WORDS[reason])
        self.reason: Reason = reason


def reason_of(number: int | None) -> Reason:
    """Return the reason that an error number of exec stands for."""
    return _REASONS.get(number or 0, "other")


class Wrapper(Protocol):
    """A program that confines another one and then runs it."""

    def __call__(self, confinement: Confinement, folder: Path) -> tuple[str, ...]:
        """Return its argv; a program and its arguments come after that."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """The files that a program may touch, it and whatever it starts.

    All paths are absolute, and count with everything below them. What is not there
    when the program starts allows nothing.

    Attributes:
        read: What it may read and run.
        write: Where it may also write, create, remove and rename.
        use: Devices that it may read and write.
        wrapper: Enters the confinement; None stands for Landlock, which the warden
            enters by itself.
    """

    read: tuple[Path, ...] = field(repr=False)
    write: tuple[Path, ...] = field(repr=False)
    use: tuple[Path, ...] = field(repr=False)
    wrapper: Wrapper | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A program to start.

    Attributes:
        argv: The program and its arguments; no shell ever sees them. A program
            without a slash is looked for in the PATH of ``environment``.
        environment: The whole environment but the marker.
        folder: Working folder, absolute.
        umask: File mode creation mask.
        stdin: File descriptor that becomes 0, read from where it stands; the
            caller keeps owning it.
        stdout: File descriptor that becomes 1, likewise.
        stderr: File descriptor that becomes 2, likewise.
        marker: Variable and value that are added to the environment. The value
            is this turn's alone, and no other begins with it.
    """

    argv: tuple[str, ...] = field(repr=False)
    environment: Mapping[str, str] = field(repr=False)
    folder: Path
    umask: int
    stdin: int
    stdout: int
    stderr: int
    marker: tuple[str, str]
    confinement: Confinement | None = None

    @property
    def marked_environment(self) -> dict[str, str]:
        """The environment with the marker in it."""
        return {**self.environment, self.marker[0]: self.marker[1]}


@dataclass(frozen=True, slots=True)
class Ended:
    """A tree of processes that is gone.

    Attributes:
        status: Exit status of the program that was started; below zero, the
            number of the signal that ended it.
        leftovers: Number of processes that could not be ended, such as those
            of another user.
    """

    status: int
    leftovers: int = 0


class ProcessTree(Protocol):
    """A started program and everything that descends from it."""

    def wait(self, seconds: float) -> Ended | None:
        """Return how it ended once the whole tree is gone, else None.

        When the program ends by itself, what it left behind is ended too: it
        gets SIGTERM, one second, then SIGKILL.

        Args:
            seconds: How long to wait at most; zero only looks.
        """
        ...

    def end(self, grace: float) -> None:
        """Begin to end the tree, and return at once.

        Everything in it gets SIGTERM, and after the grace SIGKILL until nothing
        is left. Once called, :meth:`wait` must be called until it tells the
        end. A second call can only shorten the grace, and one for a tree that
        is gone does nothing.

        Args:
            grace: Seconds until SIGKILL; zero kills at once.
        """
        ...


class Supervisor(Protocol):
    """Starts programs whose whole trees can be ended; used by many threads."""

    def start(self, launch: Launch) -> ProcessTree:
        """Start a program.

        Raises:
            LaunchError: It could not be started.
        """
        ...

    def close(self) -> None:
        """Start nothing any more; trees that still run stay supervised."""
        ...


def find_program(launch: Launch) -> str:
    """Return the path of the launch's program, as exec takes it.

    Only absolute entries of PATH count: the working folder holds files that
    others put there, so no program may come from it by accident.

    Raises:
        LaunchError: PATH has no such program, or only ones that cannot be run.
    """
    name = launch.argv[0] if launch.argv else ""
    if "/" in name:
        return name
    reason: Reason = "not_found"
    folders = launch.environment.get("PATH", os.defpath).split(":")
    for folder in folders if name else ():
        path = Path(folder, name)
        if not folder.startswith("/") or not _is_there(path):
            continue
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
        reason = "not_executable"
    raise LaunchError(reason)


def wrapped(launch: Launch) -> tuple[str, tuple[str, ...]]:
    """Return the path and the argv to run, the wrapper in front if there is one.

    Raises:
        LaunchError: The program is not there, or cannot be run.
    """
    program = find_program(launch)
    confinement = launch.confinement
    if confinement is None or confinement.wrapper is None:
        return program, launch.argv
    argv = confinement.wrapper(confinement, launch.folder)
    return argv[0], (*argv, program, *launch.argv[1:])


def _is_there(path: Path) -> bool:
    # What may not be looked at is no error: a PATH often names such folders, and
    # exec passes them over as well.
    try:
        return path.exists()
    except OSError:
        return False
