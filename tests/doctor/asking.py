"""``doctor`` and ``selftest`` as a person calls them, and what they said."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.commands import run


@dataclass(frozen=True, slots=True)
class Report:
    """What a command said.

    Attributes:
        status: Its exit status.
        rows: Its rows.
        text: All that it printed.
    """

    status: int
    rows: list[dict[str, Any]]
    text: str

    @property
    def codes(self) -> set[str]:
        """The codes of all warnings and failures."""
        return {row["code"] for row in self.rows if row["level"] in {"warn", "fail"}}

    def row(self, code: str) -> dict[str, Any]:
        """Return the one row of a code."""
        (found,) = [row for row in self.rows if row["code"] == code]
        return found

    def is_fine(self, check: str) -> bool:
        """Say whether a check was made and found nothing."""
        levels = [row["level"] for row in self.rows if row["check"] == check]
        codes = [row["code"] for row in self.rows if row["check"] == check]
        return bool(levels) and set(levels) == {"ok"} and set(codes) == {"ok"}


def places(root: Path) -> tuple[str, ...]:
    """Return the options for a service whose files lie in a folder."""
    config = root / "config" / "config.json"
    return ("--config", str(config), "--data-dir", str(root / "state"))


def doctor(
    root: Path, *options: str, environment: Mapping[str, str] | None = None
) -> Report:
    """Return what ``doctor`` finds."""
    done = run("doctor", "--json", *places(root), *options, environment=environment)
    assert done.stdout, done.stderr
    answer = json.loads(done.stdout)
    assert answer["ok"] == (done.returncode == 0)
    text = done.stdout + done.stderr
    return Report(done.returncode, answer["checks"], text)


def selftest(root: Path, *options: str) -> Report:
    """Return what ``selftest`` finds; the verdict stands as the level."""
    done = run("selftest", "--json", *places(root), *options)
    assert done.stdout, done.stderr
    answer = json.loads(done.stdout)
    assert answer["ok"] == (done.returncode == 0)
    words = {"pass": "ok", "fail": "fail", "skipped": "info"}
    rows = [
        {**row, "level": words[row["verdict"]], "code": row["case"]}
        for row in answer["cases"]
    ]
    return Report(done.returncode, rows, done.stdout + done.stderr)
