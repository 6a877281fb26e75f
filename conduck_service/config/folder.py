"""The shared folder that the environment names for a scope's file lane."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from conduck_service.extension.spec import Decoding, Mark

VARIABLE = "CONDUCK_FILES_DIR"


def shared_folder(
    environment: Mapping[str, str], private: Iterable[Path], into: Decoding
) -> Path | Mark | None:
    """Return the real path of the shared folder, or None if none is named.

    Args:
        environment: Variables of the daemon.
        private: Folders that must not be in it, and that it must not be in.
        into: Takes a diagnostic, if the folder is refused; INVALID is returned
            then.
    """
    text = environment.get(VARIABLE, "")
    if not text:
        return None
    if not Path(text).is_absolute():
        return _refuse(into, "is not an absolute path", "write it from / on")
    folder = _real(Path(text))
    # Path.is_dir() raises for a folder that is out of reach.
    if not os.path.isdir(folder):  # noqa: PTH112 - it says no instead
        return _refuse(
            into,
            "names no folder that can be entered",
            "create the folder, let this user enter it, or name another",
        )
    home = Path(environment.get("HOME", ""))
    if folder == Path("/") or (
        home.is_absolute() and _real(home).is_relative_to(folder)
    ):
        return _refuse(
            into,
            "names the home folder, or a folder that the home folder is in",
            "name a folder that holds nothing but shared files",
        )
    for other in map(_real, private):
        if folder.is_relative_to(other) or other.is_relative_to(folder):
            return _refuse(
                into,
                "and the folder of the config or of the state are one in the other",
                "name a folder apart from both",
            )
    return folder


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _refuse(into: Decoding, message: str, remedy: str) -> Mark:
    return into.refuse((), "invalid_config", f"{VARIABLE} {message}", remedy)
