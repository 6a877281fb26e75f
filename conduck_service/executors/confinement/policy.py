"""Confines an engine to the files of its work.

It may read and write in its working folder and in its turn's private folder, read
what the system and its own program consist of, and use what config adds. All else
is out of its reach and out of that of everything it starts: the rest of the home
and of other people's, other projects, our config and our state. The network is open.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from conduck_service.base.processes import (
    Confinement,
    Mechanism,
    Missing,
    find_mechanism,
)
from conduck_service.executors.confinement.places import devices, system_paths
from conduck_service.executors.confinement.programs import is_within, program_paths

TEMPORARY = "tmp"
"""Name of the folder for temporary files, inside the turn's private one."""

_GIT = "GIT_CONFIG_GLOBAL"
_LOG = logging.getLogger(__name__)


class ConfinementError(Exception):
    """Raised when an engine has to be confined and cannot be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What config says about confinement.

    Attributes:
        confine: ``off``, ``auto`` or ``required``.
        read: More paths to read.
        write: More paths to write.
    """

    confine: str
    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()


def what_is_in_force(confine: str) -> str:
    """Return in words how engines with this value of the key are confined now.

    It looks at the machine only, and may run bubblewrap once.

    Returns:
        The mechanism, such as ``landlock (ABI 7)`` or ``bubblewrap``; else ``none``
        and the reason.
    """
    if confine == "off":
        return "none: it is off"
    found = find_mechanism()
    if isinstance(found, Missing):
        return f"none: {found.why}"
    return found.name


def mechanism_for(confine: str) -> Mechanism | None:
    """Return how an engine is to be confined; None when it runs without.

    Raises:
        ConfinementError: It is required, and this machine cannot do it.
    """
    if confine == "off":
        return None
    found = find_mechanism()
    if isinstance(found, Mechanism):
        return found
    if confine == "required":
        raise ConfinementError(found.why)
    _warn_once(found.why)
    return None


def confinement(
    wanted: Wanted,
    *,
    argv: tuple[str, ...],
    environment: Mapping[str, str],
    home: str | None,
    folders: Iterable[Path],
) -> Confinement | None:
    """Return what an engine may touch, or None when it runs without a confinement.

    Args:
        wanted: What config says; home parts of a preset are among its paths.
        argv: The program and the operator's arguments; no prompt.
        environment: The engine's own.
        home: The home of the user who runs the service.
        folders: Where it may write: its working folder and its turn's private one.

    Raises:
        ConfinementError: It is required, and this machine cannot do it.
    """
    mechanism = mechanism_for(wanted.confine)
    if mechanism is None:
        return None
    write = _apart(folders, wanted.write)
    writable = {Path(os.path.realpath(path)) for path in write}
    own = program_paths(argv, environment.get("PATH", os.defpath), home, writable)
    more = (path for path in wanted.read if not is_within(path, writable))
    return Confinement(
        read=(*system_paths(), *sorted(own), *more),
        write=write,
        use=devices(),
        wrapper=mechanism.wrapper,
    )


def _apart(folders: Iterable[Path], more: Iterable[Path]) -> tuple[Path, ...]:
    """Return the folders and those of more that lie in no other one.

    Whoever may write in a folder may put a link to anywhere in the place of what is
    in it, so that to open it by its name would open whatever the engine likes.
    """
    apart = list(folders)
    for path in sorted(more, key=lambda path: len(path.parts)):
        if not is_within(path, {Path(os.path.realpath(item)) for item in apart}):
            apart.append(path)
    return tuple(apart)


def confined_variables(
    scratch: Path, wanted: Wanted, environment: Mapping[str, str]
) -> dict[str, str]:
    """Return what a confined engine needs beside its variables, and make its folder.

    The usual folder for temporary files is everybody's, so it gets one of its own.
    Git gives up when the person's settings cannot be read; they may hold keys.

    Args:
        scratch: The turn's private folder.
        wanted: What config says.
        environment: The daemon's.

    Raises:
        OSError: The folder cannot be made.
    """
    temporary = scratch / TEMPORARY
    temporary.mkdir(mode=0o700, exist_ok=True)
    variables = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(temporary))
    settings = Path(environment.get("HOME") or "/", ".gitconfig")
    if {settings, *settings.parents}.isdisjoint((*wanted.read, *wanted.write)):
        variables[_GIT] = os.devnull
    return variables


@functools.cache
def _warn_once(why: str) -> None:
    _LOG.warning(
        "engines run unconfined, as this machine has no way to confine them: %s",
        why,
        extra={"action": "confine"},
    )
