"""The page on speed says what was measured, each figure with its peer."""

from __future__ import annotations

from tests.bench.page import PAGE, page, read, rounds


def test_the_page_is_made_from_the_newest_round() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_row_has_its_peer_of_the_same_run() -> None:
    for path in rounds():
        content, rows = read(path)
        assert [row.name for row in rows] == content["order"]
        for row in rows:
            assert row.peer > 0, row.name
            assert row.peer_name, row.name
            assert row.ratio == round(row.ours / row.peer, 10) or (
                abs(row.ratio - row.ours / row.peer) < 0.02 * row.ratio
            )


def test_no_promise_is_missed_in_the_newest_round() -> None:
    _content, rows = read(rounds()[-1])
    assert [row.name for row in rows if not row.is_met] == []
