"""The operator command as a process, and what files it left behind."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.support.service import PROGRAM, TOKEN, variables, write_private


def run(
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run ``open-conduit`` with these arguments to its end."""
    return subprocess.run(
        [*PROGRAM, *arguments],
        env=variables(environment),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def written(root: Path, value: Any) -> Path:
    """Write a config with its folders and secrets; return the config file."""
    for name in ("config", "folder"):
        (root / name).mkdir(mode=0o700, exist_ok=True)
    file = root / "config" / "config.json"
    write_private(file, value)
    write_private(root / "config" / "secrets.json", {"chat_token": TOKEN})
    return file


def problems(root: Path, value: Any) -> list[dict[str, Any]]:
    """Return what ``config check`` finds wrong; it must refuse the config."""
    done = run("config", "check", str(written(root, value)), "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert answer["valid"] is False
    found: list[dict[str, Any]] = answer["problems"]
    return found


def tree(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return every file below a folder with its mode, time and bytes."""
    return {
        str(path.relative_to(root)): (
            path.stat().st_mode,
            path.stat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted(root.rglob("*"))
    }


def found_in(root: Path, needles: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield each file below a folder with each needle that it holds.

    Names of files are looked at too.
    """
    wanted = list(needles)
    for path in sorted(root.rglob("*")):
        text = os.fsencode(str(path.relative_to(root)))
        text += path.read_bytes() if path.is_file() else b""
        for needle in wanted:
            if needle in text:
                yield str(path), needle
