"""Open Work, from its acceptance to its end."""

from __future__ import annotations

import math
import threading

import pytest

from conduck_service.base.clock import SystemClock
from conduck_service.domain.event import CHAT_TURN, Event
from conduck_service.domain.work import CHAT_WORK, TransitionError, Work, WorkState
from conduck_service.runtime.journal import Journal, ScopeFullError

EVENT = Event(
    id="turn_x",
    scope_id="home",
    type=CHAT_TURN,
    source="conduck/test",
    delivery_id="delivery_x",
    received_at=SystemClock().now(),
    data={},
)


class StoppedClock(SystemClock):
    seconds = 100.0

    def monotonic(self) -> float:
        return self.seconds


def work(name: str, scope: str = "home") -> Work:
    return Work(
        id=name, event_id="turn_x", scope_id=scope, kind=CHAT_WORK, binding="agent"
    )


def test_a_scope_takes_no_more_than_its_limit_ready_and_running() -> None:
    journal = Journal()
    journal.accept(EVENT, work("a"), [("home", 2)])
    journal.accept(EVENT, work("b"), [("home", 2)])
    journal.move(work("a"), WorkState.RUNNING)
    with pytest.raises(ScopeFullError):
        journal.accept(EVENT, work("c"), [("home", 2)])
    journal.accept(EVENT, work("d", "another"), [("another", 2)])


@pytest.mark.parametrize(
    "way",
    [
        (WorkState.CANCELLED,),
        (WorkState.RUNNING, WorkState.COMPLETED),
        (WorkState.RUNNING, WorkState.FAILED),
        (WorkState.RUNNING, WorkState.CANCELLED),
    ],
)
def test_a_work_that_ended_is_open_no_more(way: tuple[WorkState, ...]) -> None:
    journal = Journal()
    item = work("a")
    journal.accept(EVENT, item, [("home", 1)])
    for state in way:
        assert not journal.wait_until_empty(0)
        item = journal.move(item, state)
    assert item.state is way[-1]
    assert item.revision == 1 + len(way)
    assert journal.wait_until_empty(0)
    journal.accept(EVENT, work("b"), [("home", 1)])


def test_nothing_leaves_an_end() -> None:
    journal = Journal()
    journal.accept(EVENT, work("a"), [("home", 1)])
    ended = journal.move(work("a"), WorkState.CANCELLED)
    with pytest.raises(TransitionError):
        journal.move(ended, WorkState.RUNNING)


def test_whoever_waits_for_the_last_work_is_told() -> None:
    journal = Journal()
    journal.accept(EVENT, work("a"), [("home", 1)])
    timer = threading.Timer(0.05, journal.move, [work("a"), WorkState.CANCELLED])
    timer.start()
    assert journal.wait_until_empty(20)
    timer.join()


def test_it_knows_how_many_run_and_for_how_long_none_has() -> None:
    clock = StoppedClock()
    journal = Journal(clock)
    assert (journal.running(), journal.since_run()) == (0, math.inf)
    for name in ("a", "b"):
        journal.accept(EVENT, work(name), [("home", 9)])
    assert (journal.running(), journal.since_run()) == (0, math.inf)
    running = [journal.move(work(name), WorkState.RUNNING) for name in ("a", "b")]
    clock.seconds += 5
    assert (journal.running(), journal.since_run()) == (2, 0.0)
    journal.move(running[0], WorkState.COMPLETED)
    assert (journal.running(), journal.since_run()) == (1, 0.0)
    clock.seconds += 5
    journal.move(running[1], WorkState.FAILED)
    clock.seconds += 7
    assert (journal.running(), journal.since_run()) == (0, 7.0)


def test_work_that_never_ran_is_no_run() -> None:
    journal = Journal()
    journal.accept(EVENT, work("a"), [("home", 9)])
    journal.move(work("a"), WorkState.CANCELLED)
    assert journal.since_run() == math.inf
