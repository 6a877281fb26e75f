"""Processes that cannot be told by their environment or parents, only by a number."""

from __future__ import annotations

import random
import subprocess


def rare_seconds() -> float:
    """Return a time to sleep that no other process on this machine sleeps."""
    return 50 + random.random()  # noqa: S311 - only has to be rare


def is_sleeping(seconds: float) -> bool:
    """Say whether a process with this time on its command line lives.

    The stub engine that was told to leave it behind is not meant.
    """
    shown = subprocess.check_output(["ps", "-A", "-ww", "-o", "stat=,args="], text=True)
    return any(
        str(seconds) in line and "stub_engine" not in line and line[0] != "Z"
        for line in shown.splitlines()
    )
