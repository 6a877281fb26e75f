"""A service that was killed: files are whole, and what it left goes later."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from conduck_service.files.disk.staging import new_name
from conduck_service.files.disk.tree import Tree
from conduck_service.files.upkeep import leftovers
from conduck_service.files.upkeep.leftovers import Leftovers
from tests.files.test_copy_move import tree
from tests.support.lane import Lane, serving_files
from tests.support.lane_faults import has_unnamed_files, uploading
from tests.support.lane_races import reserved_in
from tests.support.service import Service, wait_until

WRITERS = 6
KILLS = 3
MINUTE, HOUR = 60.0, 3600.0
FILES = 3000
BODY = "x" * 3000

FILE_AGE = MINUTE if hasattr(os, "O_TMPFILE") else 2 * HOUR
"""After which a file of a reserved name belongs to nobody any more."""


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[Service]:
    """A daemon of its own, which the test may kill."""
    with serving_files(tmp_path) as service:
        yield service


def kill(service: Service) -> None:
    """Kill a daemon; it has no time to do anything."""
    service.process.kill()
    service.process.wait(20)


def sweep(root: Path, age: float) -> int:
    """Sweep as if everything that is there now had this age in seconds."""
    tree = Tree(root, file_mode=0o600, folder_mode=0o700)
    return Leftovers(tree).sweep(time.time() + age)


def names_of(folder: Path) -> list[str]:
    """Return the names in a folder."""
    return [path.name for path in folder.iterdir()]


class Writer:
    """Replaces one file over and over until the service is gone.

    Attributes:
        done: Number of the last one that was answered with success.
    """

    def __init__(self, lane: Lane, name: str) -> None:
        self.name = name
        self.done = 0
        self._lane = lane
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def join(self) -> None:
        """Wait until the service was gone."""
        self._thread.join(30)
        assert not self._thread.is_alive()

    def _work(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while True:
                body = f"{self.done + 1}-{BODY}".encode()
                answer = self._lane.put(f"/{self.name}", body)
                assert answer.status in (201, 204)
                self.done += 1


@pytest.mark.req("F-IN-10", "F-METH-10")
def test_files_are_whole_after_every_kill(killed: Service) -> None:
    lane, root = Lane.of(killed), killed.folder
    for _ in range(KILLS):
        writers = [Writer(lane, f"file-{number}") for number in range(WRITERS)]
        wait_until(partial(all_done, writers))
        kill(killed)
        for writer in writers:
            writer.join()
            number, _, rest = (root / writer.name).read_text("utf-8").partition("-")
            assert rest == BODY
            assert int(number) in (writer.done, writer.done + 1)
        killed.start()
        # Whatever was left is seen by nobody.
        assert sorted(lane.names("/")) == [writer.name for writer in writers]
        assert all(path.is_file() for path in reserved_in(root))
        sweep(root, FILE_AGE + 1)
        assert sorted(names_of(root)) == [writer.name for writer in writers]


def all_done(writers: list[Writer]) -> bool:
    """Say whether every writer has replaced its file a few times."""
    return all(writer.done > 5 for writer in writers)


@pytest.mark.req("F-IN-10")
def test_nothing_is_left_of_uploads_that_a_kill_ended(killed: Service) -> None:
    lane, root = Lane.of(killed), killed.folder
    (root / "old").write_bytes(b"old")
    with uploading(lane, "/old", 10) as one, uploading(lane, "/new", 10) as other:
        one.send(b"12345")
        other.send(b"12345")
        kill(killed)
    killed.start()
    assert lane.names("/") == ["old"]
    assert (root / "old").read_bytes() == b"old"
    if has_unnamed_files(root):
        assert [path.name for path in root.iterdir()] == ["old"]


def make_large(folder: Path) -> None:
    """Make a folder whose copy takes a while."""
    folder.mkdir()
    for number in range(FILES):
        (folder / str(number)).write_bytes(b"large")


def begin_copy(lane: Lane, root: Path) -> threading.Thread:
    """Begin to replace ``target`` by a copy of ``large``; return when it has begun."""

    def work() -> None:
        with contextlib.suppress(OSError, ValueError):
            lane.copy("/large", "/target")

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: any(name.startswith(".conduck-") for name in names_of(root)))
    return thread


@pytest.mark.req("F-METH-10")
def test_a_copy_that_a_kill_ended_goes_after_two_hours(killed: Service) -> None:
    lane, root = Lane.of(killed), killed.folder
    make_large(root / "large")
    (root / "target").mkdir()
    (root / "target/precious").write_text("the only one", encoding="utf-8")
    thread = begin_copy(lane, root)
    kill(killed)
    thread.join()
    killed.start()
    # It may have been over just then; then the old folder has the reserved name.
    target = tree(root / "target")
    assert len(target) == FILES or target == {"precious": "the only one"}
    assert sorted(lane.names("/")) == ["large", "target"]
    left = reserved_in(root)
    assert all(path.is_dir() for path in left)
    for age in (MINUTE + 1, 2 * HOUR - 60):
        assert sweep(root, age) == 0
    assert reserved_in(root) == left
    assert sweep(root, 2 * HOUR + 60) == len(left) <= 1
    assert sorted(names_of(root)) == ["large", "target"]
    assert tree(root / "target") == target


@pytest.mark.req("F-CORE-03", "F-METH-10")
def test_a_copy_that_a_stop_ends_leaves_nothing(killed: Service) -> None:
    lane, root = Lane.of(killed), killed.folder
    make_large(root / "large")
    (root / "target").mkdir()
    (root / "target/precious").write_text("the only one", encoding="utf-8")
    thread = begin_copy(lane, root)
    assert killed.stop(signal.SIGTERM) == 0
    thread.join()
    target = tree(root / "target")
    assert len(target) == FILES or target == {"precious": "the only one"}
    assert sorted(names_of(root)) == ["large", "target"]


def place(folder: Path, *, is_folder: bool) -> Path:
    """Make something that has a reserved name, with something in it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / os.fsdecode(new_name())
    if is_folder:
        (path / "deep").mkdir(parents=True)
        (path / "deep/precious").write_bytes(b"x")
    else:
        path.write_bytes(b"x")
    return path


@pytest.mark.parametrize("is_folder", [False, True], ids=["file", "folder"])
def test_what_was_left_goes_when_it_is_old_enough(
    tmp_path: Path, is_folder: bool
) -> None:
    """A file soon; a folder may be the only copy of what was replaced."""
    paths = [place(tmp_path / at, is_folder=is_folder) for at in ("", "a/b")]
    age = 2 * HOUR if is_folder else FILE_AGE
    oldest = min(path.stat().st_ctime for path in paths)
    newest = max(path.stat().st_ctime for path in paths)
    swept = Leftovers(Tree(tmp_path, file_mode=0o600, folder_mode=0o700))
    assert swept.sweep(oldest + age - 1) == 0
    assert sorted(reserved_in(tmp_path)) == sorted(paths)
    assert swept.sweep(newest + age + 1) == 2
    assert reserved_in(tmp_path) == []


@pytest.fixture
def hours_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whatever there is be three hours old."""
    clock = SimpleNamespace(time=lambda: time.time() + 3 * HOUR)
    monkeypatch.setattr(leftovers, "time", clock)


@pytest.mark.usefixtures("hours_later")
def test_it_is_looked_for_again_and_again(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    tree = Tree(root, file_mode=0o600, folder_mode=0o700)
    helper = Leftovers(tree, first_seconds=0.01, pause_seconds=0.01)
    helper.start()
    try:
        for is_folder in (False, True, False):
            # In one step, since it may go at any moment from then on.
            path = place(tmp_path / "made", is_folder=is_folder)
            path.rename(root / path.name)
            wait_until(lambda: names_of(root) == [])
    finally:
        helper.stop()
    assert place(root, is_folder=False).exists()


@pytest.mark.usefixtures("hours_later")
def test_nothing_is_removed_before_the_first_look(tmp_path: Path) -> None:
    path = place(tmp_path, is_folder=False)
    helper = Leftovers(Tree(tmp_path, file_mode=0o600, folder_mode=0o700))
    helper.start()
    helper.stop()
    assert path.exists()
