"""A chat turn in the core: its time, its place, and every way for it to end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from conduck_service.domain.errors import ErrorCode, ServiceError
from conduck_service.domain.execution import FailureCode, Finish, Usage
from conduck_service.domain.scope import Limits, Settings
from conduck_service.domain.work import WorkState
from conduck_service.extension.executor import (
    Completed,
    ExecutionContext,
    Failed,
    RunResult,
)
from conduck_service.extension.ingress import TurnReply
from tests.support.core import (
    Behaviour,
    CoreBench,
    Gate,
    HandClock,
    core_bench,
    scope_of,
)

ONE = Settings(concurrency=1)


def pong(_context: ExecutionContext) -> RunResult:
    return Completed(answer="pong")


def until_interrupted(context: ExecutionContext) -> RunResult:
    while (code := context.interrupted()) is None:
        pass
    return Failed(code)


def refusal(bench: CoreBench, **more: Any) -> ServiceError:
    """Return the error that a turn ends with."""
    with pytest.raises(ServiceError) as caught:
        bench.turns.run(bench.request(**more))
    return caught.value


def assert_clean(bench: CoreBench) -> None:
    """Check that nothing of any turn is left in the core."""
    assert bench.core.journal.wait_until_empty(0)
    slots = bench.core.settings.concurrency
    tickets = [bench.core.pool.enter("check", 0, None) for _ in range(slots)]
    for ticket in tickets:
        bench.core.pool.leave(ticket)
    assert list(bench.core.attempts.scratch.root.iterdir()) == []


def test_a_good_turn_is_answered(tmp_path: Path) -> None:
    usage = Usage(total_tokens=7)

    def behaviour(_context: ExecutionContext) -> RunResult:
        return Completed(answer="pong", usage=usage, finish=Finish.LENGTH)

    bench = core_bench(tmp_path, behaviour)
    reply = bench.turns.run(bench.request())
    assert (reply.answer, reply.model_id) == ("pong", "agent")
    assert (reply.usage, reply.finish) == (usage, Finish.LENGTH)
    assert reply.turn_id.startswith("turn_")
    assert_clean(bench)


@pytest.mark.parametrize("code", list(FailureCode))
def test_a_failed_turn_is_told_and_leaves_nothing(
    tmp_path: Path, code: FailureCode
) -> None:
    bench = core_bench(tmp_path, lambda _context: Failed(code, "words for the log"))
    assert "words for the log" not in refusal(bench).message
    assert len(bench.executor.contexts) == 1  # and no second time
    assert_clean(bench)


def test_an_executor_that_raises_leaves_nothing(tmp_path: Path) -> None:
    def behaviour(context: ExecutionContext) -> RunResult:
        (context.scratch(None) / "photo").write_bytes(b"x")
        raise ZeroDivisionError

    bench = core_bench(tmp_path, behaviour)
    with pytest.raises(ZeroDivisionError):
        bench.turns.run(bench.request())
    assert_clean(bench)


def test_a_defect_while_waiting_leaves_nothing(tmp_path: Path) -> None:
    def defect() -> bool:
        raise ZeroDivisionError

    bench = core_bench(tmp_path, pong)
    with pytest.raises(ZeroDivisionError):
        bench.turns.run(bench.request(client_gone=defect))
    assert bench.executor.contexts == []
    assert_clean(bench)


@pytest.mark.req("C-TIME-02")
def test_the_time_runs_from_the_receipt_of_the_body(tmp_path: Path) -> None:
    clock = HandClock()
    received_at = clock.monotonic()
    seen: list[FailureCode | None] = []

    def behaviour(context: ExecutionContext) -> RunResult:
        for _ in range(2):
            seen.append(context.interrupted())
            clock.seconds += 1
        return Completed(answer="x")

    bench = core_bench(tmp_path, behaviour, clock=clock, deadline_seconds=5.0)
    clock.seconds += 4.5  # spent on the way to the engine
    bench.turns.run(bench.request(received_at=received_at))
    assert seen == [None, FailureCode.TIMEOUT]


@pytest.mark.req("C-TIME-14")
@pytest.mark.parametrize(("deadline", "timeout"), [(3.0, 60), (60.0, 3)])
def test_the_shorter_of_two_times_counts(
    tmp_path: Path, deadline: float, timeout: int
) -> None:
    clock = HandClock()
    seen: list[FailureCode | None] = []

    def behaviour(context: ExecutionContext) -> RunResult:
        for _ in range(2):
            seen.append(context.interrupted())
            clock.seconds += 3
        return Completed(answer="x")

    bench = core_bench(
        tmp_path,
        behaviour,
        clock=clock,
        settings=Settings(timeout_seconds=timeout),
        deadline_seconds=deadline,
    )
    bench.turns.run(bench.request())
    assert seen == [None, FailureCode.TIMEOUT]


def occupied(
    tmp_path: Path, gate: Gate, threads: ThreadPoolExecutor, **terms: Any
) -> tuple[CoreBench, Future[TurnReply]]:
    """Return a core whose one slot is taken until the gate opens."""
    bench = core_bench(tmp_path, gate, settings=ONE, **terms)
    held = threads.submit(bench.turns.run, bench.request())
    gate.wait_until_entered()
    return bench, held


@pytest.mark.req("C-CONC-04", "C-CONC-07")
@pytest.mark.parametrize(
    "terms",
    [
        {"start_within_seconds": 0.05},
        {"deadline_seconds": 0.05},
        {"start_within_seconds": 0.0},
    ],
)
def test_a_turn_that_cannot_start_in_time_is_declined_and_never_runs(
    tmp_path: Path, terms: dict[str, float]
) -> None:
    gate = Gate()
    with ThreadPoolExecutor(1) as threads:
        bench, held = occupied(tmp_path, gate, threads, **terms)
        assert refusal(bench).code is ErrorCode.NOT_STARTED  # C-CONC-04
        gate.open()
        assert held.result(20).answer == "late"
    assert len(bench.executor.contexts) == 1  # C-CONC-07
    assert_clean(bench)


def test_a_free_slot_needs_no_time_to_wait(tmp_path: Path) -> None:
    bench = core_bench(tmp_path, pong, start_within_seconds=0.0)
    assert bench.turns.run(bench.request()).answer == "pong"


@pytest.mark.req("C-CONC-03", "C-CONC-08")
def test_a_full_queue_is_told_before_and_after_the_body(tmp_path: Path) -> None:
    gate = Gate()
    with ThreadPoolExecutor(1) as threads:
        bench, _ = occupied(tmp_path, gate, threads, queue_depth=0)
        with pytest.raises(ServiceError) as caught:
            bench.turns.check_room()
        assert caught.value.code is ErrorCode.QUEUE_FULL  # C-CONC-08
        assert refusal(bench).code is ErrorCode.QUEUE_FULL  # C-CONC-03
        gate.open()
    assert_clean(bench)


def test_a_scope_full_of_work_is_told_so(tmp_path: Path) -> None:
    gate = Gate()
    scope = scope_of(tmp_path, limits=Limits(ready_limit=1))
    bench = core_bench(tmp_path, gate, scope=scope)
    with ThreadPoolExecutor(1) as threads:
        threads.submit(bench.turns.run, bench.request())
        gate.wait_until_entered()
        assert refusal(bench).code is ErrorCode.QUEUE_FULL
        gate.open()
    assert_clean(bench)


@pytest.mark.req("C-CONC-08")
def test_a_scope_that_is_switched_off_takes_nothing(tmp_path: Path) -> None:
    bench = core_bench(tmp_path, pong, scope=scope_of(tmp_path, enabled=False))
    assert refusal(bench).code is ErrorCode.UNAVAILABLE
    assert bench.executor.contexts == []


def test_a_client_that_leaves_the_queue_is_forgotten(tmp_path: Path) -> None:
    gate = Gate()
    with ThreadPoolExecutor(1) as threads:
        bench, _ = occupied(tmp_path, gate, threads, queue_depth=1)
        assert refusal(bench, client_gone=lambda: True).code is ErrorCode.CLIENT_GONE
        bench.turns.check_room()  # its place is free again
        gate.open()
    assert len(bench.executor.contexts) == 1
    assert_clean(bench)


def test_a_client_that_left_when_its_slot_came_is_not_run_for(tmp_path: Path) -> None:
    bench = core_bench(tmp_path, pong)
    assert refusal(bench, client_gone=lambda: True).code is ErrorCode.CLIENT_GONE
    assert bench.executor.contexts == []
    assert_clean(bench)


def stops(bench: CoreBench, grace: float) -> Callable[[], bool]:
    """Return what tells that the client is there, and stops the core meanwhile."""

    def client_gone() -> bool:
        bench.core.lifecycle.stop(grace)
        return False

    return client_gone


def test_a_stop_between_the_check_and_the_slot_is_seen(tmp_path: Path) -> None:
    bench = core_bench(tmp_path, pong)
    assert refusal(bench, client_gone=stops(bench, 10)).code is ErrorCode.NOT_STARTED
    assert bench.executor.contexts == []
    assert_clean(bench)


@pytest.mark.req("C-CONC-08")
def test_stopping_declines_what_waits_and_what_comes(tmp_path: Path) -> None:
    gate = Gate()
    with ThreadPoolExecutor(2) as threads:
        bench, held = occupied(tmp_path, gate, threads, start_within_seconds=15.0)
        looked = threading.Event()

        def client_gone() -> bool:
            looked.set()
            return False

        waiting = threads.submit(refusal, bench, client_gone=client_gone)
        assert looked.wait(10)
        bench.core.lifecycle.stop(10)
        assert waiting.result(10).code is ErrorCode.NOT_STARTED
        assert refusal(bench).code is ErrorCode.UNAVAILABLE
        gate.open()
        assert held.result(10).answer == "late"  # what runs has its grace
    assert_clean(bench)


def test_two_stops_end_what_runs_at_once(tmp_path: Path) -> None:
    entered = threading.Event()

    def behaviour(context: ExecutionContext) -> RunResult:
        entered.set()
        return until_interrupted(context)

    bench = core_bench(tmp_path, behaviour)
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(refusal, bench)
        assert entered.wait(10)
        bench.core.lifecycle.stop(3600)
        bench.core.lifecycle.stop(0)
        assert running.result(10).message == "the service stopped before the answer"
    assert_clean(bench)


@pytest.mark.req("C-CONC-02")
def test_models_of_one_folder_share_a_key_and_others_do_not(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    bindings: dict[str, dict[str, Any]] = {
        "one": {"folder": tmp_path / "real", "serialize": True},
        "two": {"folder": tmp_path / "alias", "serialize": True},
        "free": {"folder": tmp_path / "real"},
    }
    gate = Gate()
    bench = core_bench(tmp_path, gate, scope=scope_of(tmp_path, bindings))
    with ThreadPoolExecutor(2) as threads:
        threads.submit(bench.turns.run, bench.request("one"))
        gate.wait_until_entered()
        late = bench.request("two", received_at=0.0)  # no time left to wait
        with pytest.raises(ServiceError):
            bench.turns.run(late)
        threads.submit(bench.turns.run, bench.request("free"))
        gate.wait_until_entered()
        gate.open()
    assert_clean(bench)


@pytest.mark.parametrize(("concurrency", "capacity"), [(4, 7), (0, 35)])
def test_workers_are_set_aside_for_what_runs_and_waits(
    tmp_path: Path, concurrency: int, capacity: int
) -> None:
    settings = Settings(concurrency=concurrency)
    bench = core_bench(tmp_path, pong, settings=settings, queue_depth=3)
    assert bench.turns.capacity == capacity


@pytest.mark.parametrize(
    ("behaviour", "state"),
    [
        (pong, WorkState.COMPLETED),
        (lambda _context: Failed(FailureCode.EXIT), WorkState.FAILED),
        (lambda _context: Failed(FailureCode.TIMEOUT), WorkState.FAILED),
        (lambda _context: Failed(FailureCode.CLIENT_GONE), WorkState.CANCELLED),
    ],
)
def test_the_work_of_a_turn_ends_as_the_turn_does(
    tmp_path: Path,
    behaviour: Behaviour,
    state: WorkState,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG", "conduck_service.runtime.journal")
    bench = core_bench(tmp_path, behaviour)
    with ThreadPoolExecutor(1) as threads:
        threads.submit(bench.turns.run, bench.request()).exception()
    actions = [
        record.__dict__["action"]
        for record in caplog.records
        if record.name == "conduck_service.runtime.journal"
    ]
    assert actions == ["work_created", "work_running", f"work_{state}"]
