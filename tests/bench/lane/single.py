"""The rows that come from one look and not from a stream of requests."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from tests.bench.lane.client import Result
from tests.bench.lane.figures import short
from tests.bench.lane.rows import LaneRow
from tests.bench.lane.servers import MIB, OURS, RCLONE, STOCK
from tests.bench.lane.world import HEADS, UPLOADS, Sighting

Taken = TypeVar("Taken")

KEPT_MIB = 8.0
"""What a peak may grow by in a transfer, whatever its size: buffers and stacks."""


def sighting_rows(seen: Mapping[str, Sequence[Sighting]]) -> list[LaneRow]:
    """Return how soon files that an engine wrote were listed and fetched."""
    what = "a file written on the disk, then listed and fetched"
    return [
        _row(
            seen,
            lambda sights: 1000 * max(item.seconds for item in sights),
            name="fresh",
            what=what,
            unit="ms, worst",
            samples=len(seen[OURS]),
            notes={
                "median ms": _beside(
                    seen,
                    lambda sights: (
                        1000 * statistics.median(item.seconds for item in sights)
                    ),
                )
            },
        ),
        _row(
            seen,
            lambda sights: max(item.listings for item in sights),
            name="fresh_listings",
            what=f"{what}: listings until it was there, at worst",
            unit="listings",
            bound=1,
            samples=len(seen[OURS]),
        ),
    ]


def held_row(held: Mapping[str, tuple[Result, int]]) -> LaneRow:
    """Return how long a listing took while bad peers held their connections."""
    unanswered = [name for name, (result, _) in held.items() if result.unanswered]
    notes = {"still held at the end": _beside(held, lambda item: item[1])}
    if unanswered:
        notes["no answer in 3 s"] = ", ".join(unanswered)
    return _row(
        held,
        lambda item: 1000 * max([*item[0].latencies, 3.0 * item[0].unanswered]),
        name="held",
        what=f"a listing of 20 files on a new connection while {HEADS} half-sent "
        f"heads and {UPLOADS} dribbling uploads are held",
        unit="ms, worst",
        bound=100,
        samples=len(held[OURS][0].latencies),
        notes=notes,
    )


def memory_rows(
    peaks: Mapping[str, int], grown: Mapping[str, Mapping[str, int]]
) -> list[LaneRow]:
    """Return the peaks of the whole run, and how they grow in single transfers."""
    kinds = {
        "small": "PUT and GET of 1 MiB",
        "large": "PUT and GET of 1 GiB",
        "refused": "8 uploads of 256 MiB that are refused for their password",
    }
    peak = _row(
        peaks,
        lambda size: size / MIB,
        name="memory_peak",
        what="peak memory of the server over the whole run",
        unit="MiB",
        over_rclone=1,
        samples=1,
    )
    return [peak] + [
        _row(
            grown,
            _size_of(kind),
            name=f"memory_{kind}",
            what=f"growth of the peak by {what}",
            unit="MiB",
            bound=KEPT_MIB,
            samples=1,
        )
        for kind, what in kinds.items()
    ]


def _size_of(kind: str) -> Callable[[Mapping[str, int]], float]:
    return lambda sizes: sizes[kind] / MIB


def _row(
    taken: Mapping[str, Taken], figure: Callable[[Taken], float], **more: Any
) -> LaneRow:
    figures = {name: short(figure(item)) for name, item in taken.items()}
    return LaneRow(
        ours=figures[OURS],
        rclone=figures.get(RCLONE),
        stock=figures[STOCK],
        **({"notes": {}} | more),
    )


def _beside(taken: Mapping[str, Taken], figure: Callable[[Taken], float]) -> str:
    return " / ".join(f"{short(figure(item)):g}" for item in taken.values())
