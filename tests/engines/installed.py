"""Real engines for tests: their packages, installed once for a machine."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.presets.recording import BY_NAME, ENGINES, about, program_of

WANTED = os.environ.get("ENGINES_WANTED", "").split()
"""Engines that have to be there; without the variable, those that are."""

SECONDS = 300.0
"""For one install."""

EACH = sorted(BY_NAME)
"""Every engine."""


def need(engine: str) -> Path:
    """Return the program of an engine, or skip the test when nobody wants it.

    With $ENGINES_WANTED the named ones are installed, others are skipped. Of tests
    that run at once the first installs, and the others wait.
    """
    program = program_of(engine)
    if WANTED and engine not in WANTED:
        pytest.skip(f"{engine} is none of $ENGINES_WANTED")
    if not WANTED:
        if not program.exists():
            pytest.skip(f"{engine} is not installed in $ENGINES_FOLDER")
        return program
    ENGINES.mkdir(parents=True, exist_ok=True)
    with (ENGINES / f"{engine}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            install(engine)
    return program


def install(engine: str) -> None:
    """Install the package of an engine, in the version of its golden cases."""
    known = about(engine)
    folder = ENGINES / engine
    folder.mkdir(parents=True, exist_ok=True)
    kind, _, package = known["package"].partition(":")
    if kind == "npm":
        npm = shutil.which("npm")
        assert npm is not None, "npm is needed for this engine"
        _run([npm, "install", "--no-fund", "--no-audit", package], folder)
    else:
        # Some need a newer Python than the oldest that the service runs with.
        _run([known.get("python", sys.executable), "-m", "venv", "."], folder)
        _run(["bin/pip", "install", "--quiet", *package.split()], folder)
    if "setup" in known:
        _run(["/bin/sh", "-c", known["setup"]], folder)


def _run(argv: list[str], folder: Path) -> None:
    subprocess.run(argv, cwd=folder, check=True, timeout=SECONDS, capture_output=True)
