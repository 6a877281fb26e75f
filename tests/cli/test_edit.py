"""Edits of a config file: whole or absent, none lost, whatever ends them."""

from __future__ import annotations

import json
import os
import signal
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conduck_service.base.clock import SystemClock
from conduck_service.base.diagnostics import Diagnostic, Level
from conduck_service.base.safefiles import ExclusiveLock
from conduck_service.config import edit as edits
from conduck_service.config.edit import Edit, EditRefusedError, create, locked

req = pytest.mark.req

OLD = '{"n": 0, "list": [1, 2]}'
LEFTOVERS = (
    ".config.json.0123456789abcdef.tmp",
    ".config.json.last-good.0123456789abcdef.tmp",
)


def nothing_wrong(_text: str) -> list[Diagnostic]:
    return []


def finding(level: Level) -> Callable[[str], list[Diagnostic]]:
    found = Diagnostic(pointer=(), code="c", message="m", remedy="r", level=level)
    return lambda _text: [found]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "config"
    folder.mkdir(mode=0o700)
    path = folder / "config.json"
    path.write_text(OLD)
    path.chmod(0o600)
    return path


def put(path: Path, key: str, value: Any) -> None:
    with Edit.open(path) as edit:
        edit.value[key] = value
        assert edit.save(nothing_wrong) == []


@req("B-CLI-09")
def test_an_edit_is_whole_private_and_keeps_the_text_before(file: Path) -> None:
    mask = os.umask(0)
    try:
        put(file, "n", 1)
    finally:
        os.umask(mask)
    assert json.loads(file.read_text()) == {"n": 1, "list": [1, 2]}
    kept = file.with_name("config.json.last-good")
    assert kept.read_text() == OLD
    modes = {entry.name: entry.stat().st_mode for entry in file.parent.iterdir()}
    assert {stat.S_IMODE(mode) for mode in modes.values()} == {0o600}
    assert set(modes) == {"config.json", "config.json.last-good", ".config.json.lock"}


def test_errors_keep_the_file_and_warnings_do_not(file: Path) -> None:
    for level, kept in ((Level.ERROR, True), (Level.WARNING, False)):
        with Edit.open(file) as edit:
            edit.value["n"] = 1
            assert len(edit.save(finding(level))) == 1
        assert (file.read_text() == OLD) is kept


@req("B-CLI-09")
def test_a_faulty_text_takes_no_place_of_a_good_one(file: Path) -> None:
    def check(text: str) -> list[Diagnostic]:
        return finding(Level.ERROR if "bad" in text else Level.WARNING)(text)

    kept = file.with_name("config.json.last-good")
    put(file, "n", 1)
    good = file.read_text()
    put(file, "n", 2)
    assert kept.read_text() == good
    file.write_text('{"bad": 1, "n": 3}')  # by hand
    with Edit.open(file) as edit:
        del edit.value["bad"]
        edit.save(check)
    assert json.loads(file.read_text()) == {"n": 3}
    assert kept.read_text() == good
    mended = file.read_text()
    with Edit.open(file) as edit:
        edit.value["n"] = 4
        edit.save(check)
    assert kept.read_text() == mended


def test_half_a_pair_stays_what_it_means(file: Path) -> None:
    put(file, "half", "\ud800 \u2603")
    assert json.loads(file.read_text("utf-8"))["half"] == "\ud800 \u2603"


def test_what_cannot_be_written_is_refused(file: Path) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (deep, float("inf")):
        with pytest.raises(EditRefusedError), Edit.open(file) as edit:
            edit.value["n"] = value
            edit.save(nothing_wrong)
    assert file.read_text() == OLD


@req("B-CLI-09")
def test_a_file_that_changed_meanwhile_is_not_overwritten(file: Path) -> None:
    with Edit.open(file) as edit:
        edit.value["n"] = 1
        file.write_text('{"n": 7}')  # an editor that knows of no lock
        (problem,) = edit.save(nothing_wrong)
    assert problem.code == "config_changed"
    assert file.read_text() == '{"n": 7}'


def test_no_edit_of_many_is_lost(file: Path) -> None:
    def edit(writer: int) -> None:
        for number in range(10):
            put(file, f"{writer}-{number}", number)

    children = []
    for writer in range(4):
        child = os.fork()
        if not child:
            status = 1
            try:
                edit(writer)
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    assert len(json.loads(file.read_text())) == 2 + 4 * 10


def test_threads_of_one_process_lose_nothing(file: Path) -> None:
    threads = [
        threading.Thread(target=put, args=(file, f"t{number}", number))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(json.loads(file.read_text())) == 2 + 8


class _Hurried(SystemClock):
    """A clock by which a second passes between two looks."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def monotonic(self) -> float:
        self._seconds += 1
        return self._seconds


def test_an_edit_that_goes_on_for_too_long_holds_up_no_other(file: Path) -> None:
    with ExclusiveLock(file.with_name(".config.json.lock")):
        with pytest.raises(EditRefusedError) as refused, locked(file, _Hurried()):
            pass
        assert refused.value.problem.code == "config_busy"


@req("B-CLI-31")
def test_a_first_text_overwrites_nothing(file: Path) -> None:
    with locked(file), pytest.raises(EditRefusedError) as refused:
        create(file, "{}\n")
    assert refused.value.problem.code == "config_exists"
    assert file.read_text() == OLD


@req("B-CLI-09")
def test_leftovers_of_killed_edits_are_removed_and_nothing_else(file: Path) -> None:
    others = (".config.json.tmp", "config.json.0123456789abcdef.tmp", "notes")
    for name in (*LEFTOVERS, *others):
        file.with_name(name).write_text("x")
    put(file, "n", 1)
    left = {entry.name for entry in file.parent.iterdir()}
    assert left.isdisjoint(LEFTOVERS)
    assert left.issuperset(others)


def killed_at(path: Path, name: str, count: int, *, after: bool) -> bool:
    """Edit in a child that kills itself at a call of ``os``; say whether it got there.

    Args:
        path: The config file.
        name: The function of ``os``.
        count: Which of its calls, from 0.
        after: Whether the call is still done.
    """
    child = os.fork()
    if not child:
        try:
            real, calls = getattr(os, name), iter(range(1_000))

            def fatal(*words: Any, **options: Any) -> Any:
                if next(calls) != count:
                    return real(*words, **options)
                if after:
                    real(*words, **options)
                return os.kill(os.getpid(), signal.SIGKILL)

            setattr(os, name, fatal)
            put(path, "n", 1)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@req("B-CLI-09")
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", ["open", "fchmod", "fsync", "replace", "close"])
def test_an_edit_survives_kill_9_at_each_call(
    file: Path, name: str, after: bool
) -> None:
    new = edits.to_text({"n": 1, "list": [1, 2]})
    count = 0
    while killed_at(file, name, count, after=after):
        assert file.read_text() in (OLD, new)
        kept = file.with_name("config.json.last-good")
        assert not kept.exists() or kept.read_text() == OLD
        # The next edit goes through, and clears up.
        put(file, "n", 2)
        names = {entry.name for entry in file.parent.iterdir()}
        assert not [one for one in names if one.endswith(".tmp")]
        file.write_text(OLD)
        kept.unlink()
        count += 1
    assert count >= 2
