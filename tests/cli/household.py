"""A config on the disk for commands to look at and to change, and calls of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.secrets.keyrings import NO_KEYRING
from tests.support.commands import run, written
from tests.support.documents import document
from tests.support.service import PROGRAM, Stub, binding, free_port, variables

CANARY = "canary-value-4f2a"
"""Stands where nothing may be shown."""


@dataclass(frozen=True, slots=True)
class Household:
    """A config file below a folder.

    Attributes:
        root: Holds config/ and folder/.
        file: The config file.
    """

    root: Path
    file: Path

    @property
    def value(self) -> Any:
        """What the file holds, parsed."""
        return json.loads(self.file.read_text("utf-8"))

    @property
    def last_good(self) -> Path:
        """The copy of the text before the last edit."""
        return self.file.with_name("config.json.last-good")

    def config(
        self, *words: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run ``config`` with these words on the file."""
        return run(
            "config",
            *words,
            environment={"OPEN_CONDUIT_CONFIG": str(self.file), **(environment or {})},
            cwd=self.root,
        )


def household(root: Path) -> Household:
    """Write the config of a scope ``home`` with a binding ``engine``."""
    engine = binding(Stub(("true",), root), env={"CANARY": CANARY}, model="large")
    value = document({"agent": engine}, free_port(), settings={"concurrency": 2})
    value["scopes"][0]["secret_refs"]["spare"] = f"cmd:echo {CANARY}"
    # Pretty, as people write it, and with one key that is not where we put it.
    file = written(root, value)
    file.write_text(json.dumps(value, indent=4), encoding="utf-8")
    return Household(root, file)


def as_plain_user() -> tuple[str, ...]:
    """Return the beginning of an argv that runs the rest as somebody else than root.

    The files keep their owner: it is a user namespace, which needs Linux.
    """
    if os.geteuid():
        return ()
    program = shutil.which("unshare")
    argv = (program or "", "-U", "--map-user=1000", "--map-group=1000")
    if program is None or subprocess.run([*argv, "true"], check=False).returncode:
        pytest.skip("root cannot be a plain user here")
    return argv


def init_argv(*words: str) -> list[str]:
    """Return the argv of ``init`` as a plain user."""
    return [*as_plain_user(), *PROGRAM, "init", *words]


def init_variables(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return variables with a home folder and, unless given, no keyring."""
    return variables({"HOME": str(home), **NO_KEYRING, **(more or {})})


def init(
    home: Path,
    *words: str,
    environment: Mapping[str, str] | None = None,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Run ``init`` as a plain user with a home folder."""
    options.setdefault("stdin", subprocess.DEVNULL)
    if "input" in options:
        del options["stdin"]
    return subprocess.run(
        init_argv(*words),
        env=init_variables(home, environment),
        cwd=options.pop("cwd", home),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        **options,
    )


def engine(folder: Path, name: str = "agent.sh", answer: str = "pong") -> Path:
    """Write an engine that answers with a word and its arguments."""
    file = folder / name
    file.write_text(f'#!/bin/sh\ncat >/dev/null\necho "{answer} $*"\n')
    file.chmod(0o755)
    return file
