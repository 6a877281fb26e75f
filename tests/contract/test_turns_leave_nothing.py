"""What is left of turns, be they many or left by their clients: nothing."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.misbehaving import ESCAPES, is_alive, python
from tests.support.raw_http import connect, read_response
from tests.support.refusals import chat
from tests.support.service import (
    Service,
    image,
    running,
    stub,
    user,
    wait_until,
)

TURNS = 200
DEBUG = ("--log-level", "debug")


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a process holds, on Linux; its keeper has one warden in stock."""

    threads: int
    descriptors: int
    descendants: int

    @classmethod
    def of(cls, pid: int) -> Footprint:
        proc = Path("/proc") / str(pid)
        return cls(
            threads=len(list((proc / "task").iterdir())),
            descriptors=len(list((proc / "fd").iterdir())),
            descendants=len(descendants(pid)),
        )


def descendants(pid: int) -> set[int]:
    """Return the process ids of all descendants that are there at the moment."""
    found: set[int] = set()
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in (Path("/proc") / str(pid) / "task").iterdir():
            found |= {int(word) for word in (task / "children").read_text().split()}
    return found.union(*(descendants(child) for child in found))


def quick(name: str, *argv: str, **config: Any) -> dict[str, Any]:
    """Return the binding of a program that is soon done."""
    settings = {"argv": list(argv), "cwd": "../folder", "serialize": False, **config}
    return {"name": name, "executor": "command", "config": settings}


BINDINGS = {
    "good": quick("good", "cat", images={"mode": "file"}),
    "fails": quick("fails", "false"),
    "leaves a child": quick("child", "sh", "-c", "sleep 60 & cat"),
    "absent": quick("absent", "/no/such/engine"),
    "slow": quick("slow", "sleep", "60", kill_grace_seconds=0),
}


def take_turn(service: Service, number: int) -> int:
    """Take one turn of a mix that has every kind of end; return its status."""
    model = [*BINDINGS][number % 4]
    if number % 25 == 24:
        with pytest.raises(requests.Timeout):
            service.post({"messages": [user("x")], "model": "slow"}, timeout=0.1)
        return 0
    content = [image()] if model == "good" else "hello"
    return service.turn(user(content), model=model).status_code


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_200_turns_leave_the_daemon_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "temp").mkdir()
    environment = {"TMPDIR": str(tmp_path / "temp")}
    with (
        running(tmp_path, bindings=BINDINGS, environment=environment) as service,
        ThreadPoolExecutor(3) as threads,
    ):
        pid = service.process.pid
        for number in range(8):
            take_turn(service, number)
        before = settled(pid)
        statuses = list(
            threads.map(lambda number: take_turn(service, number), range(TURNS))
        )
        assert set(statuses) == {0, 200, 502}
        wait_until(lambda: Footprint.of(pid) == before)
        assert service.scratch == []
        assert list((tmp_path / "temp").iterdir()) == []
        assert list(service.folder.iterdir()) == []
        assert "Traceback" not in service.log


def settled(pid: int) -> Footprint:
    """Return the footprint once it does not change any more."""
    last = Footprint.of(pid)
    still_since = time.monotonic()
    while time.monotonic() - still_since < 1.5:
        time.sleep(0.05)
        now = Footprint.of(pid)
        if now != last:
            last, still_since = now, time.monotonic()
    return last


@pytest.mark.req("C-TIME-16")
def test_a_client_that_leaves_takes_its_engine_with_it(tmp_path: Path) -> None:
    (tmp_path / "hidden").mkdir()
    hidden = {
        "argv": list(python(ESCAPES, "deaf", "stay")),
        "cwd": "../hidden",
        "kill_grace_seconds": 0.5,
    }
    bindings = {"agent": {"name": "hidden", "executor": "command", "config": hidden}}
    with running(tmp_path, bindings=bindings, options=DEBUG) as service:
        path = tmp_path / "hidden" / "pid"
        with ThreadPoolExecutor(1) as threads:
            left = threads.submit(service.post, {"messages": [user("x")]}, timeout=1.5)
            wait_until(path.exists)
            pid = int(path.read_text("ascii"))
            assert is_alive(pid)
            assert isinstance(left.exception(10), requests.Timeout)
        wait_until(lambda: not is_alive(pid), 5)
        wait_until(lambda: " work_cancelled " in service.log, 5)
        assert "client_gone" in service.log


def test_a_client_that_half_closes_counts_as_gone(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["sleep", 60])
    with (
        running(tmp_path, engine, kill_grace_seconds=0) as service,
        connect(service.port) as sock,
    ):
        sock.sendall(chat("agent"))
        wait_until(lambda: engine.records)
        sock.shutdown(socket.SHUT_WR)
        response = read_response(sock)
        assert response.status == 502
        assert json.loads(response.body)["error"]["code"] == "upstream_failure"
        assert not is_alive(engine.only["pid"])
