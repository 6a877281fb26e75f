"""The property list of launchd's agent for a person's own service."""

from __future__ import annotations

import plistlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from conduck_service.service.names import LABEL

_UMASK = 0o077
"""As a number: users of a Mac share a group, which is to see nothing."""

_DESCRIPTORS = 4096
"""The usual 256 are too few for a lane and its turns."""


def agent_file(home: Path) -> Path:
    """Return where launchd looks for the agent of a person."""
    return home / "Library/LaunchAgents" / f"{LABEL}.plist"


def log_file(home: Path) -> Path:
    """Return where the agent's lines go."""
    return home / "Library/Logs/conduck.log"


def agent(argv: Sequence[str], variables: Mapping[str, str], home: Path) -> bytes:
    """Return the property list.

    Everything is spelled out: launchd expands neither ``~`` nor variables.

    Args:
        argv: What it runs; the program by its whole path.
        variables: Those that it gets, PATH among them.
        home: The person's.
    """
    log = str(log_file(home))
    keys = {
        "Label": LABEL,
        "ProgramArguments": list(argv),
        "EnvironmentVariables": {"LANG": "en_US.UTF-8", **variables},
        "RunAtLoad": True,
        # Another condition beside it would restart it after a clean end too.
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 30,
        # Running turns get 10 seconds, what they leave behind is ended in 40 more.
        "ExitTimeOut": 60,
        # The usual ones slow down the engines as well.
        "ProcessType": "Interactive",
        "Umask": _UMASK,
        "WorkingDirectory": str(home),
        "StandardOutPath": log,
        "StandardErrorPath": log,
        "SoftResourceLimits": {"NumberOfFiles": _DESCRIPTORS},
    }
    return plistlib.dumps(keys, sort_keys=False)
