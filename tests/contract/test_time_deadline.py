"""The deadline of a turn: when it starts, what counts, and what is left after."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.documents import document
from tests.support.misbehaving import ESCAPES, is_alive, is_marked_alive, python, shell
from tests.support.raw_http import RawResponse, connect, read_response, request
from tests.support.service import (
    PROGRAM,
    TOKEN,
    Service,
    binding,
    running,
    stub,
    user,
    wait_until,
    write_private,
)

CHAT = "/v1/chat/completions"
DEADLINE = 2.0
GRACE = 1.0

# A tree of three: engine, child and grandchild, each of which says who it is.
FAMILY = shell(
    "(sleep 60 & echo $! > grandchild; echo $$ > engine; wait) & echo $! > child; wait"
)
DEAF = shell("trap '' TERM; echo $$ > engine; sleep 60 & echo $! > child; wait; wait")
HIDDEN = python(ESCAPES, "deaf", "stay")


@dataclass(frozen=True, slots=True)
class TimedOut:
    """A turn that ran out of time, seen at the moment of its answer.

    Attributes:
        response: The answer.
        seconds: From sending the request to it.
        pids: The processes that said who they are, by name.
        alive: Those of them that were still there.
    """

    response: requests.Response
    seconds: float
    pids: dict[str, int]
    alive: list[str]

    @property
    def is_timeout(self) -> bool:
        error = self.response.json()["error"]
        return self.response.status_code == 504 and error["code"] == "upstream_timeout"


def own(name: str, argv: tuple[str, ...]) -> dict[str, Any]:
    """Return the binding of an engine in a folder of its own."""
    config = {"argv": list(argv), "cwd": f"../{name}", "kill_grace_seconds": GRACE}
    return {"name": name, "executor": "command", "config": config}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("deadline")


@pytest.fixture(scope="module")
def service(root: Path) -> Iterator[Service]:
    programs = {"family": FAMILY, "deaf": DEAF, "hidden": HIDDEN}
    for name in programs:
        (root / name).mkdir()
    sleeper = stub(root, ["print", "half an answer"], ["sleep", 30], name="sleeper")
    brief = stub(root, ["sleep", 1.2], ["obey"], name="brief")
    bindings = {name: own(name, argv) for name, argv in programs.items()} | {
        "sleeper": binding(sleeper, name="sleeper", serialize=False),
        "brief": binding(brief, name="brief", serialize=False),
        "hasty": binding(sleeper, name="hasty", serialize=False, timeout_seconds=1),
        "patient": binding(sleeper, name="patient", serialize=False, timeout_seconds=9),
    }
    chat = {"deadline_seconds": DEADLINE, "start_within_seconds": 20}
    settings = {"concurrency": 8}
    with running(root, bindings=bindings, chat=chat, settings=settings) as service:
        yield service


@pytest.fixture(scope="module")
def timed_out(root: Path, service: Service) -> dict[str, TimedOut]:
    """Turns of every engine that takes too long, run at the same time."""

    def run(model: str) -> TimedOut:
        began = time.monotonic()
        response = service.turn(user("hi"), model=model)
        seconds = time.monotonic() - began
        names = ("engine", "child", "grandchild", "pid")
        files = [root / model / name for name in names]
        pids = {file.name: int(file.read_text()) for file in files if file.exists()}
        alive = [name for name, pid in pids.items() if is_alive(pid)]
        return TimedOut(response, seconds, pids, alive)

    models = ("family", "deaf", "hidden", "sleeper", "hasty", "patient")
    with ThreadPoolExecutor(len(models)) as threads:
        return dict(zip(models, threads.map(run, models), strict=True))


def slowly(service: Service, model: str, seconds: float) -> tuple[RawResponse, float]:
    """Upload a turn over some seconds; return the answer and its time from then."""
    body = json.dumps({"messages": [user("hi")], "model": model}).encode()
    data, pieces = request("POST", CHAT, token=TOKEN, body=body), 12
    size = len(data) // pieces + 1
    with connect(service.port) as sock:
        for at in range(0, len(data), size):
            if at:
                time.sleep(seconds / (pieces - 1))
            sock.sendall(data[at : at + size])
        sent = time.monotonic()
        return read_response(sock), time.monotonic() - sent


@pytest.mark.req("C-TIME-02")
def test_the_deadline_counts_from_the_last_byte_of_the_body(service: Service) -> None:
    with ThreadPoolExecutor(2) as threads:
        late = threads.submit(slowly, service, "sleeper", 3)
        answered = threads.submit(slowly, service, "brief", 3)
        response, seconds = late.result(30)
        assert response.status == 504
        assert DEADLINE - 0.1 < seconds < DEADLINE + 3
        # After 3 seconds of upload there is still time for 1.2 seconds of work.
        assert answered.result(30)[0].status == 200


@pytest.mark.req("C-TIME-03")
def test_waiting_for_a_slot_counts_against_the_deadline(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["sleep", 1.5], ["obey"])
    chat = {"deadline_seconds": 2.5, "start_within_seconds": 20}
    with (
        running(tmp_path, engine, chat=chat, kill_grace_seconds=1) as service,
        ThreadPoolExecutor(1) as threads,
    ):
        first = threads.submit(service.turn, user("first"))
        wait_until(lambda: engine.records)
        began = time.monotonic()
        second = service.turn(user("second"))
        assert time.monotonic() - began < 2.5 + 1
        assert second.status_code in (503, 504)
        assert first.result(30).status_code == 200


@pytest.mark.req("C-TIME-03")
def test_a_turn_whose_time_ends_in_the_queue_is_declined_then(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["ignore_term"], ["sleep", 30])
    chat = {"deadline_seconds": 1, "start_within_seconds": 20}
    with (
        running(tmp_path, engine, chat=chat, kill_grace_seconds=1.5) as service,
        ThreadPoolExecutor(1) as threads,
    ):
        threads.submit(service.turn, user("held"))
        wait_until(lambda: engine.records)
        began = time.monotonic()
        late = service.turn(user("late"))
        assert 0.9 < time.monotonic() - began < 2
        assert late.status_code in (503, 504)
        assert len(engine.records) == 1


@pytest.mark.req("C-TIME-04", "C-TIME-07")
def test_at_the_deadline_the_whole_tree_is_gone(
    timed_out: dict[str, TimedOut],
) -> None:
    family = timed_out["family"]
    assert family.is_timeout  # C-TIME-07
    assert family.pids.keys() == {"engine", "child", "grandchild"}
    assert family.alive == []  # C-TIME-04


@pytest.mark.req("C-TIME-05")
def test_an_engine_that_ignores_sigterm_is_gone_within_its_grace(
    timed_out: dict[str, TimedOut],
) -> None:
    deaf = timed_out["deaf"]
    assert deaf.is_timeout
    assert DEADLINE + GRACE - 0.1 < deaf.seconds < DEADLINE + GRACE + 2
    assert deaf.pids.keys() == {"engine", "child"}
    assert deaf.alive == []


@pytest.mark.req("C-TIME-06")
def test_a_grandchild_with_a_session_of_its_own_is_gone_too(
    timed_out: dict[str, TimedOut],
) -> None:
    hidden = timed_out["hidden"]
    assert hidden.is_timeout
    assert hidden.pids.keys() == {"pid"}
    assert hidden.alive == []


@pytest.mark.req("C-TIME-07", "C-TIME-08")
def test_half_an_answer_is_never_an_answer(timed_out: dict[str, TimedOut]) -> None:
    sleeper = timed_out["sleeper"]
    assert sleeper.is_timeout  # C-TIME-07
    assert sleeper.response.status_code != 200  # C-TIME-08
    assert "half an answer" not in sleeper.response.text  # C-TIME-08


@pytest.mark.req("C-TIME-14")
@pytest.mark.parametrize(("model", "seconds"), [("hasty", 1.0), ("patient", DEADLINE)])
def test_the_shorter_of_two_times_ends_a_turn(
    timed_out: dict[str, TimedOut], model: str, seconds: float
) -> None:
    assert timed_out[model].is_timeout
    assert seconds - 0.1 < timed_out[model].seconds < seconds + 0.9


def test_nothing_of_the_turns_is_left(
    root: Path, service: Service, timed_out: dict[str, TimedOut]
) -> None:
    runs = [
        json.loads(path.read_text("ascii"))
        for path in (root / "records-sleeper").glob("*.json")
    ]
    assert len(timed_out) == 6
    assert len(runs) >= 3
    for run in runs:
        assert not is_marked_alive(run["environment"]["CONDUCK_EXECUTION"])
    assert service.scratch == []


@pytest.mark.req("C-TIME-13")
@pytest.mark.parametrize(
    ("seconds", "status"), [(1, 0), (285, 0), (295, 0), (295.5, 1), (300, 1), (0.5, 1)]
)
def test_the_deadline_lies_below_what_the_client_waits(
    tmp_path: Path, seconds: float, status: int
) -> None:
    (tmp_path / "config").mkdir(mode=0o700)
    (tmp_path / "folder").mkdir()
    engine = binding(stub(tmp_path, ["obey"]))
    config = document({"a": engine}, 8480, chat={"deadline_seconds": seconds})
    path = tmp_path / "config" / "config.json"
    write_private(path, config)
    assert PROGRAM[0] == sys.executable
    result = subprocess.run(
        [*PROGRAM, "config", "check", str(path)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert result.returncode == status, result.stderr
    assert ("deadline_seconds" in result.stderr) == (status == 1)
