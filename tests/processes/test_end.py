"""That nothing of a turn survives it, whatever the engine does."""

from __future__ import annotations

import time

import pytest

from conduck_service.base.processes import Ended
from tests.support.misbehaving import (
    CLOSES_ITS_STREAMS,
    ESCAPES,
    HAS_AN_UNMARKED_CHILD,
    HAS_MANY,
    IGNORES_TERM,
    LEAVES_A_CHILD,
    MULTIPLIES,
    RUNS_AWAY,
    STOPS_ITSELF,
    TELLS_PID,
    Bench,
    is_alive,
    is_marked_alive,
    python,
    shell,
)


def test_looking_takes_no_time_and_does_not_end_it(bench: Bench) -> None:
    run = bench.start(shell("read line; sleep 60"))
    began = time.monotonic()
    assert run.tree.wait(0.0) is None
    assert time.monotonic() - began < 0.5
    assert run.tree.wait(0.05) is None


def test_a_polite_engine_ends_by_sigterm_long_before_the_grace(bench: Bench) -> None:
    run = bench.start(shell(f"{TELLS_PID}; sleep 60"))
    pid = run.pid()
    began = time.monotonic()
    run.tree.end(15.0)
    assert time.monotonic() - began < 1.0
    assert run.ended() == Ended(-15)
    assert time.monotonic() - began < 10.0
    assert not is_alive(pid)


def test_an_engine_may_answer_sigterm_with_a_status(bench: Bench) -> None:
    run = bench.start(
        shell(
            "trap 'exit 7' TERM; echo $$ > pid.part; mv pid.part pid; sleep 60 & wait"
        )
    )
    run.pid()
    run.tree.end(15.0)
    assert run.ended() == Ended(7)


@pytest.mark.req("C-TIME-05")
def test_an_engine_that_ignores_sigterm_is_gone_after_the_grace(bench: Bench) -> None:
    run = bench.start(shell(IGNORES_TERM))
    pid = run.pid()
    began = time.monotonic()
    run.tree.end(0.3)
    assert run.tree.wait(0.1) is None
    assert run.ended() == Ended(-9)
    assert 0.3 <= time.monotonic() - began < 5.0
    assert not is_alive(pid)
    assert not is_marked_alive(bench.marker)


def test_no_grace_kills_at_once(bench: Bench) -> None:
    run = bench.start(shell(IGNORES_TERM))
    run.pid()
    run.tree.end(0.0)
    assert run.ended() == Ended(-9)
    assert not is_marked_alive(bench.marker)


def test_the_grace_can_be_shortened_but_not_extended(bench: Bench) -> None:
    run = bench.start(shell(IGNORES_TERM))
    run.pid()
    began = time.monotonic()
    run.tree.end(60.0)
    assert run.tree.wait(0.05) is None
    run.tree.end(0.2)
    run.tree.end(60.0)
    assert run.ended() == Ended(-9)
    assert time.monotonic() - began < 10.0


def test_ending_what_has_ended_does_nothing(bench: Bench) -> None:
    run = bench.start(shell("exit 4"))
    assert run.ended() == Ended(4)
    run.tree.end(0.0)
    run.tree.end(1.0)
    assert run.tree.wait(0.0) == Ended(4)


def test_ending_what_ends_meanwhile_is_no_error(bench: Bench) -> None:
    for _ in range(8):
        run = bench.start(shell("exit 0"))
        run.tree.end(5.0)
        assert run.ended().status in {0, -15}


@pytest.mark.parametrize("grace", [0.0, 15.0])
def test_an_engine_that_stopped_itself_ends(bench: Bench, grace: float) -> None:
    run = bench.start(shell(STOPS_ITSELF))
    run.pid()
    began = time.monotonic()
    run.tree.end(grace)
    assert run.ended().status in {-15, -9}
    assert time.monotonic() - began < 10.0


def test_closed_streams_are_no_end(bench: Bench) -> None:
    run = bench.start(shell(CLOSES_ITS_STREAMS))
    pid = run.pid()
    assert run.tree.wait(0.05) is None
    run.tree.end(15.0)
    assert run.ended() == Ended(-15)
    assert not is_alive(pid)


@pytest.mark.parametrize("grace", [0.0, 15.0])
def test_every_one_of_many_descendants_ends(bench: Bench, grace: float) -> None:
    run = bench.start(shell(HAS_MANY))
    run.pid()
    run.tree.end(grace)
    assert run.ended().status in {-9, -15}
    assert not is_marked_alive(bench.marker)


def test_what_outlives_a_successful_engine_ends_with_it(bench: Bench) -> None:
    run = bench.start(shell(LEAVES_A_CHILD))
    pid = run.pid()
    assert run.ended() == Ended(0)
    assert run.output() == "done\n"
    assert not is_alive(pid)


def test_a_deaf_child_holds_up_a_successful_engine_for_a_second(bench: Bench) -> None:
    began = time.monotonic()
    run = bench.start(shell(f"({IGNORES_TERM}) & while [ ! -e pid ]; do :; done"))
    assert run.ended() == Ended(0)
    assert 0.9 <= time.monotonic() - began < 8.0
    assert not is_marked_alive(bench.marker)


@pytest.mark.req("C-TIME-06")
@pytest.mark.parametrize("hearing", ["hears", "deaf"])
def test_a_hidden_grandchild_ends_with_the_turn(
    kept_bench: Bench, hearing: str
) -> None:
    run = kept_bench.start(python(ESCAPES, hearing, "stay"))
    pid = run.pid()
    run.tree.end(0.3)
    assert run.ended().status in {-15, -9}
    assert not is_alive(pid)


@pytest.mark.parametrize("hearing", ["hears", "deaf"])
def test_a_hidden_grandchild_ends_after_a_good_turn(
    kept_bench: Bench, hearing: str
) -> None:
    run = kept_bench.start(python(ESCAPES, hearing, "leave"))
    pid = run.pid()
    assert run.ended() == Ended(0)
    assert run.output() == "done\n"
    assert not is_alive(pid)


@pytest.mark.req("C-TIME-06")
@pytest.mark.parametrize("grace", [0.0, 0.3])
def test_a_grandchild_in_a_session_of_its_own_ends(bench: Bench, grace: float) -> None:
    source = ESCAPES.replace("{})", "os.environ)")
    assert source != ESCAPES
    run = bench.start(python(source, "deaf", "stay"))
    pid = run.pid()
    run.tree.end(grace)
    assert run.ended().status in {-15, -9}
    assert not is_alive(pid)


@pytest.mark.parametrize("grace", [0.0, 0.3])
def test_a_deaf_child_without_marker_is_found_by_its_parent(
    bench: Bench, grace: float
) -> None:
    run = bench.start(python(HAS_AN_UNMARKED_CHILD))
    pid = run.pid()
    run.tree.end(grace)
    assert run.ended().status in {-9, -15}
    assert not is_alive(pid)


@pytest.mark.parametrize("where", ["group", "sessions"])
@pytest.mark.parametrize("grace", [0.0, 0.2])
def test_what_runs_away_from_every_look_is_caught(
    kept_bench: Bench, where: str, grace: float
) -> None:
    run = kept_bench.start(python(RUNS_AWAY, where))
    run.pid()
    assert run.tree.wait(0.1) is None
    run.tree.end(grace)
    assert run.ended() == Ended(-9)
    assert not is_marked_alive(kept_bench.marker)


def test_a_fork_bomb_ends(kept_bench: Bench) -> None:
    run = kept_bench.start(python(MULTIPLIES))
    run.pid()
    assert run.tree.wait(0.2) is None
    run.tree.end(0.0)
    assert run.ended() == Ended(-9)
    assert not is_marked_alive(kept_bench.marker)
