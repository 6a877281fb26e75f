"""That leftovers are found by their marker, and nobody else is."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conduck_service.base.processes import MARKER, sweep
from conduck_service.base.supervision.sweep import (
    Process,
    family,
    parse_ps,
    send,
    snapshot,
)
from tests.support.misbehaving import is_alive, wait_until

PS = b"""\
  501     1   501 S    Mon Nov 30 13:59:01 2026     engine CONDUCK_EXECUTION=home.aa X=1
  502   501   502 Ss+  Tue Dec  1 09:05:00 2026     /bin/zsh -c sleep 60
 1503   501   501 Z    Tue Dec  1 09:05:00 2026     (engine)
 1504     1  1504 R    Tue Dec  1 09:05:00 2026     other CONDUCK_EXECUTION=homely.aa
    part of a variable that holds a line end
"""

Sleep = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def sleep() -> Iterator[Sleep]:
    """Start what sleeps with a marker in its environment."""
    started: list[subprocess.Popen[bytes]] = []

    def start(marker: str, before: str = "") -> subprocess.Popen[bytes]:
        argv = ["sh", "-c", f"{before} echo; exec sleep 60"]
        environment = {"PATH": os.defpath, MARKER: marker}
        if before:
            argv[2] = f"{before} echo; while :; do sleep 1; done"
        process = subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n"
        process.stdout.close()
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_a_sweep_ends_all_of_an_instance_and_nobody_else(
    sleep: Sleep, marker: str
) -> None:
    instance = marker.partition(".")[0]
    ours = [sleep(f"{instance}.{number}") for number in range(3)]
    others = [sleep(f"{instance}x.1"), sleep(f"x{instance}.1")]
    assert sweep(f"{instance}.", 15.0) == 3
    assert [process.wait() for process in ours] == [-signal.SIGTERM] * 3
    assert all(process.poll() is None for process in others)


def test_a_sweep_of_nothing_ends_nothing(marker: str) -> None:
    began = time.monotonic()
    assert sweep(marker, 15.0) == 0
    assert time.monotonic() - began < 5.0


def test_a_sweep_kills_what_ignores_sigterm_after_the_grace(
    sleep: Sleep, marker: str
) -> None:
    process = sleep(marker, "trap '' TERM;")
    began = time.monotonic()
    assert sweep(marker, 0.2) >= 1
    assert 0.2 <= time.monotonic() - began < 10.0
    assert process.wait() == -signal.SIGKILL


def test_a_sweep_without_grace_kills_at_once(sleep: Sleep, marker: str) -> None:
    process = sleep(marker)
    assert sweep(marker, 0.0) == 1
    assert process.wait() == -signal.SIGKILL


def test_a_sweep_spares_the_process_that_sweeps(
    marker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = [item for item in snapshot() if item.pid == os.getpid()]
    assert own
    marked = dataclasses.replace(
        own[0], environment=f"A=1\0{MARKER}={marker}\0".encode()
    )
    assert family([marked], MARKER, marker) == []


def test_a_number_that_is_another_process_by_now_gets_no_signal(
    sleep: Sleep, marker: str
) -> None:
    process = sleep(marker)
    (found,) = family(snapshot(), MARKER, marker)
    send([dataclasses.replace(found, started="1")], signal.SIGKILL)
    send([dataclasses.replace(found, environment=b"")], signal.SIGKILL)
    time.sleep(0.05)
    assert process.poll() is None

    def is_killed() -> bool:
        # Looked up anew: the shell may have become its program meanwhile.
        send(family(snapshot(), MARKER, marker), signal.SIGKILL)
        return process.poll() == -signal.SIGKILL

    wait_until(is_killed)
    send([found], signal.SIGKILL)


def test_the_family_of_a_marked_process_is_found_by_parents() -> None:
    def process(pid: int, parent: int, environment: bytes = b"") -> Process:
        return Process(
            pid=pid, parent=parent, group=pid, started="1", environment=environment
        )

    everybody = [
        process(10_000_001, 1, b"A=1\0CONDUCK_EXECUTION=home.aa\0"),
        process(10_000_002, 10_000_001),
        process(10_000_003, 10_000_002),
        process(10_000_004, 1),
        process(10_000_005, 10_000_004),
        process(10_000_006, 1, b"XCONDUCK_EXECUTION=home.aa\0"),
        process(10_000_007, 1, b"A=1\0CONDUCK_EXECUTION=home1.aa\0"),
    ]

    def pids(prefix: str, *roots: int) -> list[int]:
        found = family(everybody, MARKER, prefix, roots)
        return [item.pid - 10_000_000 for item in found]

    assert pids("home.") == [1, 2, 3]
    assert pids("away.") == []
    assert pids("away.", 10_000_004) == [4, 5]


def test_the_table_of_ps_is_read_whatever_is_in_it() -> None:
    found = parse_ps(PS)
    assert [item.pid for item in found] == [501, 502, 1504]
    assert [item.parent for item in found] == [1, 501, 1]
    assert [item.group for item in found] == [501, 502, 1504]
    assert found[0].started == "Mon Nov 30 13:59:01 2026"
    assert found[1].started == "Tue Dec  1 09:05:00 2026"
    assert [item.pid for item in family(found, MARKER, "home.")] == [501, 502]
    assert [item.pid for item in family(found, MARKER, "homely.")] == [1504]


@pytest.mark.skipif(sys.platform != "linux", reason="the environment of /proc")
def test_a_process_that_becomes_another_program_is_seen_all_the_while(
    marker: str, tmp_path: Path
) -> None:
    again = tmp_path / "again"
    again.write_text('#!/bin/sh\nsleep 0.01\nexec "$0"\n')
    again.chmod(0o700)
    environment = {"PATH": os.defpath, MARKER: marker}
    with subprocess.Popen([again], env=environment) as process:
        until = time.monotonic() + 1.5
        seen = [
            snapshot([process.pid])
            for _ in iter(lambda: time.monotonic() < until, False)
        ]
        process.kill()
    assert all(marker.encode() in found.environment for (found,) in seen)


@pytest.mark.skipif(sys.platform != "linux", reason="the environment of /proc")
def test_a_process_without_an_environment_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with subprocess.Popen(["/bin/sleep", "60"], env={}) as process:
        try:
            line = Path(f"/proc/{process.pid}/cmdline")
            wait_until(lambda: b"sleep" in line.read_bytes())
            monkeypatch.setattr("time.sleep", lambda _: pytest.fail("it waits"))
            (found,) = snapshot([process.pid])
            assert found.environment == b""
        finally:
            process.kill()


def test_the_dead_are_not_in_the_table(sleep: Sleep, marker: str) -> None:
    process = sleep(marker)
    assert is_alive(process.pid)
    process.kill()
    wait_until(lambda: not is_alive(process.pid))  # a zombie until it is waited for
    assert family(snapshot(), MARKER, marker) == []
