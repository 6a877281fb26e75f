"""WebDAV programs for tests: where they are, and how each is told what to do.

They are looked for in the folders of ``CONDUCK_TOOLS`` (parted by colons), then in
``PATH``. A test that needs one which is nowhere is skipped and says so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

USER = "conduck"
SECONDS = 50


def find_tool(name: str) -> Path | None:
    """Return where a program is, None if it is nowhere."""
    folders = (os.environ.get("CONDUCK_TOOLS", ""), os.environ.get("PATH", ""))
    found = shutil.which(name, path=os.pathsep.join(filter(None, folders)))
    return None if found is None else Path(found)


def need_tool(name: str) -> Path:
    """Return where a program is; skip the test if it is nowhere."""
    found = find_tool(name)
    if found is None:
        pytest.skip(f"{name} is neither in CONDUCK_TOOLS nor in PATH")
    return found


def lane_document(port: int, **config: Any) -> dict[str, Any]:
    """Return a config document that has a file lane and nothing else.

    Args:
        port: Of the lane.
        config: More keys of the entry's config.
    """
    entry = {
        "namespace": "test_files",
        "scope": "home",
        "port": port,
        "root": "../folder",
        "mode": "0700",
        "password_secret": "files_password",
        **config,
    }
    scope = {
        "id": "home",
        "name": "Test",
        "secret_refs": {"files_password": "file:files_password"},
        "bindings": [],
        "routes": [],
        "extensions": [
            {
                "name": "files",
                "type": "conduck_files",
                "secret_names": ["files_password"],
                "config": entry,
            }
        ],
    }
    return {"version": 1, "settings": {}, "scopes": [scope]}


@dataclass(frozen=True, slots=True)
class Rclone:
    """A configured rclone.

    Attributes:
        program: The executable.
        environment: Its variables; they hold the whole config.
    """

    program: Path
    environment: dict[str, str] = field(repr=False)

    def run(self, *arguments: str) -> str:
        """Run a command that must succeed; return what it printed."""
        done = self.attempt(*arguments)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def attempt(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command, once, whatever becomes of it."""
        return subprocess.run(
            [self.program, "--retries", "1", "--low-level-retries", "1", *arguments],
            check=False,
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=SECONDS,
        )


def rclone(home: Path, url: str, password: str) -> Rclone:
    """Return rclone with one remote, ``lane:``; skip the test without rclone."""
    program = need_tool("rclone")
    obscured = subprocess.run(
        [program, "obscure", "-"],
        check=True,
        input=password,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    ).stdout.strip()
    environment = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "RCLONE_CONFIG": "/dev/null",
        "RCLONE_CONFIG_LANE_TYPE": "webdav",
        "RCLONE_CONFIG_LANE_URL": url,
        "RCLONE_CONFIG_LANE_VENDOR": "other",
        "RCLONE_CONFIG_LANE_USER": USER,
        "RCLONE_CONFIG_LANE_PASS": obscured,
    }
    return Rclone(program, environment)


def cadaver(home: Path, url: str, password: str, commands: Sequence[str]) -> str:
    """Run a session of cadaver; return what it printed.

    Args:
        home: An empty folder, for ``.netrc``; also where files are put and got.
        url: Of the lane.
        password: Of the user ``conduck``.
        commands: What a person would type.
    """
    program = need_tool("cadaver")
    netrc = home / ".netrc"
    netrc.write_text(
        f"machine 127.0.0.1 login {USER} password {password}\n", encoding="ascii"
    )
    netrc.chmod(0o600)
    done = subprocess.run(
        [program, url],
        check=False,
        input="\n".join([*commands, "quit", ""]),
        capture_output=True,
        text=True,
        cwd=home,
        env={"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C"},
        timeout=SECONDS,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout
