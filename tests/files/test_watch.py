"""The watcher mends modes of new entries and counts what will not be delivered."""

from __future__ import annotations

import errno
import logging
import math
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conduck_service.files.upkeep import inotify, watch
from conduck_service.files.upkeep.watch import Watcher
from tests.support.service import wait_until

OUT = "0F0E0D0C-1111-4222-8333-444455556666/out-" + "0a" * 16

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not inotify.is_usable(), reason="nothing to watch with"
)


class Lane:
    """A watched root, and a turn that runs or ended some seconds ago."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.since_turn = math.inf
        self.watcher = self.watch()

    def watch(self, *, mends: bool = True) -> Watcher:
        return Watcher(self.root, mends=mends, since_turn=lambda: self.since_turn)

    def write(self, name: str, mode: int = 0o600) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode)
        return path

    def settle(self) -> None:
        """Wait until everything so far has been looked at."""
        probe = self.write(f"probe-{len(list(self.root.iterdir()))}")
        self.watcher.note(probe.stat())
        wait_until(lambda: mode_of(probe) & 0o060 == 0o060)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def lane(tmp_path: Path) -> Iterator[Lane]:
    root = tmp_path.resolve() / "root"
    (root / "before").mkdir(parents=True, mode=0o700)
    (root / "before/file").touch(0o600)
    before = os.umask(0o077)
    lane = Lane(root)
    lane.watcher.start()
    try:
        yield lane
    finally:
        lane.watcher.stop()
        os.umask(before)


def counts(caplog: pytest.LogCaptureFixture) -> list[int]:
    return [
        record.count  # type: ignore[attr-defined]
        for record in caplog.records
        if getattr(record, "action", "") == "lane_files_elsewhere"
    ]


@pytest.mark.req("F-PERM-12")
def test_new_files_and_folders_become_the_groups(lane: Lane) -> None:
    file = lane.write("a.txt")
    wait_until(lambda: mode_of(file) == 0o660)
    for name in ("one/two/three/b.txt", "before/c.txt"):
        file = lane.write(name)
        wait_until(lambda: mode_of(file) == 0o660)  # noqa: B023 - waited for here
    for folder in ("one", "one/two", "one/two/three"):
        assert mode_of(lane.root / folder) == 0o2770
    program = lane.write("run.sh", 0o700)
    wait_until(lambda: mode_of(program) == 0o760)


def test_what_was_there_before_is_left_as_it_is(lane: Lane) -> None:
    lane.settle()
    assert mode_of(lane.root / "before") == 0o700
    assert mode_of(lane.root / "before/file") == 0o600


def test_what_comes_under_another_name_is_mended_too(lane: Lane) -> None:
    outside = lane.root.parent / "outside"
    (outside / "sub").mkdir(parents=True)
    (outside / "sub/a.txt").touch()
    (outside / "b.txt").touch()
    (outside / "b.txt").rename(lane.root / "b.txt")
    wait_until(lambda: mode_of(lane.root / "b.txt") == 0o660)
    outside.rename(lane.root / "inside")
    wait_until(lambda: mode_of(lane.root / "inside/sub/a.txt") == 0o660)
    (lane.root / "inside").rename(lane.root / "moved")
    file = lane.write("moved/sub/later.txt")
    wait_until(lambda: mode_of(file) == 0o660)


def test_names_that_are_not_text_are_mended_too(lane: Lane) -> None:
    path = os.fsencode(lane.root) + b"/caf\xe9\n\xff"
    os.mkdir(path)  # noqa: PTH102 - its name is bytes
    os.close(os.open(path + b"/\xfe.txt", os.O_CREAT | os.O_WRONLY, 0o600))
    wait_until(lambda: stat.S_IMODE(os.stat(path + b"/\xfe.txt").st_mode) == 0o660)  # noqa: PTH116


def test_links_are_never_followed(lane: Lane) -> None:
    outside = lane.root.parent / "outside"
    outside.mkdir(mode=0o700)
    (outside / "file").touch(0o600)
    (lane.root / "door").symlink_to(outside)
    (lane.root / "link").symlink_to(outside / "file")
    (lane.root / "hard").hardlink_to(outside / "file")
    os.mkfifo(lane.root / "pipe", 0o600)
    lane.settle()
    (outside / "late").touch(0o600)
    lane.settle()
    modes = [mode_of(path) for path in (outside, outside / "file", outside / "late")]
    assert modes == [0o700, 0o600, 0o600]
    assert mode_of(lane.root / "pipe") == 0o600


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_another_user_owns_is_left_alone(lane: Lane) -> None:
    outside = lane.root.parent / "file"
    outside.touch(0o600)
    os.chown(outside, 65534, 65534)
    outside.rename(lane.root / "theirs")
    lane.settle()
    assert mode_of(lane.root / "theirs") == 0o600


def test_a_folder_of_one_user_keeps_its_modes(lane: Lane) -> None:
    lane.watcher.stop()
    lane.watcher = lane.watch(mends=False)
    lane.watcher.start()
    lane.since_turn = 0
    file = lane.write("new/a.txt")
    wait_until(lambda: lane.watcher._strays.is_waiting)
    assert (mode_of(file), mode_of(file.parent)) == (0o600, 0o700)


def test_files_that_are_not_delivered_are_counted_once(
    lane: Lane, caplog: pytest.LogCaptureFixture
) -> None:
    lane.since_turn = 0
    for name in (
        "top.txt",
        "sub/a.txt",
        f"{OUT}/sub/b.txt",
        f"{OUT}x/c.txt",
        "before/d.txt",
    ):
        lane.write(name)
    for number in range(3):
        lane.write(f"{OUT}/{number}.txt")
    lane.settle()
    assert counts(caplog) == []
    lane.since_turn = 60
    lane.write("late.txt")
    lane.settle()
    assert counts(caplog) == []
    lane.since_turn = 60.1
    wait_until(lambda: counts(caplog))
    assert counts(caplog) == [6]
    lane.write("much-later.txt")
    lane.settle()
    assert counts(caplog) == [6]
    assert not any(name in caplog.text for name in ("txt", "out-", "root"))


def test_what_the_lane_wrote_is_not_counted(
    lane: Lane, caplog: pytest.LogCaptureFixture
) -> None:
    lane.since_turn = 0
    lane.watcher.note(lane.write("upload.txt").stat())
    lane.write("mine.txt")
    (lane.root / f".conduck-{'0a' * 16}").touch()
    lane.settle()
    lane.since_turn = 61
    wait_until(lambda: counts(caplog))
    assert counts(caplog) == [1]


def test_what_does_not_stay_is_not_counted(
    lane: Lane, caplog: pytest.LogCaptureFixture
) -> None:
    lane.since_turn = 0
    (lane.root / OUT).mkdir(parents=True)
    lane.write("draft").rename(lane.root / OUT / "a.txt")
    gone = lane.write("gone.txt")
    lane.write("first.txt").rename(lane.root / "second.txt")
    os.mkfifo(lane.root / "pipe")
    (lane.root / "link").symlink_to("before/file")
    lane.settle()
    gone.unlink()
    lane.since_turn = 61
    wait_until(lambda: counts(caplog))
    assert counts(caplog) == [1]


def test_what_is_due_at_the_end_is_still_said(
    lane: Lane, caplog: pytest.LogCaptureFixture
) -> None:
    lane.since_turn = 0
    lane.write("a.txt")
    lane.settle()
    lane.watcher.stop()
    assert counts(caplog) == [1]


def test_a_removed_root_ends_nothing(lane: Lane) -> None:
    away = lane.root.with_name("away")
    lane.root.rename(away)
    (away / "lost.txt").touch(0o600)
    away.rename(lane.root)
    lane.settle()
    subprocess.run(["rm", "-rf", str(lane.root)], check=True)
    lane.root.mkdir()
    lane.watcher.stop()


def test_there_is_a_bound_for_watches(
    lane: Lane, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "MOST_WATCHES", 4)
    for number in range(6):
        (lane.root / f"folder-{number}").mkdir()
    lane.settle()
    (record,) = caplog.records
    assert (record.action, record.count) == ("watch", 4)  # type: ignore[attr-defined]


def test_a_system_without_watches_is_told_once(
    lane: Lane, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = lane.watcher._inotify._manager  # type: ignore[union-attr]
    text = f"Errno=No space left on device ({errno.errorcode[errno.ENOSPC]})"

    def refuse(*_: Any, **__: Any) -> None:
        raise inotify.pyinotify.WatchManagerError(text, {})

    monkeypatch.setattr(manager, "add_watch", refuse)
    for number in range(3):
        (lane.root / f"folder-{number}").mkdir()
    file = lane.write("still.txt")
    wait_until(lambda: mode_of(file) == 0o660)
    assert [record.action for record in caplog.records] == ["watch"]  # type: ignore[attr-defined]


def test_without_pyinotify_nothing_is_watched(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inotify, "pyinotify", None)
    with caplog.at_level(logging.INFO):
        watcher = Watcher(tmp_path, mends=True, since_turn=lambda: 0.0)
        watcher.start()
        watcher.note(tmp_path.stat())
        watcher.stop()
    assert [record.action for record in caplog.records] == ["watch"]  # type: ignore[attr-defined]


def test_pyinotify_prints_nothing(
    lane: Lane, capfd: pytest.CaptureFixture[str]
) -> None:
    for number in range(20):
        lane.write(f"{number}/x/y.txt")
        subprocess.run(["rm", "-rf", str(lane.root / str(number))], check=True)
    lane.settle()
    assert not logging.getLogger("pyinotify").isEnabledFor(logging.CRITICAL)
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""


def test_an_engine_inherits_no_watch(lane: Lane) -> None:
    assert lane.watcher._inotify is not None
    assert not os.get_inheritable(lane.watcher._inotify._descriptor)
