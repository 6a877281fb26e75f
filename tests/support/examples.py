"""Checks the shipped example configs with the program, as a newcomer has them.

Each is copied into a private folder with everything in it that it names, and
``open-conduit config check`` has the word. The example of the sample package is one of
them: its types can do all that a config can ask for, so what is asked of types is
checked too.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.commands import run
from tests.support.sample_package import sample_environment
from tests.support.trace import ROOT

FOLDER = ROOT / "docs" / "howto" / "examples"
SAMPLE = ROOT / "tests/support/sample_package/example.json"
HOME = "/home/me"
FRAGMENT = Path(".open-conduit", "config.json")


def shipped() -> list[Path]:
    """Return the config files of the examples."""
    return [*sorted(FOLDER.glob("*.json")), *sorted(FOLDER.glob("*/config.json"))]


def placed(example: Path, root: Path) -> Path:
    """Copy an example into a private folder; return its config file there.

    Everything of ``/home/me`` lies below the folder then, and what the config names
    is there: folders, and programs that do nothing.
    """
    config = root / "config"
    config.mkdir(mode=0o700)
    if example.name == "config.json":  # a folder of its own comes with it
        shutil.copytree(example.parent, config, dirs_exist_ok=True)
    shutil.copy(example, config / "config.json")
    for file in config.rglob("*.json"):
        text = file.read_text(encoding="utf-8").replace(HOME, str(root / "me"))
        file.write_text(text, encoding="utf-8")
        file.chmod(0o600)
        base = file.parents[1] if file.match(str(FRAGMENT)) else config
        _make_what_is_named(json.loads(text), base)
    config.chmod(0o700)  # copytree gave it the mode of the example's folder
    return config / "config.json"


def _make_what_is_named(value: Any, base: Path) -> None:
    for key, item in _pairs(value):
        if key in ("root", "cwd"):
            (base / item).mkdir(mode=0o700, parents=True, exist_ok=True)
        if key == "argv":
            program = base / item[0]
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text("#!/bin/sh\n", encoding="utf-8")
            program.chmod(0o700)


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, (dict, list)):
            yield from _pairs(item)


def check(example: Path, root: Path) -> subprocess.CompletedProcess[str]:
    """Run the program's check of an example in a folder; the answer is JSON."""
    return check_placed(placed(example, root), root)


def check_placed(file: Path, root: Path) -> subprocess.CompletedProcess[str]:
    """Run the program's check of a config file, with the sample package there."""
    environment = {**sample_environment(root), "HOME": str(root / "me")}
    return run("config", "check", str(file), "--json", environment=environment)


def main(files: list[str]) -> int:
    """Check these files, or all examples; return 0 when nothing is wrong."""
    status = 0
    for example in [Path(file) for file in files] or [*shipped(), SAMPLE]:
        if not example.is_file():
            status = 1
            print(f"bad  {example}\nthere is no such file")
            continue
        with tempfile.TemporaryDirectory() as folder:
            done = check(example, Path(folder))
        print("bad " if done.returncode else "good", example)
        if done.returncode:
            status = 1
            print(done.stdout + done.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
