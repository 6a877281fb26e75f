"""What happens to engines when one of those who watch them is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from conduck_service.base.processes import Ended, LaunchError
from conduck_service.base.supervision.kept import KeptSupervisor
from conduck_service.base.supervision.sweep import snapshot
from conduck_service.base.supervision.warden import CATCHABLE
from tests.support.misbehaving import (
    ESCAPES,
    HOLDS_AN_ENGINE,
    IGNORES_TERM,
    REPOSITORY,
    TELLS_PID,
    Bench,
    is_alive,
    is_marked_alive,
    python,
    shell,
    wait_until,
)


def children(pid: int) -> list[int]:
    return [item.pid for item in snapshot() if item.parent == pid]


def parent(pid: int) -> int:
    return next(item.parent for item in snapshot([pid]))


@pytest.fixture
def kept() -> Iterator[KeptSupervisor]:
    """A supervisor for one test, which may hurt it."""
    if os.uname().sysname != "Linux":
        pytest.skip("wardens are for Linux")
    supervisor = KeptSupervisor("test")
    yield supervisor
    supervisor.close()


@pytest.fixture
def daemon(
    request: pytest.FixtureRequest, kept: KeptSupervisor, tmp_path: Path, marker: str
) -> Iterator[subprocess.Popen[str]]:
    """A process that holds an engine with a hidden grandchild."""
    argv = python(ESCAPES, request.param, "stay")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS_AN_ENGINE, str(tmp_path), marker, *argv],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


@pytest.mark.parametrize(
    ("daemon", "number"),
    [("deaf", signal.SIGKILL), ("hears", signal.SIGKILL), ("hears", signal.SIGTERM)],
    indirect=["daemon"],
)
def test_no_engine_outlives_its_daemon(
    daemon: subprocess.Popen[str], tmp_path: Path, marker: str, number: int
) -> None:
    assert daemon.stdout is not None
    assert daemon.stdout.readline() == "started\n"
    hidden = tmp_path / "pid"
    wait_until(hidden.exists)
    wardens = [pid for child in children(daemon.pid) for pid in children(child)]
    assert len(wardens) == 2  # one at work, one waiting
    daemon.send_signal(number)
    daemon.wait()
    wait_until(lambda: not is_marked_alive(marker), 10.0)
    wait_until(lambda: not is_alive(int(hidden.read_text())), 10.0)
    wait_until(lambda: not any(is_alive(pid) for pid in wardens), 10.0)


def test_a_killed_warden_is_a_crash_and_leaves_nothing_marked(
    kept_bench: Bench,
) -> None:
    run = kept_bench.start(shell(IGNORES_TERM))
    pid = run.pid()
    os.kill(parent(pid), signal.SIGKILL)
    assert run.ended() == Ended(-9)
    assert run.tree.wait(0.0) == Ended(-9)
    run.tree.end(0.0)
    assert not is_alive(pid)
    assert not is_marked_alive(kept_bench.marker)
    assert kept_bench.start(shell("exit 3")).ended() == Ended(3)


def test_a_killed_keeper_is_replaced_and_its_turns_go_on(
    kept: KeptSupervisor, kept_bench: Bench
) -> None:
    run = kept_bench.start(shell(f"{TELLS_PID}; read line; sleep 60"))
    pid = run.pid()
    keeper = kept._keeper.pid
    os.kill(keeper, signal.SIGKILL)
    for number in range(3):  # the waiting warden takes the first
        assert kept_bench.start(shell(f"exit {number}")).ended() == Ended(number)
    assert kept._keeper.pid != keeper
    assert run.tree.wait(0.0) is None
    run.tree.end(15.0)
    assert run.ended() == Ended(-15)
    assert not is_alive(pid)


def test_a_keeper_killed_with_its_waiting_warden_is_replaced(
    kept: KeptSupervisor, kept_bench: Bench
) -> None:
    wait_until(lambda: len(children(kept._keeper.pid)) == 1)
    for pid in (*children(kept._keeper.pid), kept._keeper.pid):
        os.kill(pid, signal.SIGKILL)
    assert kept_bench.start(shell("exit 5")).ended() == Ended(5)


def test_a_killed_waiting_warden_is_replaced(
    kept: KeptSupervisor, kept_bench: Bench
) -> None:
    wait_until(lambda: len(children(kept._keeper.pid)) == 1)
    (waiting,) = children(kept._keeper.pid)
    os.kill(waiting, signal.SIGKILL)
    wait_until(lambda: not is_alive(waiting))
    assert kept_bench.start(shell("exit 5")).ended() == Ended(5)


def test_turns_that_begin_while_the_keeper_dies_all_run(
    kept: KeptSupervisor, kept_bench: Bench
) -> None:
    statuses: list[int] = []

    def turn(number: int) -> None:
        statuses.append(kept_bench.start(shell(f"exit {number}")).ended().status)

    threads = [threading.Thread(target=turn, args=(number,)) for number in range(12)]
    for number, thread in enumerate(threads):
        thread.start()
        if number == 3:
            os.kill(kept._keeper.pid, signal.SIGKILL)
    for thread in threads:
        thread.join()
    assert sorted(statuses) == list(range(12))


def test_after_close_nothing_starts_and_what_runs_is_supervised(
    kept: KeptSupervisor, kept_bench: Bench
) -> None:
    run = kept_bench.start(shell(f"{TELLS_PID}; sleep 60"))
    pid = run.pid()
    kept.close()
    kept.close()
    with pytest.raises(LaunchError):
        kept_bench.start(shell("exit 0"))
    assert run.tree.wait(0.0) is None
    run.tree.end(15.0)
    assert run.ended() == Ended(-15)
    assert not is_alive(pid)


def test_signals_for_everybody_do_not_take_the_wardens(
    kept: KeptSupervisor, kept_bench: Bench
) -> None:
    run = kept_bench.start(shell(f"{TELLS_PID}; sleep 60"))
    warden = parent(run.pid())
    for pid in (warden, kept._keeper.pid):
        for number in CATCHABLE:
            os.kill(pid, number)
    assert run.tree.wait(0.1) is None
    assert is_alive(warden)
    assert kept_bench.start(shell("exit 6")).ended() == Ended(6)


def test_two_hundred_turns_leave_nothing(
    kept: KeptSupervisor, kept_bench: Bench
) -> None:
    def used() -> tuple[int, int]:
        return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

    def is_keeper_at_rest() -> bool:
        """One waiting warden and no zombie; three streams, a socket, three ends."""
        proc = Path("/proc", str(kept._keeper.pid))
        told = (proc / "task" / proc.name / "children").read_text()
        return len(told.split()) == 1 and len(list((proc / "fd").iterdir())) == 7

    wait_until(is_keeper_at_rest)
    before = used()
    for _ in range(200):
        assert kept_bench.start(shell("exit 0")).ended() == Ended(0)
        kept_bench.close()
    assert used() == before
    wait_until(is_keeper_at_rest)
    assert children(os.getpid()).count(kept._keeper.pid) == 1


def test_a_refused_start_leaves_nothing(
    kept: KeptSupervisor, kept_bench: Bench
) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for argv in [("./missing",), ("missing",), ("sh", "a\0b"), ()] * 10:
        with pytest.raises(LaunchError):
            kept_bench.start(argv)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_keeper_is_small_and_holds_only_its_socket(kept: KeptSupervisor) -> None:
    proc = Path("/proc", str(kept._keeper.pid))
    wait_until(lambda: len(children(kept._keeper.pid)) == 1)
    assert (proc / "environ").read_bytes() in {b"", b"LC_CTYPE=C.UTF-8\0"}
    wait_until(lambda: len(list((proc / "fd").iterdir())) == 7)
    places = {path.name: str(path.readlink()) for path in (proc / "fd").iterdir()}
    assert {places.pop(number) for number in "012"} == {os.devnull}
    kinds = sorted(place.partition(":")[0] for place in places.values())
    # One pipe tells when the warden has a turn, one rings for the dead.
    assert kinds == ["pipe", "pipe", "pipe", "socket"]
    resident = int((proc / "statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    assert resident < 25_000_000
