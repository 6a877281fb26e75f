"""Shared folders: what a folder must be that a file lane serves."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from conduck_service.base.diagnostics import Pointer
from conduck_service.extension.spec import Decoding, Mark

VARIABLE = "CONDUCK_FILES_DIR"
"""Names the shared folder of whoever names none in the config."""


class FolderRules:
    """The rules for shared folders of one config.

    Args:
        environment: Variables of the daemon.
        private: Folders that must not be in a shared one, and that it must not
            be in.

    Keeps: F-ROOT-05, F-ROOT-16.
    """

    def __init__(self, environment: Mapping[str, str], private: Iterable[Path]) -> None:
        self._named = environment.get(VARIABLE, "")
        home = Path(environment.get("HOME", ""))
        self._home = real(home) if home.is_absolute() else None
        self._private = [real(path) for path in private]

    def from_environment(self, into: Decoding) -> Path | Mark | None:
        """Return the real path of the folder that the variable names.

        It is None if none is named, and INVALID once it was refused.
        """
        if not self._named:
            return None
        if not Path(self._named).is_absolute():
            return into.refuse(
                (),
                "invalid_config",
                f"{VARIABLE} is not an absolute path",
                "write it from / on",
            )
        return self.judge(Path(self._named), (), VARIABLE, into)

    def judge(
        self, path: Path, at: Pointer, subject: str, into: Decoding
    ) -> Path | Mark:
        """Return the real path of a folder, or INVALID after refusing it.

        Args:
            path: An absolute path.
            at: Where it is named.
            subject: What names it, to begin a sentence with.
            into: Takes the diagnostic.
        """
        fault = self._fault(path)
        if fault is None:
            return real(path)
        message, remedy = fault
        return into.refuse(at, "invalid_config", f"{subject} {message}", remedy)

    def _fault(self, path: Path) -> tuple[str, str] | None:
        try:
            folder = real(path)
        except UnicodeEncodeError:
            return "holds characters that no path can have", "name another"
        if folder == Path("/") or (self._home and self._home.is_relative_to(folder)):
            return (
                "names the home folder, or a folder that the home folder is in",
                "name a folder that holds nothing but shared files",
            )
        if any(are_nested(folder, other) for other in self._private):
            return (
                "and the folder of the config or of the state are one in the other",
                "name a folder apart from both",
            )
        if "~" in path.parts:
            return "holds a ~, which stands for nothing here", "write the whole path"
        return _access_fault(folder)


def _access_fault(folder: Path) -> tuple[str, str] | None:
    # The methods of Path raise for what is out of reach; these say no.
    if os.path.isdir(folder):  # noqa: PTH112
        if os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            return None
        return (
            "names a folder that this user may not read, write and enter",
            "chmod u+rwx it, let this user's group in, or name another",
        )
    if os.path.lexists(folder):
        return "names something that is no folder", "name a folder"
    return (
        "names a folder that is not there, or out of reach",
        "make it with mkdir -m 700 (or 2770 for two users of a group), or name another",
    )


def are_nested(one: Path, other: Path) -> bool:
    """Say whether two real paths are the same, or one is inside the other."""
    return one.is_relative_to(other) or other.is_relative_to(one)


def real(path: Path) -> Path:
    """Return a path with every link resolved; nothing need be there."""
    # Not Path.resolve, which raises for a loop of links before Python 3.13.
    return Path(os.path.realpath(path))
