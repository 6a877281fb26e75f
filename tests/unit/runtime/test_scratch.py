"""Private folders of turns: open to nobody else, gone with the turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from conduck_service.runtime.scratch import Scratch, TurnScratch

INSTANCE = "instance_x"
PREFIX = f".conduck-turn-{INSTANCE}-"


def turn(root: Path) -> TurnScratch:
    return TurnScratch(Scratch(root=root, instance=INSTANCE))


def test_a_folder_is_made_at_the_first_call_only(tmp_path: Path) -> None:
    scratch = turn(tmp_path)
    assert list(tmp_path.iterdir()) == []
    folder = scratch.folder(None)
    assert scratch.folder(None) == folder
    assert scratch.folder(tmp_path) == folder
    assert list(tmp_path.iterdir()) == [folder]


def test_a_folder_is_private_and_its_name_is_random(tmp_path: Path) -> None:
    folders = [turn(tmp_path).folder(None) for _ in range(20)]
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o700}
    assert len({folder.name for folder in folders}) == 20
    assert all(len(folder.name) - len(PREFIX) >= 26 for folder in folders)


def test_each_parent_has_its_own_folder_and_all_are_removed(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "working").mkdir()
    scratch = turn(tmp_path / "root")
    for parent in (None, tmp_path / "working"):
        folder = scratch.folder(parent)
        (folder / "deep" / "er").mkdir(parents=True)
        (folder / "deep" / "photo").write_bytes(b"x")
    scratch.remove()
    assert list((tmp_path / "root").iterdir()) == []
    assert list((tmp_path / "working").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        turn(tmp_path / "absent" / "deeper").folder(None)


def test_a_link_in_a_folder_is_removed_and_not_followed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    scratch = turn(tmp_path)
    (scratch.folder(None) / "link").symlink_to(kept)
    scratch.remove()
    assert (kept / "file").exists()


def test_a_folder_that_the_engine_removed_itself_is_no_error(tmp_path: Path) -> None:
    scratch = turn(tmp_path)
    scratch.folder(None).rmdir()
    scratch.remove()


def test_leftovers_are_swept_whatever_they_became_and_nothing_else(
    tmp_path: Path,
) -> None:
    leftover = turn(tmp_path).folder(None)
    (leftover / "photo").write_bytes(b"x")
    (tmp_path / "mine").mkdir()
    (tmp_path / f"{PREFIX}file").touch()
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "mine")
    scratch = Scratch(root=tmp_path / "root", instance=INSTANCE)
    assert scratch.sweep([tmp_path, tmp_path / "absent"]) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_the_place_is_made_anew_when_somebody_removed_it(tmp_path: Path) -> None:
    scratch = Scratch.of_state(tmp_path, INSTANCE)
    scratch.root.rmdir()
    assert TurnScratch(scratch).folder(None).is_dir()
    assert scratch.root.stat().st_mode & 0o777 == 0o700


def test_the_root_is_private(tmp_path: Path) -> None:
    scratch = Scratch.of_state(tmp_path, INSTANCE)
    assert scratch.root.stat().st_mode & 0o777 == 0o700
    assert Scratch.of_state(tmp_path, INSTANCE) == scratch


def test_the_folders_of_another_daemon_are_left_alone(tmp_path: Path) -> None:
    other = Scratch(root=tmp_path, instance="instance_y")
    folder = TurnScratch(other).folder(None)
    assert Scratch(root=tmp_path, instance=INSTANCE).sweep([tmp_path]) == 0
    assert folder.is_dir()


def test_folders_that_nobody_may_write_to_are_removed_too(tmp_path: Path) -> None:
    scratch = turn(tmp_path)
    inner = scratch.folder(None) / "inner"
    inner.mkdir()
    (inner / "photo").touch()
    inner.chmod(0o500)
    scratch.remove()
    assert list(tmp_path.iterdir()) == []
