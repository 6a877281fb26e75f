"""The environment of an engine: a safe baseline, then what config adds."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path

NAMES = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR")
PREFIXES = ("LC_",)
"""What an engine sees of the daemon's variables; everything else is withheld."""

TERM = "dumb"
"""No engine has a terminal, so none is to draw on one."""

RESERVED_PREFIXES = ("OS_", "OPEN_CONDUIT_", "CONDUCK_")
"""Variables that config may not set: the toolbelt's and the daemon's own."""

DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"

_TOOLBELT = "os"
_LIB = Path(__file__).parents[2]
_WITHHELD = ("OS_", "OPEN_CONDUIT_", "CONDUCK_FILES_DIR")


@cache
def toolbelt_folder() -> str | None:
    """Return the folder of the program ``os``; None in an installation without it.

    A package for a whole machine has a folder for it, which is on nobody else's PATH.
    Without one the folder that this program was called from comes first: beside an
    interpreter lie programs that no engine asked for.
    """
    folders = [Path(sysconfig.get_path("scripts")), Path(sys.executable).parent]
    if "/" in sys.argv[0]:
        folders.insert(0, Path(sys.argv[0]).absolute().parent)
    if _LIB.name == "lib":
        folders.insert(0, _LIB.parent / "bin")
    for folder in folders:
        program = folder / _TOOLBELT
        if program.is_file() and os.access(program, os.X_OK):
            return str(folder)
    return None


def baseline(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what every engine sees.

    It is a list of names that are known to be harmless, so a credential in the
    daemon's environment stays there.

    Keeps: B-ENV-05, B-ENV-06, B-ENV-07, B-ENV-27, B-NAME-02.
    """
    safe = {
        name: value
        for name, value in environment.items()
        if name in NAMES or name.startswith(PREFIXES)
    }
    return {**safe, "PATH": _baseline_path(environment), "TERM": TERM}


def engine_path(
    environment: Mapping[str, str],
    pass_env: Collection[str],
    config_env: Mapping[str, str],
) -> str:
    """Return where an engine's program is looked for, secrets left aside.

    Args:
        environment: The daemon's own.
        pass_env: The variables of it that the binding asks for.
        config_env: The binding's plain values.
    """
    if "PATH" in config_env:
        return config_env["PATH"]
    if "PATH" in pass_env and "PATH" in environment:
        return environment["PATH"]
    return _baseline_path(environment)


def _baseline_path(environment: Mapping[str, str]) -> str:
    folders = [toolbelt_folder() or "", environment.get("PATH") or DEFAULT_PATH]
    return ":".join(filter(None, folders))


def engine_environment(
    environment: Mapping[str, str],
    host_env: Mapping[str, str],
    config_env: Mapping[str, str],
    secret_env: Mapping[str, str],
) -> dict[str, str]:
    """Return the whole environment of a run, later layers winning.

    Variables of the toolbelt come from none of the layers, whatever a check has let
    through: they are given by the service, or there are none (B-ENV-03).

    Args:
        environment: The daemon's own.
        host_env: Variables of the daemon that the binding's pass_env names.
        config_env: The binding's plain values.
        secret_env: Resolved secret values by variable.
    """
    layers = {**baseline(environment), **host_env, **config_env, **secret_env}
    return {
        name: value for name, value in layers.items() if not name.startswith(_WITHHELD)
    }
