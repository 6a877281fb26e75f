from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conduck_service.base.safefiles import (
    ExclusiveLock,
    Fault,
    LockHeldError,
    SafeFileError,
)

ROOT = Path(__file__).parents[2]

HOLDER = """
import os, subprocess, sys, time
from pathlib import Path
from conduck_service.base.safefiles import ExclusiveLock

lock = ExclusiveLock(Path(sys.argv[1]))
lock.acquire()
child = 0
if sys.argv[2] == "fork":
    child = os.fork()
    if child == 0:
        print(os.getpid(), flush=True)  # by now its copy of the lock is closed
        time.sleep(60)
        os._exit(0)
elif sys.argv[2] == "exec":
    child = subprocess.Popen(["sleep", "60"], close_fds=False).pid
if sys.argv[2] != "fork":
    print(child, flush=True)
time.sleep(60)
"""


Hold = Callable[[Path, str], "subprocess.Popen[str]"]


@pytest.fixture
def hold() -> Iterator[Hold]:
    """Return what starts a process that holds a lock; its children end too."""
    started: list[int] = []

    def start(path: Path, way: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(path), way],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        started.append(process.pid)
        holders.append(process)
        assert process.stdout is not None
        child = int(process.stdout.readline())
        if child:
            started.append(child)
        return process

    holders: list[subprocess.Popen[str]] = []
    yield start
    for process in holders:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    for pid in started:
        if pid not in [process.pid for process in holders]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def is_free(path: Path) -> bool:
    try:
        with ExclusiveLock(path):
            return True
    except LockHeldError:
        return False


@pytest.mark.req("B-LOCK-05")
def test_a_lock_ends_with_the_process_that_holds_it(tmp_path: Path, hold: Hold) -> None:
    path = tmp_path / "lock"
    holder = hold(path, "alone")
    assert not is_free(path)
    holder.kill()
    holder.wait()
    assert is_free(path)


def test_a_second_process_is_refused_and_the_first_keeps_the_lock(
    tmp_path: Path, hold: Hold
) -> None:
    path = tmp_path / "lock"
    holder = hold(path, "alone")
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(3):
        with pytest.raises(LockHeldError) as caught:
            ExclusiveLock(path).acquire()
    assert len(list(Path("/dev/fd").iterdir())) == before
    assert str(path) in str(caught.value)
    assert "--data-dir" in caught.value.remedy
    assert holder.poll() is None
    assert not is_free(path)


@pytest.mark.parametrize("way", ["fork", "exec"])
def test_children_of_the_holder_do_not_hold_its_lock(
    tmp_path: Path, hold: Hold, way: str
) -> None:
    path = tmp_path / "lock"
    holder = hold(path, way)
    assert not is_free(path)
    holder.kill()
    holder.wait()
    assert is_free(path)


@pytest.mark.req("B-LOCK-07")
def test_a_file_left_behind_locks_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text("1")
    path.chmod(0o600)
    assert is_free(path)
    assert path.read_text() == "1"


@pytest.mark.req("B-LOCK-08")
def test_the_lock_file_is_private_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    before = os.umask(0)
    try:
        with ExclusiveLock(path):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            number = path.stat().st_ino
    finally:
        os.umask(before)
    assert path.stat().st_ino == number
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_lock_is_taken_and_given_back_more_than_once(tmp_path: Path) -> None:
    lock = ExclusiveLock(tmp_path / "lock")
    for _ in range(2):
        lock.acquire()
        lock.acquire()
        assert not is_free(lock.path)
        lock.release()
        lock.release()
        assert is_free(lock.path)


def test_an_unsafe_lock_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target").touch(0o600)
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "open").touch()
    (tmp_path / "open").chmod(0o644)
    faults = []
    before = len(list(Path("/dev/fd").iterdir()))
    for path in (tmp_path / "link", tmp_path / "open", tmp_path / "gone" / "lock"):
        with pytest.raises(SafeFileError) as caught:
            ExclusiveLock(path).acquire()
        faults.append(caught.value.fault)
    assert faults == [Fault.LINK, Fault.MODE, Fault.MISSING]
    assert len(list(Path("/dev/fd").iterdir())) == before
