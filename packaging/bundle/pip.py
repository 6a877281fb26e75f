"""How pip is called: never with a person's settings, never asking for more."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

OLDEST = "3.11"
"""The oldest Python that the bundle is for."""

UNIVERSAL = (
    *("--only-binary", ":all:", "--platform", "any", "--abi", "none"),
    *("--implementation", "py", "--python-version", OLDEST),
)
"""Take only wheels that fit every Python and every machine."""


def pip(*words: str | Path, more: Mapping[str, str] | None = None) -> None:
    """Run pip.

    Args:
        words: Command and arguments.
        more: Variables beside those of this process.

    Raises:
        subprocess.CalledProcessError: It failed; it has said why.
    """
    program = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    environment = {**os.environ, **(more or {})}
    subprocess.run((*program, *map(str, words)), check=True, env=environment)
