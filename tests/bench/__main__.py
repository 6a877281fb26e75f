"""Run every measurement, write the round and the page, say what was missed."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.bench import memory, models, page, turns
from tests.bench.round import Row, save

MEASUREMENTS: dict[str, Callable[[Path], Row]] = {
    "turn_short": turns.short_turn,
    "turn_second": turns.second_turn,
    "models_under_load": models.models_under_load,
    "large_request": lambda root: memory.large_request(root, 1),
    "two_large_requests": lambda root: memory.large_request(root, 2),
}


def main() -> int:
    """Measure; return 1 when a promise is missed."""
    rows = []
    for name, measure in MEASUREMENTS.items():
        with tempfile.TemporaryDirectory(prefix="conduck-bench.") as folder:
            row = measure(Path(folder))
        print(f"{name}: {row.ours} {row.unit}, ratio {row.ratio}", flush=True)
        rows.append(row)
    save(rows, list(MEASUREMENTS))
    page.PAGE.write_text(page.page(), encoding="utf-8")
    missed = [row.name for row in rows if not row.is_met]
    for name in missed:
        print(f"missed: {name}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
