"""Turns at the same time: who runs, who waits, who is declined."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.service import (
    Service,
    Stub,
    binding,
    image,
    running,
    stub,
    user,
    wait_until,
)


@dataclass(frozen=True, slots=True)
class Line:
    """A daemon with room for one turn, and an engine that can be held.

    An engine that is held runs until :meth:`release`.
    """

    service: Service
    engine: Stub
    threads: ThreadPoolExecutor
    gate: Path

    def send(self, text: str) -> Future[requests.Response]:
        return self.threads.submit(self.service.turn, user(text))

    def hold(self) -> Future[requests.Response]:
        """Return a turn that has the slot."""
        held = self.send("held")
        wait_until(lambda: self.prompts == ["held"])
        return held

    def wait_until_arrived(self, count: int) -> None:
        """Return once so many turns have a slot or a place in the queue."""
        wait_until(lambda: self.service.log.count(" work_created ") == count)

    def release(self) -> None:
        self.gate.touch()

    @property
    def prompts(self) -> list[str]:
        return [record["stdin"] for record in self.engine.records]


@contextmanager
def line(root: Path, **chat: Any) -> Iterator[Line]:
    gate = root / "release"
    engine = stub(root, ["wait_for", str(gate)], ["obey"])
    with (
        running(root, engine, chat=chat, options=("--log-level", "debug")) as service,
        ThreadPoolExecutor(16) as threads,
    ):
        try:
            yield Line(service, engine, threads, gate)
        finally:
            gate.touch()


def overlaps(records: list[dict[str, Any]]) -> bool:
    """Say whether two of the runs were under way at the same time."""
    runs = sorted((record["started"], record["ended"]) for record in records)
    return any(after[0] < before[1] for before, after in pairwise(runs))


def code(response: requests.Response) -> str:
    text: str = response.json()["error"]["code"]
    return text


@pytest.mark.req("C-CONC-01", "C-CONC-12")
def test_turns_of_a_parallel_engine_run_at_once_and_share_nothing(
    tmp_path: Path,
) -> None:
    engine = stub(tmp_path, ["wait_for", str(tmp_path / "release")], ["obey"])
    with (
        running(tmp_path, engine, serialize=False, images={"mode": "file"}) as service,
        ThreadPoolExecutor(3) as threads,
    ):
        turns = [threads.submit(service.turn, user([image()])) for _ in range(3)]
        wait_until(lambda: len(engine.records) == 3)
        (tmp_path / "release").touch()
        assert [turn.result(30).status_code for turn in turns] == [200] * 3
        records = engine.records
        assert overlaps(records)  # C-CONC-01
        assert_disjoint(records)  # C-CONC-12
        assert service.scratch == []


def assert_disjoint(records: list[dict[str, Any]]) -> None:
    folders = {Path(file["path"]).parent for run in records for file in run["files"]}
    assert [len(run["files"]) for run in records] == [1] * len(records)
    assert len(folders) == len(records)
    assert len({run["group"] for run in records}) == len(records)
    assert len({run["session"] for run in records}) == len(records)
    markers = {run["environment"]["CONDUCK_EXECUTION"] for run in records}
    assert len(markers) == len(records)


@pytest.mark.req("C-CONC-02")
def test_turns_in_one_folder_never_overlap(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["sleep", 0.2], ["obey"])
    (tmp_path / "folder").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "folder")
    bindings = {
        "one": binding(engine, name="one"),
        "two": binding(engine, name="two"),
        "three": binding(engine, name="three", cwd="../alias"),
    }
    with (
        running(tmp_path, bindings=bindings) as service,
        ThreadPoolExecutor(4) as threads,
    ):
        models = ["one", "one", "two", "three"]
        turns = [threads.submit(service.turn, user("x"), model=m) for m in models]
        assert [turn.result(30).status_code for turn in turns] == [200] * 4
    assert len(engine.records) == 4
    assert not overlaps(engine.records)


def test_engines_in_different_folders_do_not_wait_for_each_other(
    tmp_path: Path,
) -> None:
    engine = stub(tmp_path, ["wait_for", str(tmp_path / "release")], ["obey"])
    (tmp_path / "other").mkdir()
    bindings = {
        "one": binding(engine, name="one"),
        "two": binding(engine, name="two", cwd="../other"),
    }
    with (
        running(tmp_path, bindings=bindings) as service,
        ThreadPoolExecutor(2) as threads,
    ):
        for model in bindings:
            threads.submit(service.turn, user("x"), model=model)
        wait_until(lambda: len(engine.records) == 2)
        (tmp_path / "release").touch()


@pytest.mark.req("C-CONC-03", "C-CONC-07", "C-CONC-10")
def test_the_queue_has_a_fixed_depth_and_is_served_in_order(tmp_path: Path) -> None:
    with line(tmp_path, queue_depth=3, start_within_seconds=30) as it:
        turns = [it.hold()]
        for number in ("first", "second", "third"):
            turns.append(it.send(number))
            it.wait_until_arrived(len(turns))
        began = time.monotonic()
        refused = it.service.turn(user("fourth"))
        assert time.monotonic() - began < 1
        assert (refused.status_code, code(refused)) == (429, "overloaded")  # C-CONC-03
        it.release()
        assert [turn.result(30).status_code for turn in turns] == [200] * 4
        assert it.service.chat("last") == "ok"
        # C-CONC-10, and C-CONC-07: the fourth is not among them.
        assert it.prompts == ["held", "first", "second", "third", "last"]


@pytest.mark.req("C-CONC-04", "C-CONC-05", "C-CONC-07")
def test_what_cannot_start_in_time_is_declined_early_and_never_runs(
    tmp_path: Path,
) -> None:
    with line(tmp_path) as it:
        held = it.hold()
        began = time.monotonic()
        refused = it.service.turn(user("declined"))
        took = time.monotonic() - began
        assert refused.status_code in (429, 503)  # C-CONC-04
        assert code(refused) == "overloaded"  # C-CONC-04
        assert 4.5 < took < 6  # C-CONC-05
        it.release()
        assert held.result(30).status_code == 200
        assert it.service.chat("last") == "ok"
        assert it.prompts == ["held", "last"]  # C-CONC-07


@pytest.mark.req("C-CONC-06")
def test_a_short_spike_is_ridden_out(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["sleep", 1], ["obey"])
    with (
        running(tmp_path, engine) as service,
        ThreadPoolExecutor(2) as threads,
    ):
        turns = [threads.submit(service.turn, user("x")) for _ in range(2)]
        assert [turn.result(30).status_code for turn in turns] == [200, 200]
    assert not overlaps(engine.records)


@pytest.mark.req("C-CONC-11")
def test_full_slots_and_a_full_queue_hold_up_neither_models_nor_refusals(
    tmp_path: Path,
) -> None:
    with line(tmp_path, queue_depth=4, start_within_seconds=30) as it:
        it.hold()
        for number in range(4):
            it.send(f"waiting {number}")
        it.wait_until_arrived(5)
        assert it.service.turn(user("full")).status_code == 429

        def models_seconds(_number: int) -> float:
            response = it.service.models()
            assert response.status_code == 200
            return response.elapsed.total_seconds()

        assert max(it.threads.map(models_seconds, range(10))) < 1
        wrong = it.service.post({}, headers={"Authorization": "Bearer wrong"})
        assert wrong.status_code == 401
        assert wrong.elapsed.total_seconds() < 1


@pytest.mark.req("C-CONC-07")
def test_a_client_that_leaves_the_queue_takes_its_turn_with_it(tmp_path: Path) -> None:
    with line(tmp_path, queue_depth=1, start_within_seconds=30) as it:
        held = it.hold()
        with pytest.raises(requests.Timeout):
            it.service.post({"messages": [user("left")]}, timeout=0.5)
        wait_until(lambda: " work_cancelled " in it.service.log)
        # Its place in the queue is free again.
        waiting = it.send("waiting")
        it.wait_until_arrived(3)
        it.release()
        assert held.result(30).status_code == 200
        assert waiting.result(30).status_code == 200
        assert it.prompts == ["held", "waiting"]
