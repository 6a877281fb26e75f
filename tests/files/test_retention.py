"""Old conversation folders go, whole and never while a turn runs."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from conduck_service.base.clock import SystemClock
from conduck_service.files.upkeep.retention import Retention
from tests.support.service import wait_until

OLD = "0F0E0D0C-1111-4222-8333-444455556666"
OTHER = "FFFFFFFF-0000-4000-8000-000000000000"
GONE = ".conduck-" + "0a" * 16


@dataclass
class Clock:
    """A clock that is ahead of the disk, so that what is new looks old."""

    ahead: timedelta = timedelta()
    ran: float = 0.0

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def monotonic(self) -> float:
        return self.ran

    def pass_days(self, days: float) -> None:
        self.ahead += timedelta(days=days)
        self.ran += days * 86400


@dataclass
class Lane:
    root: Path
    keep_days: int = 30
    running: int = 0
    clock: Clock = field(default_factory=Clock)
    retention: Retention = field(init=False)

    def __post_init__(self) -> None:
        self.retention = Retention(
            self.root, self.keep_days, self.turns_running, self.clock
        )

    def turns_running(self) -> int:
        return self.running

    def make(self, name: str, *files: str) -> Path:
        for file in files or ("out-x/a.txt",):
            path = self.root / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("text")
        return self.root / name

    def move_in(self, name: str) -> None:
        """Put a whole folder there in one step, since the other thread looks on."""
        folder = self.root.with_name(f"{name}-outside")
        folder.mkdir()
        (folder / "a.txt").touch()
        folder.rename(self.root / name)

    def names(self) -> set[str]:
        return {path.name for path in self.root.iterdir()}


@pytest.fixture
def lane(tmp_path: Path) -> Lane:
    (tmp_path / "root").mkdir()
    return Lane(tmp_path / "root")


def test_a_folder_goes_once_nothing_in_it_was_touched_for_so_long(lane: Lane) -> None:
    lane.make(OLD, "in.txt", "out-x/deep/er/a.txt")
    assert lane.retention.remove_expired() == 0
    lane.clock.pass_days(29.9)
    assert lane.retention.find() == []
    assert lane.retention.remove_expired() == 0
    lane.clock.pass_days(0.2)
    assert lane.retention.find() == [OLD]
    assert lane.names() == {OLD}
    assert lane.retention.remove_expired() == 1
    assert lane.names() == set()


@pytest.mark.parametrize(
    "name",
    [
        "documents",
        OLD.lower(),
        f"{OLD}x",
        f" {OLD}",
        OLD.replace("-", ""),
        f"out-{'0' * 32}",
        ".hidden",
    ],
)
def test_only_folders_named_like_a_conversation_go(lane: Lane, name: str) -> None:
    lane.make(name)
    lane.make("deeper", f"{OLD}/a.txt")
    lane.clock.pass_days(400)
    assert lane.retention.remove_expired() == 0
    assert lane.names() == {name, "deeper"}


def test_a_file_or_a_link_of_such_a_name_stays(lane: Lane, tmp_path: Path) -> None:
    outside = tmp_path / OLD
    outside.mkdir()
    (outside / "canary").touch()
    (lane.root / OLD).symlink_to(outside)
    (lane.root / OTHER).touch()
    lane.clock.pass_days(400)
    assert lane.retention.remove_expired() == 0
    assert lane.names() == {OLD, OTHER}
    assert (outside / "canary").exists()


def test_links_inside_go_and_are_not_followed(lane: Lane, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "canary").touch()
    folder = lane.make(OLD)
    (folder / "door").symlink_to(outside)
    (folder / "file").symlink_to(outside / "canary")
    lane.clock.pass_days(31)
    assert lane.retention.remove_expired() == 1
    assert (outside / "canary").exists()


@pytest.mark.parametrize("name", [".", "in.txt", "out-x", "out-x/deep/a.txt", "link"])
def test_one_young_thing_keeps_the_whole_folder(lane: Lane, name: str) -> None:
    folder = lane.make(OLD, "in.txt", "out-x/deep/a.txt")
    (folder / "link").symlink_to("nowhere")
    lane.clock.pass_days(31)
    young = lane.clock.now().timestamp() - 86400
    os.utime(folder / name, (young, young), follow_symlinks=False)
    assert lane.retention.find() == []
    assert lane.retention.remove_expired() == 0
    old = young - 400 * 86400
    os.utime(folder / name, (old, old), follow_symlinks=False)
    assert lane.retention.remove_expired() == 1


def test_a_time_that_somebody_set_back_does_not_make_it_old(lane: Lane) -> None:
    folder = lane.make(OLD)
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (0, 0))
    lane.clock.pass_days(29)
    assert lane.retention.remove_expired() == 0


def test_a_folder_that_is_used_at_the_last_moment_stays(lane: Lane) -> None:
    folder = lane.make(OLD)
    lane.clock.pass_days(31)

    def upload() -> int:
        (folder / "new.txt").touch()
        now = lane.clock.now().timestamp()
        os.utime(folder, (now, now))
        return 0

    lane.retention = Retention(lane.root, lane.keep_days, upload, lane.clock)
    assert lane.retention.remove_expired() == 0
    assert (folder / "new.txt").exists()


def test_a_folder_deeper_than_can_be_looked_at_stays(lane: Lane) -> None:
    lane.make(OLD, "/".join(["d"] * 80) + "/a.txt")
    lane.clock.pass_days(31)
    assert lane.retention.remove_expired() == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look everywhere")
def test_a_folder_that_cannot_be_looked_at_stays(lane: Lane) -> None:
    folder = lane.make(OLD) / "out-x"
    folder.chmod(0)
    lane.clock.pass_days(31)
    assert lane.retention.remove_expired() == 0
    folder.chmod(0o700)


def test_nothing_goes_while_a_turn_runs(lane: Lane) -> None:
    lane.make(OLD)
    lane.clock.pass_days(31)
    lane.running = 1
    assert lane.retention.remove_expired() == 0
    assert lane.names() == {OLD}
    assert lane.retention.find() == [OLD]
    lane.running = 0
    assert lane.retention.remove_expired() == 1


def test_a_turn_that_begins_stops_it_and_leaves_nothing_half(lane: Lane) -> None:
    for name in (OLD, OTHER):
        lane.make(name, "a.txt", "b.txt")
    lane.clock.pass_days(31)
    asked = iter([0, 1])
    lane.retention = Retention(
        lane.root, lane.keep_days, lambda: next(asked, 1), lane.clock
    )
    lane.clock.pass_days(0.1)
    # The first is out of the way as a whole and stays so; the second is untouched.
    assert lane.retention.remove_expired() == 0
    (taken,) = lane.names() - {OTHER}
    assert taken.startswith(".conduck-")
    assert {path.name for path in (lane.root / taken).iterdir()} == {"a.txt", "b.txt"}
    assert {path.name for path in (lane.root / OTHER).iterdir()} == {"a.txt", "b.txt"}


def test_what_an_earlier_look_took_away_goes_later(lane: Lane) -> None:
    lane.make(GONE)
    lane.make(".conduck-other")
    (lane.root / (".conduck-" + "0b" * 16)).touch()
    lane.clock.pass_days(0.9)
    lane.retention.remove_expired()
    assert GONE in lane.names()
    lane.clock.pass_days(0.2)
    lane.running = 1
    lane.retention.remove_expired()
    assert GONE in lane.names()
    lane.running = 0
    lane.retention.remove_expired()
    # A file of such a name is an upload's, and is not ours to remove.
    assert lane.names() == {".conduck-other", ".conduck-" + "0b" * 16}


@pytest.mark.parametrize("days", [-400.0, -2.0, 2.0, 400.0])
def test_a_clock_that_jumps_removes_nothing_at_once(
    lane: Lane, days: float, caplog: pytest.LogCaptureFixture
) -> None:
    lane.make(OLD)
    lane.clock.pass_days(31)
    lane.clock.ahead += timedelta(days=days)
    assert lane.retention.remove_expired() == 0
    assert lane.names() == {OLD}
    assert [getattr(record, "action", "") for record in caplog.records] == ["retention"]
    # Whoever sets a clock right has until the next look.
    lane.clock.ahead -= timedelta(days=days)
    assert lane.retention.remove_expired() == 0
    lane.clock.pass_days(0.05)
    assert lane.retention.remove_expired() == 1


def test_a_clock_behind_the_disk_removes_nothing(
    lane: Lane, caplog: pytest.LogCaptureFixture
) -> None:
    lane.make(OLD)
    lane.clock.ahead = timedelta(days=-2)
    lane.retention = Retention(lane.root, 1, lane.turns_running, lane.clock)
    assert lane.retention.find() == []
    assert lane.retention.remove_expired() == 0
    assert {getattr(record, "action", "") for record in caplog.records} == {"retention"}


def test_the_log_has_a_count_and_no_name(
    lane: Lane, caplog: pytest.LogCaptureFixture
) -> None:
    for name in (OLD, OTHER):
        lane.make(name)
    lane.clock.pass_days(31)
    with caplog.at_level(logging.INFO):
        assert lane.retention.remove_expired() == 2
        assert lane.retention.remove_expired() == 0
    (record,) = caplog.records
    assert getattr(record, "action", "") == "retention"
    assert getattr(record, "count", 0) == 2
    assert OLD not in record.getMessage()
    assert str(lane.root) not in record.getMessage()


def started(lane: Lane, **seconds: float) -> Retention:
    retention = Retention(lane.root, 30, lane.turns_running, lane.clock, **seconds)
    retention.start()
    return retention


def test_it_looks_from_time_to_time(lane: Lane) -> None:
    lane.clock.pass_days(31)
    retention = started(lane, first_seconds=0.0, pause_seconds=0.01)
    try:
        for name in (OLD, OTHER):
            lane.move_in(name)
            wait_until(lambda: not lane.names())
    finally:
        retention.stop()
    lane.make(OLD)
    retention.stop()
    assert lane.names() == {OLD}


def test_a_root_that_is_gone_ends_nothing(
    lane: Lane, caplog: pytest.LogCaptureFixture
) -> None:
    lane.clock.pass_days(31)
    lane.root.rename(lane.root.with_name("away"))
    retention = started(lane, first_seconds=0.0, pause_seconds=0.01)
    try:
        wait_until(lambda: caplog.records)
        lane.root.with_name("away").rename(lane.root)
        lane.move_in(OLD)
        wait_until(lambda: not lane.names())
    finally:
        retention.stop()


def test_it_ends_while_it_waits(lane: Lane) -> None:
    retention = Retention(lane.root, 30, lane.turns_running, SystemClock())
    retention.stop()
    retention = Retention(lane.root, 30, lane.turns_running, SystemClock())
    retention.start()
    done: Callable[[], None] = retention.stop
    thread = threading.Thread(target=done)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
