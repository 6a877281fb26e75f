"""The page on speed says what was measured, each figure with its peer."""

from __future__ import annotations

from tests.bench import config, engines, package
from tests.bench.lane import table
from tests.bench.lane.figures import PROMISES
from tests.bench.lane.rows import LaneRow
from tests.bench.page import PAGE, page, read, rounds
from tests.bench.round import FOLDER

PARTS = (FOLDER, config.FOLDER, engines.FOLDER, package.FOLDER)


def test_the_page_is_made_from_the_newest_rounds() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_row_has_its_peer_of_the_same_run() -> None:
    for path in [path for folder in PARTS for path in rounds(folder)]:
        content, rows = read(path)
        assert [row.name for row in rows] == content["order"]
        for row in rows:
            assert row.peer > 0, row.name
            assert row.peer_name, row.name
            assert row.ratio == round(row.ours / row.peer, 10) or (
                abs(row.ratio - row.ours / row.peer) < 0.02 * row.ratio
            )


def test_no_promise_is_missed_in_the_newest_round() -> None:
    for folder in PARTS:
        for path in rounds(folder)[-1:]:
            _content, rows = read(path)
            assert [row.name for row in rows if not row.is_met] == []


OPEN = {
    "propfind_1000",
    "propfind_miss",
    "get_100m",
    "get_100m_cpu",
    "get_100m_range_cpu",
    "put_4k",
    "mixed",
}
"""Promises of the lane that are not kept yet, or just so; the page names them too."""


def test_only_known_promises_of_the_lane_are_missed_in_its_newest_round() -> None:
    for path in table.rounds()[-1:]:
        _content, rows = table.read(path)
        assert {row.name for row in rows if not row.is_met} <= OPEN


def test_every_promise_of_the_lane_has_a_row_beside_both_peers() -> None:
    for path in table.rounds()[-1:]:
        content, rows = table.read(path)
        names = [row.name for row in rows]
        assert len(names) == len(set(names))
        assert {item.measure + item.suffix for item in PROMISES} <= set(names)
        assert "rclone" in content["versions"]
        assert [row.name for row in rows if row.rclone is None] == []


def row(**changes: float | None) -> LaneRow:
    values: dict[str, float | None] = {"ours": 2.0, "rclone": 6.0, "stock": 30.0}
    texts = {"name": "x", "what": "x", "unit": "ms", "notes": {}, "samples": 1}
    return LaneRow(**(texts | values | changes))  # type: ignore[arg-type]


def test_a_row_is_met_when_every_promise_in_it_is() -> None:
    assert row(over_rclone=3, over_stock=15, bound=2).is_met
    assert not row(over_rclone=3.1).is_met
    assert not row(over_stock=15.1).is_met
    assert not row(bound=1.9).is_met


def test_of_a_rate_the_larger_is_better() -> None:
    assert row(is_rate=True, ours=12, over_rclone=2).is_met
    assert not row(is_rate=True, ours=11, over_rclone=2).is_met


def test_what_was_not_measured_is_called_so() -> None:
    line = table.line(row(rclone=None, over_rclone=3))
    assert "| not measured | 30 |" in line
    assert line.count("not measured") == 2
