"""How a warden finds and kills its descendants; here the test is the ancestor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from conduck_service.base.supervision import lineage, warden
from tests.processes.conftest import IS_LINUX
from tests.support.misbehaving import REPOSITORY

pytestmark = pytest.mark.skipif(not IS_LINUX, reason="wardens are for Linux")


STOPS_THEN_KILLS = """
import subprocess, time
from conduck_service.base.supervision.lineage import kill, stop_descendants
shell = subprocess.Popen(["sh", "-c", "sleep 60 & echo $!; wait"], stdout=-1)
family = {shell.pid, int(shell.stdout.readline())}
stopped = set()
assert stop_descendants(stopped)
assert stopped == family
assert not stop_descendants(stopped)
while {open(f"/proc/{pid}/stat").read().split()[2] for pid in family} != {"T"}:
    time.sleep(0.01)
assert kill(stopped)
assert shell.wait() == -9
assert shell.stdout.read() == b""  # the child held it open as well
"""


def stay(_numbers: set[int]) -> bool:
    """Say that somebody is left."""
    return True


@pytest.fixture
def bell() -> Iterator[warden.Bell]:
    handler = signal.getsignal(signal.SIGCHLD)
    bell = warden.Bell()
    yield bell
    os.close(signal.set_wakeup_fd(-1))
    os.close(bell.number)
    signal.signal(signal.SIGCHLD, handler)


@pytest.fixture
def family() -> Iterator[list[int]]:
    """The numbers of a shell and of its child."""
    with subprocess.Popen(
        ["sh", "-c", "sleep 60 & echo $!; wait"],
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as shell:
        assert shell.stdout is not None
        yield [shell.pid, int(shell.stdout.readline())]
        os.killpg(shell.pid, signal.SIGKILL)


@pytest.mark.parametrize("children", ["/proc/thread-self/children", "/no/such/file"])
def test_descendants_come_parents_first(
    family: list[int], monkeypatch: pytest.MonkeyPatch, children: str
) -> None:
    monkeypatch.setattr(lineage, "_CHILDREN", children)
    found = [pid for pid in lineage.descendants() if pid in family]
    assert found == family
    assert os.getpid() not in set(lineage.descendants())


def test_stopping_then_killing_reaches_the_whole_family() -> None:
    # In a process of its own, whose only descendants these are.
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", STOPS_THEN_KILLS],
        cwd=REPOSITORY,
        check=True,
        timeout=30,
    )


def test_what_may_not_be_killed_is_given_up_and_counted(
    family: list[int], bell: warden.Bell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_pid: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    monkeypatch.setattr(os, "killpg", refuse)
    began = time.monotonic()
    assert warden.kill_all(stay, bell) >= len(family)
    assert time.monotonic() - began < 5.0


def test_what_does_not_die_is_given_up_after_a_while(
    family: list[int], bell: warden.Bell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def do_nothing(_pid: int, _signal: int) -> None: ...

    monkeypatch.setattr(os, "kill", do_nothing)
    monkeypatch.setattr(os, "killpg", do_nothing)
    monkeypatch.setattr(warden, "KILLING_LIMIT", 0.2)
    began = time.monotonic()
    assert warden.kill_all(stay, bell) >= len(family)
    assert 0.2 <= time.monotonic() - began < 5.0


def test_killing_is_given_up_when_every_look_meets_somebody_new(
    bell: warden.Bell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meet(_stopped: set[int]) -> bool:
        return True

    monkeypatch.setattr(warden, "stop_descendants", meet)
    monkeypatch.setattr(warden, "KILLING_LIMIT", 0.1)
    assert warden.kill_all(stay, bell) >= 1
