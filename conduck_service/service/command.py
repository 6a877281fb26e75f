"""What a person's own service has to run: this program, found again after a login."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

_NAMES = ("open-conduit", "conduck")


def own_program(
    called: str, interpreter: str, environment: Mapping[str, str], start: Path
) -> tuple[str, ...]:
    """Return the beginning of an argv that runs this program.

    Links are kept: what installs programs lets one name lead to the newest version.

    Args:
        called: What this process was called by.
        interpreter: Its interpreter.
        environment: Its variables.
        start: The folder that it was started in.
    """
    if Path(called).name in _NAMES:
        found = (
            called if "/" in called else shutil.which(called, path=_path(environment))
        )
        if found is not None:
            return (os.path.normpath(start / found),)
    return (interpreter, "-m", "conduck_service")


def _path(environment: Mapping[str, str]) -> str:
    return environment.get("PATH", os.defpath)
