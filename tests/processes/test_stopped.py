"""What happens to turns when one of those who watch them is stopped, or its tree hides.

An engine is of the same user as its warden and the keeper, so it can do all this.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conduck_service.base.processes import Ended, LaunchError
from conduck_service.base.supervision import kept as kept_module
from conduck_service.base.supervision import kept_tree
from conduck_service.base.supervision.kept import KeptSupervisor
from conduck_service.base.supervision.sweep import snapshot
from tests.processes.conftest import IS_LINUX
from tests.support.misbehaving import (
    ESCAPES,
    HOLDS_AN_ENGINE,
    REPOSITORY,
    RUNS_AWAY,
    STOPS_ITS_WARDEN,
    STOPS_ITS_WARDEN_ALWAYS,
    Bench,
    is_alive,
    is_marked_alive,
    python,
    shell,
    wait_until,
)

pytestmark = pytest.mark.skipif(not IS_LINUX, reason="wardens are for Linux")


def children(pid: int) -> list[int]:
    return [item.pid for item in snapshot() if item.parent == pid]


def warden_of(marker: str) -> int:
    """Return the parent of the marked process whose parent is not marked."""
    needle = f"={marker}".encode()
    marked = [item for item in snapshot() if needle in item.environment]
    return ({item.parent for item in marked} - {item.pid for item in marked}).pop()


def is_stopped(pid: int) -> bool:
    stat = Path("/proc", str(pid), "stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "T"


def stop(*pids: int) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda pid=pid: is_stopped(pid))  # type: ignore[misc]


def waiting_warden(supervisor: KeptSupervisor) -> int:
    wait_until(lambda: len(children(supervisor._keeper.pid)) == 1)
    return children(supervisor._keeper.pid)[0]


@pytest.fixture
def kept() -> Iterator[KeptSupervisor]:
    """A supervisor for one test, which may hurt it."""
    supervisor = KeptSupervisor("test")
    yield supervisor
    supervisor.close()


@pytest.fixture
def unwakeable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wardens stay stopped, as if somebody stopped them again and again."""
    send = signal.pidfd_send_signal

    def send_all_but_wake(descriptor: int, number: int) -> None:
        if number != signal.SIGCONT:
            send(descriptor, number)

    monkeypatch.setattr(signal, "pidfd_send_signal", send_all_but_wake)
    monkeypatch.setattr(kept_tree, "KILLING_LIMIT", 0.3)
    monkeypatch.setattr(kept_tree, "_MARGIN", 0.1)


def test_an_engine_that_stops_its_warden_ends_as_if_it_had_not(
    kept_bench: Bench,
) -> None:
    run = kept_bench.start(shell(STOPS_ITS_WARDEN))
    assert run.ended() == Ended(0)
    assert run.output() == "hi\n"


def test_a_tree_whose_warden_is_stopped_ends_when_it_is_told(kept_bench: Bench) -> None:
    run = kept_bench.start(python(ESCAPES, "deaf", "stay"))
    pid = run.pid()
    stop(warden_of(kept_bench.marker))
    began = time.monotonic()
    run.tree.end(0.2)
    assert run.ended().status in {-15, -9}
    assert time.monotonic() - began < 8.0
    assert not is_alive(pid)


@pytest.mark.usefixtures("unwakeable")
@pytest.mark.parametrize("argv", [(ESCAPES, "deaf", "stay"), (RUNS_AWAY, "sessions")])
def test_a_tree_whose_warden_stays_stopped_is_ended_with_it(
    kept_bench: Bench, argv: tuple[str, ...]
) -> None:
    run = kept_bench.start(python(*argv))
    pid = run.pid()
    warden = warden_of(kept_bench.marker)
    stop(warden)
    began = time.monotonic()
    run.tree.end(0.2)
    assert run.tree.wait(0.1) is None
    assert run.ended() == Ended(-9)
    assert 0.2 <= time.monotonic() - began < 15.0
    wait_until(lambda: not is_alive(warden))
    wait_until(lambda: not is_alive(pid))
    wait_until(lambda: not is_marked_alive(kept_bench.marker))
    assert kept_bench.start(shell("exit 3")).ended() == Ended(3)


def test_a_held_warden_costs_no_descriptor(kept_bench: Bench) -> None:
    folder = Path("/proc/self/fd")
    before = len(list(folder.iterdir()))
    run = kept_bench.start(shell("sleep 60"))
    run.tree.end(0.0)
    run.ended()
    kept_bench.close()
    assert len(list(folder.iterdir())) == before


def test_what_hides_from_a_killed_warden_ends_by_the_keeper(kept_bench: Bench) -> None:
    run = kept_bench.start(python(ESCAPES, "deaf", "stay"))
    pid = run.pid()
    other = kept_bench.start(shell("read line; sleep 60"))
    os.kill(warden_of(f"{kept_bench.marker}0000"), signal.SIGKILL)
    assert run.ended() == Ended(-9)
    wait_until(lambda: not is_alive(pid))
    assert other.tree.wait(0.1) is None  # the orphans of one are not those of another
    assert kept_bench.start(shell("exit 3")).ended() == Ended(3)


@pytest.mark.parametrize("stopped", ["warden", "keeper", "both"])
def test_no_engine_outlives_its_daemon_when_a_watcher_is_stopped(
    tmp_path: Path, marker: str, stopped: str
) -> None:
    argv = python(ESCAPES, "deaf", "stay")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS_AN_ENGINE, str(tmp_path), marker, *argv],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    ) as daemon:
        assert daemon.stdout is not None
        assert daemon.stdout.readline() == "started\n"
        wait_until((tmp_path / "pid").exists)
        (keeper,) = children(daemon.pid)
        wait_until(lambda: len(children(keeper)) == 2)
        watchers = [keeper, *children(keeper)]
        warden = warden_of(marker)
        stop(
            *{"warden": [warden], "keeper": [keeper], "both": [warden, keeper]}[stopped]
        )
        daemon.kill()
    wait_until(lambda: not is_marked_alive(marker), 10.0)
    hidden = int((tmp_path / "pid").read_text())
    wait_until(lambda: not is_alive(hidden), 10.0)
    wait_until(lambda: not any(is_alive(pid) for pid in watchers), 10.0)


# In the keeper, and in the wardens it forks, nobody is woken and patience is short.
WAKES_NOBODY = """
from conduck_service.base.supervision import kept
kept._CODE = kept._CODE.replace(
    "; main(",
    "; from conduck_service.base.supervision import keeper"
    "; keeper.signal.SIGCONT = 0; keeper._OUTLIVING_LIMIT = 0.5; main(",
)
"""


@pytest.mark.parametrize("before", ["", WAKES_NOBODY], ids=["woken", "killed"])
def test_no_engine_outlives_its_daemon_by_stopping_its_warden(
    tmp_path: Path, marker: str, before: str
) -> None:
    argv = shell(STOPS_ITS_WARDEN_ALWAYS)
    code = before + HOLDS_AN_ENGINE
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path), marker, *argv],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
    ) as daemon:
        wait_until((tmp_path / "pid").exists)
        (keeper,) = children(daemon.pid)
        wait_until(lambda: len(children(keeper)) == 2)
        watchers = [keeper, *children(keeper)]
        daemon.kill()
    wait_until(lambda: not is_marked_alive(marker))
    wait_until(lambda: not any(is_alive(pid) for pid in watchers))


def test_a_stopped_keeper_and_its_waiting_warden_are_woken(
    kept: KeptSupervisor, kept_bench: Bench
) -> None:
    keeper = kept._keeper.pid
    stop(waiting_warden(kept), keeper)
    began = time.monotonic()
    for number in (1, 2):
        assert kept_bench.start(shell(f"exit {number}")).ended() == Ended(number)
    assert time.monotonic() - began < 4.0
    assert kept._keeper.pid == keeper


def test_a_silent_keeper_is_replaced_and_the_turn_begins_once(
    kept: KeptSupervisor, kept_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_module, "_wake_wardens", lambda _keeper: None)
    monkeypatch.setattr(kept_module, "_WAKE_AFTER", 0.1)
    monkeypatch.setattr(kept_module, "_ANSWER_LIMIT", 1.0)
    keeper, silent = kept._keeper.pid, waiting_warden(kept)
    stop(silent)
    run = kept_bench.start(shell("echo begun >> begun; exit 5"))
    assert run.ended() == Ended(5)
    assert kept._keeper.pid != keeper
    with contextlib.suppress(ProcessLookupError):  # it may be gone by now
        os.kill(silent, signal.SIGCONT)
    wait_until(lambda: not is_alive(silent))
    assert (kept_bench.folder / "begun").read_text() == "begun\n"


def test_a_replaced_keeper_leaves_no_stopped_warden(
    kept: KeptSupervisor, kept_bench: Bench
) -> None:
    silent = waiting_warden(kept)
    stop(silent, kept._keeper.pid)
    kept._replace_keeper(kept._control)
    wait_until(lambda: not is_alive(silent))
    assert kept_bench.start(shell("exit 5")).ended() == Ended(5)


def test_two_silent_keepers_are_no_start(
    kept: KeptSupervisor, kept_bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_answered(*_arguments: object) -> bool:
        return False

    before = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr(kept_module, "_is_answered", is_answered)
    monkeypatch.setattr(kept_module, "_send_turn", lambda *_arguments: True)
    with pytest.raises(LaunchError) as caught:
        kept_bench.start(shell("exit 0"))
    assert caught.value.reason == "other"
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_keeper_is_no_place_to_hide_a_stopped_tree(
    kept: KeptSupervisor, kept_bench: Bench
) -> None:
    run = kept_bench.start(python(RUNS_AWAY, "group"))
    run.pid()
    os.kill(warden_of(kept_bench.marker), signal.SIGKILL)
    assert run.ended().status == -9
    wait_until(lambda: len(children(kept._keeper.pid)) == 1)
    assert not is_marked_alive(kept_bench.marker)
