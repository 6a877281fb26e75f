"""Whatever an engine left in a folder goes with it, and nothing else does."""

from __future__ import annotations

import os
from pathlib import Path

from conduck_service.base.removal import remove_all

DEPTH = 3000


def deepen(folder: Path, depth: int) -> None:
    """Nest folders deeper than any path may be long."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("photo", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def test_no_depth_is_too_deep(tmp_path: Path) -> None:
    folder = tmp_path / "turn"
    folder.mkdir()
    deepen(folder, DEPTH)
    assert remove_all(folder)
    assert list(tmp_path.iterdir()) == []


def test_a_wide_and_deep_tree_goes_with_every_kind_of_file(tmp_path: Path) -> None:
    folder = tmp_path / "turn"
    for outer in range(5):
        for inner in range(5):
            place = folder / f"{outer}" / f"{inner}"
            place.mkdir(parents=True)
            (place / "file").touch()
            (place / "link").symlink_to("/")
            os.mkfifo(place / "pipe")
    assert remove_all(folder)
    assert not folder.exists()


def test_a_link_is_removed_and_its_target_keeps_its_mode(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    (victim / "inner").mkdir(parents=True)
    victim.chmod(0o755)
    (victim / "inner").chmod(0o755)
    link = tmp_path / "turn"
    link.symlink_to(victim)
    assert remove_all(link)
    assert not link.is_symlink()
    assert (victim.stat().st_mode & 0o777, len(list(victim.iterdir()))) == (0o755, 1)
    assert (victim / "inner").stat().st_mode & 0o777 == 0o755


def test_folders_that_nobody_may_enter_are_no_obstacle(tmp_path: Path) -> None:
    folder = tmp_path / "turn"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "photo").touch()
    for place in (folder / "a" / "b", folder / "a", folder):
        place.chmod(0)
    assert remove_all(folder)
    assert list(tmp_path.iterdir()) == []


def test_a_file_and_nothing_at_all_are_removed_too(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert remove_all(tmp_path / "file")
    assert remove_all(tmp_path / "file")
    assert remove_all(tmp_path / "absent" / "deeper")


def test_what_cannot_be_removed_is_told_and_raises_nothing(tmp_path: Path) -> None:
    assert not remove_all(Path("/proc/self/fd"))
    assert Path("/proc/self/fd").exists()
    assert list(tmp_path.iterdir()) == []
