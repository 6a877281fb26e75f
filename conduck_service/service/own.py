"""A person's own service, whatever manages it: what can be asked of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from conduck_service.base.safefiles import SafeFileError, atomic_write
from conduck_service.service.programs import Programs, Ran
from conduck_service.service.refusal import RefusedError

_MODE = 0o644
"""Managers read these files as somebody else; nothing in them is secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How a service goes.

    Attributes:
        whose: ``own`` or ``system``.
        manager: ``systemd`` or ``launchd``.
        name: What the manager calls it.
        file: Where it is described; empty if the manager does not say.
        starts_itself: Whether it is started with the login or the machine.
        state: The manager's word, such as ``active``, ``failed`` or ``running``.
        is_running: Whether requests are accepted.
        text: What the service says of itself; or how it ended.
        user: Whom a system's service runs as; empty for one's own.
        pid: Of the daemon; 0 if there is none.
    """

    whose: str
    manager: str
    name: str
    file: str = ""
    starts_itself: bool = False
    state: str = "inactive"
    is_running: bool = False
    text: str = ""
    user: str = ""
    pid: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Every service of this program that a person can see.

    Attributes:
        services: Those that are installed.
        notes: What is worth knowing about them.
    """

    services: Sequence[State]
    notes: Sequence[str] = field(default=())


class OwnService(Protocol):
    """A person's own service."""

    @property
    def file(self) -> Path:
        """Where it is described."""
        ...

    def text(self, argv: Sequence[str], variables: Mapping[str, str]) -> str:
        """Return the description of a service.

        Args:
            argv: What it runs; the program by its whole path.
            variables: Those that it gets, PATH among them.
        """
        ...

    def check(self) -> None:
        """Refuse what stands in the way of ``install``; nothing is changed.

        Raises:
            RefusedError: The service runs in another way, or there is no manager.
        """
        ...

    def install(self, text: str, *, start: bool) -> list[str]:
        """Describe the service to its manager, and start it anew.

        Args:
            text: What ``text`` returned.
            start: Whether it is also started, now and from now on.

        Returns:
            What is worth knowing.

        Raises:
            RefusedError: It could not be done.
        """
        ...

    def uninstall(self) -> bool:
        """Stop the service and forget it; say whether there was one.

        Raises:
            RefusedError: It could not be done.
        """
        ...

    def status(self) -> Status:
        """Return how it goes, and the system's service where there is one."""
        ...


def must(ran: Ran, what: str, remedy: str) -> Ran:
    """Return what came of a program that has to succeed.

    Raises:
        RefusedError: It did not.
    """
    if ran.status:
        raise RefusedError(f"{what}: {ran.last_line}", remedy)
    return ran


def write(path: Path, data: bytes) -> None:
    """Put a file that everybody may read in its place, whole, with its folders.

    Raises:
        RefusedError: Something else is there, or it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path.parent.resolve() / path.name, data, _MODE)
    except SafeFileError as error:
        raise RefusedError(f"{path}: {error.reason}", error.remedy) from None
    except OSError as error:
        raise RefusedError(
            f"{path}: {error.strerror}", "make its folder one that can be written to"
        ) from None


def remove(path: Path) -> None:
    """Remove a file.

    Raises:
        RefusedError: It cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise RefusedError(f"{path}: {error.strerror}", "remove it") from None


def answers_yes(programs: Programs, *argv: str) -> bool:
    """Say whether a program ends well, as those do that only tell something."""
    return programs.run(argv).status == 0
