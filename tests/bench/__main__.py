"""Run the measurements, write the rounds and the page, say what was missed.

usage: python -m tests.bench [chat] [config] [engines] [lane] [package]; all of them
without a word. The page keeps the newest round of a part that is not run.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.bench import (
    config,
    engines,
    memory,
    models,
    package,
    page,
    turns,
    upstream,
)
from tests.bench.lane import run as lane
from tests.bench.round import FOLDER, Row, save

MEASUREMENTS: dict[str, Callable[[Path], Row]] = {
    "turn_short": turns.short_turn,
    "turn_second": turns.second_turn,
    "models_under_load": models.models_under_load,
    "large_request": lambda root: memory.large_request(root, 1),
    "two_large_requests": lambda root: memory.large_request(root, 2),
}


def chat_round() -> list[str]:
    """Measure chat; return the names of the promises that were missed."""
    return _round(MEASUREMENTS, FOLDER)


def config_round() -> list[str]:
    """Measure the check of configs; return the names of the missed promises."""
    return _round(config.MEASUREMENTS, config.FOLDER)


def engines_round() -> list[str]:
    """Measure turns of engines; return the names of the promises that were missed."""
    return _round(engines.MEASUREMENTS | upstream.MEASUREMENTS, engines.FOLDER)


def _round(
    measurements: Mapping[str, Callable[[Path], Row]], folder_of_rounds: Path
) -> list[str]:
    rows = []
    for name, measure in measurements.items():
        with tempfile.TemporaryDirectory(prefix="conduck-bench.") as folder:
            row = measure(Path(folder))
        print(f"{name}: {row.ours} {row.unit}, ratio {row.ratio}", flush=True)
        rows.append(row)
    save(rows, list(measurements), folder_of_rounds)
    return [row.name for row in rows if not row.is_met]


def lane_round() -> list[str]:
    """Measure the file lane; return the names of the promises that were missed."""
    load = round(os.getloadavg()[0], 1)
    rows, versions = lane.measure()
    lane.save(rows, versions, load)
    return [row.name for row in rows if not row.is_met]


def package_round() -> list[str]:
    """Take over what was measured in roots; return the missed promises' names."""
    rows = package.rows(package.measured())
    if not rows:
        print("package: nothing was measured; scripts/roots does it, as root")
        return []
    save(rows, [row.name for row in rows], package.FOLDER)
    return [row.name for row in rows if not row.is_met]


PARTS = {
    "lane": lane_round,
    "chat": chat_round,
    "config": config_round,
    "engines": engines_round,
    "package": package_round,
}


def main(words: list[str]) -> int:
    """Measure; return 1 when a promise is missed, 2 for a part that is none."""
    if unknown := set(words) - set(PARTS):
        print(f"no such part: {', '.join(sorted(unknown))}; there are {list(PARTS)}")
        return 2
    missed = [name for part in words or PARTS for name in PARTS[part]()]
    page.PAGE.write_text(page.page(), encoding="utf-8")
    for name in missed:
        print(f"missed: {name}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
