"""What is left when the daemon is killed, and that the next one starts clean."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.commands import run, tree, written
from tests.support.documents import document
from tests.support.misbehaving import is_alive, is_marked_alive
from tests.support.service import (
    PROGRAM,
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
    variables,
    wait_until,
)
from tests.support.sleepers import is_sleeping, rare_seconds

IS_LINUX = os.uname().sysname == "Linux"


@contextmanager
def turn_in_flight(service: Service, *parts: dict[str, Any]) -> Iterator[None]:
    """Have a turn run during the block; its answer never comes."""

    def send() -> None:
        with contextlib.suppress(requests.RequestException):
            service.turn(user([text("x"), *parts]))

    thread = threading.Thread(target=send)
    thread.start()
    yield
    thread.join(20)


def crashed(service: Service) -> None:
    """Kill the daemon."""
    service.process.kill()
    service.process.wait(10)


def instance_of(service: Service) -> str:
    return (service.state / "instance").read_text()


def test_nothing_of_a_turn_outlives_a_killed_daemon(tmp_path: Path) -> None:
    seconds = rare_seconds()
    engine = stub(tmp_path, ["ignore_term"], ["daemon", seconds], ["sleep", 60])
    with running(
        tmp_path, engine=engine, images={"mode": "file", "dir": "working"}
    ) as service:
        with turn_in_flight(service, image()):
            wait_until(lambda: is_sleeping(seconds))
            assert list(service.folder.iterdir())
            crashed(service)
        if IS_LINUX:  # elsewhere the next start ends it
            wait_until(lambda: not is_alive(engine.only["pid"]))
            wait_until(lambda: not is_sleeping(seconds))
        with started(service):
            assert not is_alive(engine.only["pid"])
            assert not is_marked_alive(instance_of(service))
            assert list(service.folder.iterdir()) == []
            assert service.scratch == []


def test_pictures_in_the_state_directory_go_at_the_next_start(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["sleep", 60])
    with running(tmp_path, engine=engine, images={"mode": "file"}) as service:
        with turn_in_flight(service, image()):
            wait_until(lambda: len(engine.records) == 1)
            crashed(service)
        assert [path for path in service.scratch if path.is_file()]
        with started(service):
            assert service.scratch == []
            assert "cleared up after a daemon that was killed" in service.log


def test_the_next_daemon_answers_as_if_nothing_had_been(tmp_path: Path) -> None:
    go = tmp_path / "go"
    engine = stub(tmp_path, ["wait_for", str(go)], ["print", "done"])
    with running(tmp_path, engine=engine) as service:
        instance = instance_of(service)
        for _ in range(2):
            before = len(engine.records)
            with turn_in_flight(service):
                wait_until(lambda: len(engine.records) > before)  # noqa: B023
                crashed(service)
            service.start()
        go.touch()
        assert service.chat("x") == "done"
        assert instance_of(service) == instance
        assert service.stop() == 0


def test_a_kill_at_any_moment_of_the_start_harms_no_later_start(tmp_path: Path) -> None:
    config = document({"agent": binding(stub(tmp_path, ["obey"]))}, free_port())
    service = prepared(tmp_path, config)
    service.state.rmdir()
    for delay in (0.2, 0.3, 0.4, 0.5):
        with launched(service) as process:
            time.sleep(delay)
            process.kill()
    with started(service):
        assert service.chat("Reply with exactly: up") == "up"
        names = {path.name for path in service.state.iterdir()}
        assert names == {"lock", "instance", "scratch"}
        assert service.stop() == 0


def test_an_id_that_was_half_written_by_a_killed_daemon_goes(tmp_path: Path) -> None:
    config = document({"agent": binding(stub(tmp_path, ["obey"]))}, free_port())
    service = prepared(tmp_path, config)
    (service.state / ".instance.0011223344556677.tmp").write_text("instance_half")
    with started(service):
        names = {path.name for path in service.state.iterdir()}
        assert names == {"lock", "instance", "scratch"}


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


def config_of(root: Path) -> Path:
    value = document({"agent": binding(Stub(("true",), root))}, free_port())
    return written(root, value)


@contextmanager
def lock_held(state: Path) -> Iterator[None]:
    """Have another program hold the lock of a state directory."""
    code = (
        "import fcntl, os, sys\n"
        "lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)\n"
        "fcntl.flock(lock, fcntl.LOCK_EX)\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    argv = [PROGRAM[0], "-c", code, str(state / "lock")]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables()
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield
        holder.stdin.close()


@pytest.mark.req("B-LOCK-01")
def test_without_the_lock_nothing_is_touched(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    with lock_held(state):
        before = tree(state)
        done = run("serve", "--config", str(config), "--data-dir", str(state))
        assert done.returncode == 78
        assert str(state / "lock") in done.stderr
        assert "another process holds this lock" in done.stderr
        assert tree(state) == before
        assert list(before) == ["lock"]


@pytest.mark.req("B-LOCK-02")
def test_a_second_daemon_on_the_same_state_is_refused(tmp_path: Path) -> None:
    with running(tmp_path, engine=stub(tmp_path, ["obey"])) as service:
        before = tree(service.state)
        (tmp_path / "other").mkdir(mode=0o700)
        other = config_of(tmp_path / "other")
        for config in (service.root / "config/config.json", other):
            options = ("--config", str(config), "--data-dir", str(service.state))
            done = run("serve", *options)
            assert done.returncode == 78
            assert str(service.state / "lock") in done.stderr
            assert "--data-dir" in done.stderr  # the remedy
        assert tree(service.state) == before
        assert service.chat("Reply with exactly: unharmed") == "unharmed"


@pytest.mark.req("B-LOCK-05")
def test_the_lock_ends_with_a_killed_daemon(tmp_path: Path) -> None:
    with running(tmp_path, engine=stub(tmp_path, ["sleep", 60])) as service:
        with turn_in_flight(service):
            wait_until(lambda: is_marked_alive(instance_of(service)))
            crashed(service)
        with started(service):
            assert service.models().status_code == 200


@pytest.mark.req("B-LOCK-07")
def test_a_lock_file_that_nobody_holds_stops_nobody(tmp_path: Path) -> None:
    config = document({"agent": binding(stub(tmp_path, ["obey"]))}, free_port())
    service = prepared(tmp_path, config)
    lock = service.state / "lock"
    lock.write_text("1\n")  # a number of a living process means nothing either
    lock.chmod(0o600)
    with started(service):
        assert service.models().status_code == 200


@pytest.mark.req("B-LOCK-08")
def test_the_lock_file_is_private_and_stays(tmp_path: Path) -> None:
    with running(tmp_path, engine=stub(tmp_path, ["obey"])) as service:
        lock = service.state / "lock"
        found = lock.stat()
        assert stat.S_IMODE(found.st_mode) == 0o600
        assert service.stop() == 0
        assert lock.stat().st_ino == found.st_ino
        with started(service):
            assert lock.stat().st_ino == found.st_ino
