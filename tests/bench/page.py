"""Writes docs/reference/performance.md from the newest round of each part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.bench import config, engines, package
from tests.bench.lane.table import section
from tests.bench.round import FOLDER, Row
from tests.support.trace import REFERENCE

PAGE = REFERENCE / "performance.md"

HEAD = """# Speed and memory

Written by `make bench` from the newest file in `bench/`, which holds one file a round.
Every figure stands beside a peer that was measured in the same run, by turns with it.
"""

LIMITS = """
What limits the short turn: forking the warden and the engine, and starting `sh` and
`cat`, which the bare run pays too. What the service adds is one fork more, HTTP, JSON
and thread switches. A turn of a real engine takes seconds; there the service's share
is lost in the noise.

What limits memory: the body is held once as bytes, and its images once more as the
data URIs that the turn needs; one image at a time is decoded.
"""


CONFIG_HEAD = """
## Checking a config
"""

CONFIG_LIMITS = """
What limits the check: every entry is decoded once, and is looked at again in each
scope that inherits it, all of it in Python. What limits `--version`: importing click.
"""


ENGINES_HEAD = """
## Engines

The engines are real ones, and the model behind them is a script that answers at once.
An engine's own time is taken within the turn: a shell script stands in its place, which
notes when the engine begins and when it has ended. What the server behind `http` takes
itself is taken by asking it directly. Only what is installed where the round was taken
has a row.
"""

ENGINES_LIMITS = """
What limits our share: two processes to start, a home of the turn's own to make and to
clear away, and the rules of confinement, which are looked up for each turn. What limits
`http`: a connection of its own for each request, and a thread switch at each end.
"""


PACKAGE_HEAD = """
## The package for Debian

Taken by `scripts/roots` in minimal roots of each release, with systemd as process 1 and
no network.
"""

PACKAGE_LIMITS = """
What limits the start: importing, of the libraries and of the service itself. What
limits the size: more than half of it is bytecode, without which each start would
compile anew.
"""


def rounds(folder: Path = FOLDER) -> list[Path]:
    """Return the files of all rounds of chat, or of another part, oldest first."""
    return sorted(folder.glob("*.json"))


def read(path: Path) -> tuple[dict[str, Any], list[Row]]:
    """Return a round and its rows."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return content, [Row(**row) for row in content["rows"]]


def page() -> str:
    """Return the whole page."""
    parts = [HEAD, *_table(rounds()[-1]), LIMITS]
    if checks := rounds(config.FOLDER):
        parts += [CONFIG_HEAD, *_table(checks[-1]), CONFIG_LIMITS]
    if turns := rounds(engines.FOLDER):
        parts += [ENGINES_HEAD, *_table(turns[-1]), ENGINES_LIMITS]
    if packages := rounds(package.FOLDER):
        parts += [PACKAGE_HEAD, *_table(packages[-1]), PACKAGE_LIMITS]
    written, lane = "\n".join(parts), section()
    return f"{written}\n{lane}" if lane else written


def _table(path: Path) -> list[str]:
    """Return when and where a round was taken, and its rows."""
    content, rows = read(path)
    machine = content["machine"]
    versions = ", ".join(f"{name} {text}" for name, text in content["versions"].items())
    return [
        f"Taken {content['taken_at']} on {machine['system']}, {machine['processor']}, "
        f"{machine['cores']} cores, {machine['memory_gib']} GiB, Python "
        f"{machine['python']}; {versions}.",
        "",
        "| what | ours | peer | ratio | promised | more |",
        "| --- | --- | --- | --- | --- | --- |",
        *(line(row) for row in rows),
    ]


def line(row: Row) -> str:
    """Return one row of the table."""
    promised = f"at most {row.limit}" if row.limit else f"under {row.bound} {row.unit}"
    notes = ", ".join(f"{name} {value}" for name, value in row.notes.items())
    return (
        f"| {row.what} | {row.ours} {row.unit} | {row.peer} ({row.peer_name}) | "
        f"{row.ratio} | {promised}{'' if row.is_met else ' **missed**'} | {notes} |"
    )
