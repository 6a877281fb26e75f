"""Where a user's engines are, and the PATH with which a service finds them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conduck_service.executors.presets import PRESETS
from conduck_service.service.account import Account
from conduck_service.service.programs import Programs
from conduck_service.service.refusal import RefusedError

COMPANIONS = ("node", "bun", "uv")
"""What engines are run by, or run in their turn."""

_WANTED = (*(preset.program for preset in PRESETS), *COMPANIONS)

_SYSTEM = ("/usr/local/bin", "/usr/bin", "/bin")
_MAC = ("/opt/homebrew/bin", *_SYSTEM, "/usr/sbin", "/sbin")

_MARK = "conduck-path"
_ASK = f"printf '{_MARK}\\0'; /usr/bin/env -0"
_FIND = 'for name; do command -v -- "$name" || echo; done'
_LOGIN_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Found:
    """What a user has.

    Attributes:
        engines: Engines by the names of their programs.
        companions: What they are run by.
    """

    engines: Mapping[str, Path]
    companions: Mapping[str, Path]

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders of all of them, each once."""
        programs = (*self.engines.values(), *self.companions.values())
        return tuple(dict.fromkeys(str(program.parent) for program in programs))


def find_own(path: str) -> Found:
    """Return what lies on the PATH of this process."""
    places = ((name, shutil.which(name, path=path)) for name in _WANTED)
    return _found({name: place for name, place in places if place is not None})


def find_in_login(account: Account, programs: Programs) -> Found:
    """Return what a user finds in a terminal, asked as that user.

    The shell is asked as an interactive one: Node's version managers, for one, write
    themselves where other shells do not look.
    """
    home = account.home
    path = f"{home}/.local/bin:{_login_path(account, programs)}:{home}/.claude/local"
    ran = programs.run(
        ("/bin/sh", "-c", _FIND, "sh", *_WANTED),
        account=account,
        environment={**account.environment, "PATH": path},
        seconds=_LOGIN_SECONDS,
    )
    return _found(dict(zip(_WANTED, ran.output.split("\n"), strict=False)))


def _login_path(account: Account, programs: Programs) -> str:
    """Return the PATH of a login; the system's where no shell says one."""
    for shell in dict.fromkeys((account.login_shell, "/bin/sh")):
        ran = programs.run(
            (shell, "-l", "-i", "-c", _ASK), account=account, seconds=_LOGIN_SECONDS
        )
        # What a login prints of its own accord stands in front of the mark.
        _before, mark, variables = ran.output.rpartition(f"{_MARK}\0")
        for line in variables.split("\0") if mark else ():
            if line.startswith("PATH="):
                return line.removeprefix("PATH=")
    return ":".join(_SYSTEM)


def _found(places: Mapping[str, str]) -> Found:
    good = {name: Path(place) for name, place in places.items() if _is_good(place)}
    return Found(
        {name: place for name, place in good.items() if name not in COMPANIONS},
        {name: place for name, place in good.items() if name in COMPANIONS},
    )


def _is_good(place: str) -> bool:
    return place.startswith("/") and ":" not in place and place.isprintable()


def search_path(home: Path, found: Found, *, is_mac: bool = False) -> str:
    """Return a PATH for the service: the user's, the engines' and the system's."""
    system = _MAC if is_mac else _SYSTEM
    own = (folder for folder in found.folders if folder not in system)
    return ":".join(dict.fromkeys((f"{home}/.local/bin", *own, *system)))


def checked_path(text: str) -> str:
    """Return a PATH that was given.

    Raises:
        RefusedError: Not all of it are absolute folders.
    """
    folders = [folder for folder in text.split(":") if folder]
    check_folders("--path", folders)
    return ":".join(folders)


def check_folders(option: str, folders: Sequence[str]) -> None:
    """Refuse what no service file can hold, and relative paths.

    Raises:
        RefusedError: There is something of that kind, or nothing at all.
    """
    if not folders or not all(
        folder.startswith("/") and folder.isprintable() for folder in folders
    ):
        raise RefusedError(
            f"{option}: a folder is not absolute, or has odd characters",
            "write whole paths, which begin with a slash",
        )
