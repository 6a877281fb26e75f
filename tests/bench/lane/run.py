"""One round of the lane: every measure, by turns, then what is left as a file."""

from __future__ import annotations

import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tests.bench.lane import servers, tools, world
from tests.bench.lane.client import Result
from tests.bench.lane.figures import PROMISES, row
from tests.bench.lane.measures import MEASURES, Measure
from tests.bench.lane.memory import growths
from tests.bench.lane.rows import LaneRow
from tests.bench.lane.servers import Server
from tests.bench.lane.single import held_row, memory_rows, sighting_rows
from tests.bench.lane.table import LANE
from tests.bench.round import machine

DISK = "/var/tmp"
"""Where the servers' folders are made; ``/tmp`` may be in memory."""


def measure(most_rounds: int = 5) -> tuple[list[LaneRow], dict[str, str]]:
    """Measure everything; return the rows and the versions of what was measured.

    Args:
        most_rounds: Rounds of each measure at most; fewer are for trying it out.
    """
    program = tools.rclone()
    with (
        tempfile.TemporaryDirectory(prefix="conduck-bench.", dir=DISK) as root,
        servers.started(Path(root), program) as running,
    ):
        # First, since memory that a server once took and kept would hide its growth.
        grown = {item.name: growths(item) for item in running}
        os.sync()
        rows = speed_rows(running, most_rounds)
        rows += sighting_rows({item.name: world.sightings(item) for item in running})
        held = {item.name: world.listings_while_held(item) for item in running}
        rows.append(held_row(held))
        rows += memory_rows({item.name: item.peak for item in running}, grown)
    names = ("conduck-service", "wsgidav", "cheroot")
    versions = {name: version(name) for name in names}
    if program is not None:
        versions["rclone"] = tools.version_of(program)
    return rows, versions


def speed_rows(running: Sequence[Server], most_rounds: int) -> list[LaneRow]:
    """Return the rows of all measures that are taken by turns."""
    results: dict[str, dict[str, list[Result]]] = {}
    for item in MEASURES:
        taken: dict[str, list[Result]] = defaultdict(list)
        results[item.name] = taken
        for _ in range(min(item.rounds, most_rounds)):
            for server in running:
                taken[server.name].append(_take(item, server))
    rows = [row(promise, results[promise.measure]) for promise in PROMISES]
    for one in rows:
        print(
            f"{one.name}: {one.ours} {one.unit}, {one.rclone}, {one.stock}", flush=True
        )
    return rows


def _take(item: Measure, server: Server) -> Result:
    if item.writes:
        os.sync()
    return item.take(server)


def save(rows: list[LaneRow], versions: dict[str, str], load: float) -> Path:
    """Write a round to a file of its own and return the file.

    Args:
        rows: What was measured.
        versions: Of what was measured.
        load: Of the machine before, as :func:`os.getloadavg` gives it.
    """
    now = datetime.now(UTC)
    content = {
        "taken_at": now.isoformat(timespec="seconds"),
        "machine": machine() | {"file_system": file_system(DISK), "load": load},
        "versions": versions,
        "rows": [asdict(row) for row in rows],
    }
    LANE.mkdir(parents=True, exist_ok=True)
    path = LANE / f"{now:%Y%m%dT%H%M%SZ}.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


def file_system(folder: str) -> str:
    """Return the type of the file system that a folder lies on."""
    lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    mounts = [line.split()[1:3] for line in lines]
    above = [item for item in mounts if Path(folder).is_relative_to(item[0])]
    return max(above, key=lambda item: len(item[0]))[1]
