"""How ``serve`` ends: what a turn in any state gets when the daemon is told to go."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from tests.support.documents import document
from tests.support.misbehaving import is_alive
from tests.support.raw_http import connect, read_response, request
from tests.support.service import (
    PROGRAM,
    TOKEN,
    Service,
    Stub,
    binding,
    free_port,
    image,
    prepared,
    running,
    started,
    stub,
    text,
    user,
    wait_until,
)
from tests.support.sleepers import is_sleeping, rare_seconds

Answers = list[requests.Response]


def background(
    service: Service, content: object = "x"
) -> tuple[Answers, Callable[[], None]]:
    """Start a turn in a thread; return where its answer goes, and how to wait."""
    answers: Answers = []
    thread = threading.Thread(
        target=lambda: answers.append(service.turn(user(content)))
    )
    thread.start()
    return answers, lambda: thread.join(30)


def tell(service: Service, number: int = signal.SIGTERM) -> None:
    """Send a signal and wait until the daemon has begun to stop."""
    service.process.send_signal(number)
    wait_until(lambda: " stopping " in service.log)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.req("B-CLI-24")
def test_an_idle_daemon_ends_with_status_0(tmp_path: Path, number: int) -> None:
    with running(tmp_path, engine=stub(tmp_path, ["obey"])) as service:
        assert service.chat("Reply with exactly: hello") == "hello"
        began = time.monotonic()
        assert service.stop(number) == 0
        assert time.monotonic() - began < 5
        assert service.log.rstrip().endswith("stopped everything has ended")
        with pytest.raises(ConnectionRefusedError):
            connect(service.port)


def test_nohup_keeps_the_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nohup = ("sh", "-c", 'trap "" HUP; exec "$@"', "sh", *PROGRAM)
    monkeypatch.setattr("tests.support.service.PROGRAM", nohup)
    with running(tmp_path, engine=stub(tmp_path, ["obey"])) as service:
        service.process.send_signal(signal.SIGHUP)
        assert service.chat("Reply with exactly: still here") == "still here"
        assert service.stop() == 0


def test_a_running_turn_is_answered_within_the_grace(tmp_path: Path) -> None:
    go = tmp_path / "go"
    engine = stub(tmp_path, ["wait_for", str(go)], ["print", "in time"])
    with running(tmp_path, engine=engine) as service:
        answers, join = background(service)
        wait_until(lambda: len(engine.records) == 1)
        tell(service)
        assert service.process.poll() is None
        go.touch()
        join()
        assert answers[0].status_code == 200
        assert answers[0].json()["choices"][0]["message"]["content"] == "in time"
        assert service.process.wait(10) == 0


def test_a_queued_turn_is_declined_at_once(tmp_path: Path) -> None:
    go = tmp_path / "go"
    engine = stub(tmp_path, ["wait_for", str(go)], ["print", "in time"])
    with running(
        tmp_path,
        engine=engine,
        chat={"start_within_seconds": 60},
        options=("--log-level", "debug"),
    ) as service:
        running_answers, join_running = background(service)
        wait_until(lambda: len(engine.records) == 1)
        queued_answers, join_queued = background(service)
        wait_until(lambda: service.log.count(" work_created ") == 2)
        tell(service)
        join_queued()
        assert queued_answers[0].status_code == 503
        assert queued_answers[0].json()["error"]["code"] == "overloaded"
        assert int(queued_answers[0].headers["Retry-After"]) > 0
        assert running_answers == []
        go.touch()
        join_running()
        assert running_answers[0].status_code == 200
        assert service.process.wait(10) == 0
    assert len(engine.records) == 1


def test_new_requests_are_refused_while_it_stops(tmp_path: Path) -> None:
    go = tmp_path / "go"
    engine = stub(tmp_path, ["wait_for", str(go)], ["print", "x"])
    with running(tmp_path, engine=engine) as service:
        early = connect(service.port)  # was let in before the doors were closed
        _, join = background(service)
        wait_until(lambda: len(engine.records) == 1)
        tell(service)
        with pytest.raises(ConnectionRefusedError):
            connect(service.port)
        body = b'{"messages":[{"role":"user","content":"x"}]}'
        early.sendall(
            request("POST", "/v1/chat/completions", token=service.token, body=body)
        )
        assert read_response(early).status == 503
        early.close()
        go.touch()
        join()
        assert service.process.wait(10) == 0
    assert len(engine.records) == 1


def test_the_second_signal_ends_running_turns_and_their_trees(tmp_path: Path) -> None:
    seconds = rare_seconds()
    engine = stub(tmp_path, ["daemon", seconds], ["sleep", 60])
    with running(tmp_path, engine=engine, images={"mode": "file"}) as service:
        answers, join = background(service, [text("x"), image()])
        wait_until(lambda: is_sleeping(seconds))
        assert service.scratch
        tell(service)
        began = time.monotonic()
        service.process.send_signal(signal.SIGTERM)
        join()
        assert time.monotonic() - began < 8  # the grace would be 10
        assert answers[0].status_code == 502
        assert service.process.wait(10) == 0
        assert not is_alive(engine.only["pid"])
        assert not is_sleeping(seconds)
        assert service.scratch == []


def test_many_signals_at_once_end_it_all_the_same(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["sleep", 60])
    with running(tmp_path, engine=engine, kill_grace_seconds=0) as service:
        answers, join = background(service)
        wait_until(lambda: len(engine.records) == 1)
        for _ in range(200):
            service.process.send_signal(signal.SIGTERM)
            service.process.send_signal(signal.SIGINT)
        join()
        assert answers[0].status_code == 502
        assert service.process.wait(10) == 0


@pytest.mark.slow
def test_a_turn_beyond_the_grace_is_ended_with_its_tree(tmp_path: Path) -> None:
    seconds = rare_seconds()
    engine = stub(tmp_path, ["ignore_term"], ["daemon", seconds], ["sleep", 60])
    with running(tmp_path, engine=engine, kill_grace_seconds=1) as service:
        answers, join = background(service)
        wait_until(lambda: is_sleeping(seconds))
        began = time.monotonic()
        tell(service)
        join()
        assert 9.5 < time.monotonic() - began < 20
        assert answers[0].status_code == 502
        assert answers[0].json()["error"]["code"] == "upstream_failure"
        assert service.process.wait(10) == 0
        assert not is_alive(engine.only["pid"])
        assert not is_sleeping(seconds)


def test_a_half_sent_body_does_not_hold_up_the_stop(tmp_path: Path) -> None:
    head = request(
        "POST",
        "/v1/chat/completions",
        token=TOKEN,
        headers=[("Content-Length", "1000")],
    )
    engine = stub(tmp_path, ["obey"])
    with (
        running(tmp_path, engine=engine) as service,
        connect(service.port) as sock,
    ):
        sock.sendall(head + b"half")
        assert service.models().status_code == 200
        began = time.monotonic()
        assert service.stop() == 0
        assert time.monotonic() - began < 10


def test_a_signal_while_it_starts_ends_it_cleanly(tmp_path: Path) -> None:
    engine = Stub(("true",), tmp_path)
    config = document({"agent": binding(engine)}, free_port())
    service = prepared(tmp_path, config)
    for delay in (0.05, 0.2, 0.3, 0.4):
        with launched(service) as process:
            time.sleep(delay)
            process.send_signal(signal.SIGTERM)
            # Until the program has got as far as to listen for signals, the
            # system ends it.
            assert process.wait(20) in {0, -signal.SIGTERM}
    with started(service):
        assert service.models().status_code == 200


def launched(service: Service) -> subprocess.Popen[bytes]:
    """Start the program without waiting for anything."""
    config = str(service.root / "config/config.json")
    return subprocess.Popen(
        [*PROGRAM, "serve", "--config", config, "--data-dir", str(service.state)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=service.environment,
    )
