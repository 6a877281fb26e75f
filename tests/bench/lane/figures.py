"""Makes rows out of results."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.bench.lane.client import Result
from tests.bench.lane.rows import LaneRow
from tests.bench.lane.servers import OURS, RCLONE, STOCK

Results = Mapping[str, Sequence[Result]]
"""The results of one measure, by server."""
Figure = Callable[[Sequence[Result]], float]


def latency(results: Sequence[Result]) -> float:
    """Return the median of the rounds' median latencies in milliseconds."""
    return 1000 * statistics.median(
        statistics.median(result.latencies) for result in results
    )


def processor(results: Sequence[Result]) -> float:
    """Return the server's processor time of a request in milliseconds."""
    return 1000 * statistics.median(
        result.cpu / len(result.latencies) for result in results
    )


def rate(results: Sequence[Result]) -> float:
    """Return requests in a second."""
    return statistics.median(len(result.latencies) / result.wall for result in results)


def p99(results: Sequence[Result]) -> float:
    """Return the 99th percentile of all latencies in milliseconds."""
    values = sorted(value for result in results for value in result.latencies)
    return 1000 * values[int(len(values) * 0.99)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """How a row comes from the results of a measure; see :class:`LaneRow`.

    Attributes:
        measure: Whose results it takes; the row's name is made from it.
        what: What was done, for people.
        figure: Makes the figure.
        unit: Of the figure.
        suffix: Tells rows of the same measure apart.
        over_rclone: Times better than rclone.
        over_stock: Times better than stock.
        bound: Largest acceptable value of ours.
        more: More figures for the notes, by name.
    """

    measure: str
    what: str
    figure: Figure = latency
    unit: str = "ms"
    suffix: str = ""
    over_rclone: float | None = None
    over_stock: float | None = None
    bound: float | None = None
    more: Mapping[str, Figure] = field(default_factory=dict)


_CPU: Mapping[str, Figure] = {"CPU ms": processor}


def _read(measure: str, what: str) -> tuple[Promise, Promise]:
    """Return the two rows of a download: its time, and what it costs the server."""
    return (
        Promise(measure=measure, what=what, over_rclone=1.1),
        Promise(
            measure=measure,
            suffix="_cpu",
            what=what,
            figure=processor,
            unit="ms CPU",
            over_rclone=2,
        ),
    )


PROMISES = (
    Promise(
        measure="propfind_1000",
        what="PROPFIND depth 1, 1000 files",
        figure=processor,
        unit="ms CPU",
        over_rclone=3,
        over_stock=15,
        more={"ms": latency},
    ),
    Promise(
        measure="propfind_hit",
        what="PROPFIND depth 0, a folder that is there",
        over_rclone=1.3,
        more=_CPU,
    ),
    Promise(
        measure="propfind_miss",
        what="PROPFIND depth 0, a folder that is not there",
        over_rclone=1.3,
        more=_CPU,
    ),
    Promise(
        measure="propfind_while_listing",
        what="PROPFIND depth 0 while 8 clients list 1000 files",
        figure=p99,
        unit="ms, p99",
        bound=20,
        more={"median ms": latency},
    ),
    *_read("get_1m", "GET 1 MiB"),
    *_read("get_1m_range", "GET all but the first 1000 bytes of 1 MiB"),
    *_read("get_100m", "GET 100 MiB"),
    *_read("get_100m_range", "GET all but the first 1000 bytes of 100 MiB"),
    Promise(measure="put_100m", what="PUT 100 MiB", over_rclone=4, more=_CPU),
    Promise(measure="put_1g", what="PUT 1 GiB", over_rclone=4, more=_CPU),
    Promise(
        measure="put_4k",
        what="PUT 4 KiB over 8 connections",
        figure=rate,
        unit="requests/s",
        over_rclone=2,
        more=_CPU,
    ),
    Promise(
        measure="mixed",
        what="16 clients, each in turn: PROPFIND depth 0, depth 1 of 20 files, PUT "
        "and GET of 4 KiB",
        figure=rate,
        unit="requests/s",
        over_rclone=2,
        more=_CPU,
    ),
)


def row(promise: Promise, results: Results) -> LaneRow:
    """Return the row of a promise."""
    figures = {name: promise.figure(taken) for name, taken in results.items()}
    return LaneRow(
        name=promise.measure + promise.suffix,
        what=promise.what,
        unit=promise.unit,
        ours=short(figures[OURS]),
        rclone=short(figures[RCLONE]) if RCLONE in figures else None,
        stock=short(figures[STOCK]),
        is_rate=promise.figure is rate,
        over_rclone=promise.over_rclone,
        over_stock=promise.over_stock,
        bound=promise.bound,
        samples=sum(len(result.latencies) for result in results[OURS]),
        notes={
            label: beside(results, figure) for label, figure in promise.more.items()
        },
    )


def beside(results: Results, figure: Figure) -> str:
    """Return a figure of every server, in the order of the table's columns."""
    return " / ".join(f"{short(figure(taken)):g}" for taken in results.values())


def short(value: float) -> float:
    """Return a figure with as many digits as mean something."""
    return float(f"{value:.4g}")
