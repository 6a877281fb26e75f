"""``open-conduit config check``, run as a process on a written document."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.service import PROGRAM, prepared


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the command said: exit status, and code by the pointer of each error."""

    status: int
    errors: Mapping[str, str]


def check_config(root: Path, config: dict[str, Any], **variables: str) -> Verdict:
    """Write a document into an empty folder and have the command check it."""
    service = prepared(root, config)
    done = subprocess.run(
        [*PROGRAM, "config", "check", "--json", str(root / "config/config.json")],
        capture_output=True,
        check=False,
        env={**service.environment, **variables},
        timeout=30,
    )
    problems = json.loads(done.stdout)["problems"]
    errors = {row["path"]: row["code"] for row in problems if row["level"] == "error"}
    return Verdict(done.returncode, errors)


CHAT = "scopes/0/extensions/0/config"
"""Pointer of the chat entry's config in the documents of these tests."""
