"""The public conformance checker: how it is run, and what its last line says."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SCRIPT_VARIABLE = "CONDUCK_CHECKER"
"""Names a conduck-connect.sh of this machine; without it only our probes run."""

PREFIX = "CONDUCK_CHECK_ADAPTER "

KNOWN_SCHEMAS = frozenset({3, 4})
"""Layouts whose fields mean what is read here: contract 1.7 and 1.10."""

SECONDS = 600


class SummaryError(Exception):
    """Raised when there is no summary, or one that this version cannot read."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary line of one run.

    Attributes:
        schema: The layout that the line says it has.
        fields: Everything on it by name; their order means nothing.
    """

    schema: int
    fields: Mapping[str, str]

    @property
    def exit(self) -> int:
        """The status that the checker ended with, by its own word."""
        return int(self.fields["exit"])


def parse_summary(output: str) -> Summary:
    """Return the summary in the output of a run; the last one counts.

    Raises:
        SummaryError: There is none, or its schema is not a known one.
    """
    lines = [line for line in output.splitlines() if line.startswith(PREFIX)]
    if not lines:
        raise SummaryError("the checker printed no summary")
    words = (word.partition("=") for word in lines[-1].split()[1:])
    fields = {name: value for name, _, value in words}
    schema = fields.get("schema", "")
    if not schema.isdecimal() or int(schema) not in KNOWN_SCHEMAS:
        raise SummaryError(f"the summary has the unknown schema {schema!r}")
    return Summary(int(schema), fields)


def script_at_hand() -> list[Path]:
    """Return the checker of this machine, if one is named."""
    name = os.environ.get(SCRIPT_VARIABLE, "")
    return [Path(name)] if name else []


def run_checker(
    script: Path, url: str, token: str, home: Path, *flags: str, **variables: str
) -> tuple[Summary, str]:
    """Run the checker against an adapter; return its summary and all it printed.

    Args:
        script: The checker.
        url: Base address of the adapter.
        token: Its bearer token.
        home: An empty folder, so that no saved profile is found.
        flags: ``--deep``, for one.
        variables: More of its environment, such as ``CONDUCK_FILES_URL``.

    Raises:
        SummaryError: It printed no summary, or its status is not what it says.
    """
    done = subprocess.run(
        ["bash", str(script), "--check-adapter", *flags, url],
        env=checker_environment(token, home) | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    summary = parse_summary(done.stdout)
    if summary.exit != done.returncode:
        raise SummaryError(f"the checker ended with {done.returncode}")
    return summary, done.stdout


def checker_environment(token: str, home: Path) -> dict[str, str]:
    """Return the whole environment of a run: with CI, it asks nothing (C-CHECK-11)."""
    return {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "TMPDIR": str(home),
        "CI": "1",
        "CONDUCK_TOKEN": token,
    }
