"""Storing values: the keyring first, else the file, and never half."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from conduck_service.base.safefiles import ExclusiveLock, LockHeldError, SafeFileError
from conduck_service.secrets import file
from conduck_service.secrets.file import change_secrets_file, read_secrets_file
from conduck_service.secrets.keep import TakenError, forget, keep, keep_new, places_of
from conduck_service.secrets.source import SourceError
from tests.secrets.keyrings import NO_KEYRING, fake_keyring, held
from tests.support.service import variables

WITHOUT = variables(NO_KEYRING)
LOCK = ".secrets.json.lock"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.req("B-SECRET-43")
def test_with_a_keyring_no_file_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "config"
    environment = variables(fake_keyring(tmp_path / "ring"))
    kept = keep("key", "tökén\n", folder=folder, environment=environment)
    assert (kept.reference, kept.file, kept.why_file) == ("keyring:key", None, "")
    assert held(tmp_path / "ring") == {"open-conduit/key": "tökén\n"}
    assert not folder.exists()


@pytest.mark.req("B-SECRET-43", "B-PERM-05")
def test_without_a_keyring_the_private_file_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "config"
    old = os.umask(0)
    try:
        kept = keep("key", "value", folder=folder, environment=WITHOUT)
    finally:
        os.umask(old)
    assert kept.reference == "file:key"
    assert kept.file == folder / "secrets.json"
    assert kept.why_file
    assert mode(folder) == 0o700
    assert mode(folder / "secrets.json") == 0o600  # B-PERM-05
    assert read_secrets_file(folder) == {"key": "value"}


@pytest.mark.parametrize("fault", ["broken", "dies", "forgets"])
def test_a_keyring_that_does_not_take_a_value_is_none(
    tmp_path: Path, fault: str
) -> None:
    environment = variables(fake_keyring(tmp_path / "ring", fault))
    kept = keep("key", "value", folder=tmp_path, environment=environment)
    assert kept.reference == "file:key"


def test_other_values_of_the_file_stay_in_their_order(tmp_path: Path) -> None:
    for name, value in (("b", "1"), ("a", "2"), ("b", "3")):
        keep(name, value, folder=tmp_path, environment=WITHOUT)
    assert list(read_secrets_file(tmp_path).items()) == [("b", "3"), ("a", "2")]


def test_a_file_that_is_not_safe_or_broken_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    for content, bits in (("{}", 0o640), ('{"key": 1}', 0o600), ("{", 0o600)):
        path.write_text(content)
        path.chmod(bits)
        with pytest.raises(SafeFileError):
            keep("key", "canary", folder=tmp_path, environment=WITHOUT)
        assert (path.read_text(), mode(path)) == (content, bits)
    assert {item.name for item in tmp_path.iterdir()} == {"secrets.json", LOCK}


def test_a_file_never_becomes_too_large_to_be_read(tmp_path: Path) -> None:
    keep("first", "x" * 700_000, folder=tmp_path, environment=WITHOUT)
    with pytest.raises(SafeFileError, match="larger than"):
        keep("second", "x" * 700_000, folder=tmp_path, environment=WITHOUT)
    assert list(read_secrets_file(tmp_path)) == ["first"]


def write_many(folder: Path, writer: int) -> None:
    """Store ten values, each with a change of its own."""
    for number in range(10):
        name = f"w{writer}_{number}"

        def change(values: dict[str, str], name: str = name) -> None:
            values[name] = "value"

        change_secrets_file(folder, change)


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    context = get_context("spawn")
    processes = [
        context.Process(target=write_many, args=(tmp_path, number))
        for number in range(2)
    ]
    for process in processes:
        process.start()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: write_many(tmp_path, number), range(2, 6)))
    for process in processes:
        process.join()
    assert len(read_secrets_file(tmp_path)) == 60


def test_a_lock_that_is_held_for_too_long_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "LOCK_SECONDS", 0.1)
    with ExclusiveLock(tmp_path / LOCK), pytest.raises(LockHeldError):
        keep("key", "value", folder=tmp_path, environment=WITHOUT)
    assert not (tmp_path / "secrets.json").exists()


@pytest.mark.parametrize("step", ["fsync", "replace", "fchmod"])
def test_a_killed_writer_leaves_the_old_file_or_the_new_one(
    tmp_path: Path, step: str
) -> None:
    keep("key", "old", folder=tmp_path, environment=WITHOUT)
    child = os.fork()
    if child == 0:
        setattr(os, step, lambda *_items, **_named: os.kill(os.getpid(), 9))
        change_secrets_file(tmp_path, lambda values: values.update(key="new"))
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == 9
    assert read_secrets_file(tmp_path) == {"key": "old"}
    assert len(list(tmp_path.glob(".secrets.json.*.tmp"))) == 1
    keep("other", "value", folder=tmp_path, environment=WITHOUT)
    assert read_secrets_file(tmp_path) == {"key": "old", "other": "value"}
    assert list(tmp_path.glob(".secrets.json.*.tmp")) == []


def test_where_a_name_is_kept_is_found(tmp_path: Path) -> None:
    ring = variables(fake_keyring(tmp_path / "ring", both="v", ring="v"))
    for name in ("both", "file"):
        keep(name, "v", folder=tmp_path, environment=WITHOUT)

    def places(name: str) -> tuple[str, ...]:
        return places_of(name, folder=tmp_path, environment=ring)

    assert places("both") == ("keyring:both", "file:both")
    assert places("ring") == ("keyring:ring",)
    assert places("file") == ("file:file",)
    assert places("none") == ()
    assert places_of("ring", folder=tmp_path / "gone", environment=WITHOUT) == ()
    (tmp_path / "secrets.json").chmod(0o644)
    with pytest.raises(SafeFileError):
        places("ring")


def test_a_value_can_be_forgotten(tmp_path: Path) -> None:
    ring = variables(fake_keyring(tmp_path / "ring", key="v", other="v"))
    keep("key", "v", folder=tmp_path, environment=WITHOUT)
    keep("other", "v", folder=tmp_path, environment=WITHOUT)
    for reference, was_there in (("keyring:key", True), ("keyring:none", False)):
        assert forget(reference, folder=tmp_path, environment=ring) is was_there
    for reference, was_there in (("file:key", True), ("file:none", False)):
        assert forget(reference, folder=tmp_path, environment=ring) is was_there
    assert not forget("file:key", folder=tmp_path / "gone", environment=ring)
    assert held(tmp_path / "ring") == {"open-conduit/other": "v"}
    assert json.loads((tmp_path / "secrets.json").read_text()) == {"other": "v"}
    with pytest.raises(SourceError):
        forget("keyring:other", folder=tmp_path, environment=WITHOUT)


def test_a_value_can_be_stored_where_there_is_none_only(tmp_path: Path) -> None:
    ring = variables(fake_keyring(tmp_path / "ring", key="theirs"))
    for environment, place in ((ring, "keyring"), (WITHOUT, "file")):

        def add(name: str, environment: dict[str, str] = environment) -> str:
            made = keep_new(name, "ours", folder=tmp_path, environment=environment)
            return made.reference

        assert add("fresh") == f"{place}:fresh"
        with pytest.raises(TakenError, match=f"{place}:fresh"):
            add("fresh")
    with pytest.raises(TakenError, match="keyring:key"):
        keep_new("key", "ours", folder=tmp_path, environment=ring)
    assert held(tmp_path / "ring")["open-conduit/key"] == "theirs"


def test_a_value_is_forgotten_only_if_it_is_the_one(tmp_path: Path) -> None:
    ring = variables(fake_keyring(tmp_path / "ring", key="theirs"))
    keep("key", "theirs", folder=tmp_path, environment=WITHOUT)
    for reference in ("keyring:key", "file:key"):
        for value, was_there in (("ours", False), ("theirs", True)):
            found = forget(reference, folder=tmp_path, environment=ring, value=value)
            assert found is was_there
    assert held(tmp_path / "ring") == {}
    assert read_secrets_file(tmp_path) == {}
