"""Where the config file and the state are: flag, variable, default."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

CONFIG_VARIABLE = "OPEN_CONDUIT_CONFIG"
STATE_VARIABLE = "OPEN_CONDUIT_DATA_DIR"
FOLDER = "open-conduit"


class PathError(Exception):
    """Raised when a place cannot be made out.

    Attributes:
        reason: Why.
        remedy: What to do about it.
    """

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}; {remedy}")
        self.reason = reason
        self.remedy = remedy


def config_path(flag: str | None, environment: Mapping[str, str], start: Path) -> Path:
    """Return the path of the config file, which need not exist.

    Its folder is followed to where it really is, once, so that links that
    change later change nothing. The file's own name is kept: a link in its
    place is refused when it is read.

    Args:
        flag: Value of ``--config``, if it was given.
        environment: Variables of the process.
        start: Absolute folder that the process was started in.

    Raises:
        PathError: There is neither an explicit path nor a home folder.

    Keeps: B-PATH-01, B-PATH-02, B-PATH-05, B-PATH-06, B-PATH-07, B-PATH-11,
    B-PATH-12, B-PATH-21, B-PATH-22.
    """
    path = _explicit(flag, CONFIG_VARIABLE, "--config", environment)
    if path is None:
        base = _base("XDG_CONFIG_HOME", ".config", "--config", environment)
        path = base / FOLDER / "config.json"
    path = start / path
    return _real(path.parent) / path.name


def state_dir(flag: str | None, environment: Mapping[str, str], start: Path) -> Path:
    """Return the real path of the state directory, which need not exist.

    Args:
        flag: Value of ``--data-dir``, if it was given.
        environment: Variables of the process.
        start: Absolute folder that the process was started in.

    Raises:
        PathError: There is neither an explicit path nor a home folder.

    Keeps: B-PATH-03, B-PATH-04, B-PATH-05, B-PATH-08, B-PATH-09, B-PATH-11,
    B-PATH-12, B-PATH-21, B-PATH-22.
    """
    path = _explicit(flag, STATE_VARIABLE, "--data-dir", environment)
    if path is None:
        path = _base("XDG_STATE_HOME", ".local/state", "--data-dir", environment)
        path /= FOLDER
    return _real(start / path)


def _explicit(
    flag: str | None, variable: str, option: str, environment: Mapping[str, str]
) -> Path | None:
    if flag is None:
        text = environment.get(variable, "")
        return Path(text) if text else None
    if not flag:
        raise PathError(
            f"the path after {option} is empty", "write a path, or leave it"
        )
    return Path(flag)


def _base(
    variable: str, below_home: str, option: str, environment: Mapping[str, str]
) -> Path:
    base = Path(environment.get(variable, ""))
    if base.is_absolute():
        return base
    home = Path(environment.get("HOME", ""))
    if not home.is_absolute():
        raise PathError(
            "HOME is not set to an absolute path", f"set it, or use {option}"
        )
    return home / below_home


def _real(path: Path) -> Path:
    # Unlike Path.resolve, this takes a loop of links as it is in every version.
    return Path(os.path.realpath(path))
