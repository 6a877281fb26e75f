"""One round of measurements as data, and the machine it was taken on."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.support.trace import REFERENCE

FOLDER = REFERENCE / "bench"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measured promise.

    Attributes:
        name: Stable name of the row.
        what: What was done, for people.
        ours: Our figure.
        peer: The figure of the peer in the same run.
        peer_name: What the peer is.
        unit: Unit of both figures.
        ratio: ours / peer.
        limit: Largest ratio that is acceptable; None when ``bound`` is set.
        bound: Largest acceptable value of ``ours``; None when ``limit`` is set.
        samples: How many samples each figure comes from.
        notes: More figures of the same run, by name.
    """

    name: str
    what: str
    ours: float
    peer: float
    peer_name: str
    unit: str
    ratio: float
    limit: float | None = None
    bound: float | None = None
    samples: int
    notes: dict[str, float]

    @property
    def is_met(self) -> bool:
        """Whether the promise is kept."""
        if self.limit is not None:
            return self.ratio <= self.limit
        return self.bound is not None and self.ours <= self.bound


def machine() -> dict[str, Any]:
    """Return what the machine is, as far as it matters."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "python": platform.python_version(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.split(":", 1)[1] for line in lines if line.startswith("model name")]
    return names[0].strip() if names else platform.machine()


def save(rows: list[Row], order: list[str], folder: Path = FOLDER) -> Path:
    """Write a round to a file of its own in a folder and return the file."""
    now = datetime.now(UTC)
    content = {
        "taken_at": now.isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": {
            name: version(name) for name in ("conduck-service", "cheroot", "falcon")
        },
        "order": order,
        "rows": [asdict(row) for row in rows],
    }
    folder.mkdir(exist_ok=True)
    path = folder / f"{now:%Y%m%dT%H%M%SZ}.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path
