"""What a killed service left under names of its own is cleared away."""

from __future__ import annotations

import os
import time
from pathlib import Path

from conduck_service.files.disk.staging import new_name
from conduck_service.files.disk.tree import Tree
from conduck_service.files.upkeep.leftovers import AGE_SECONDS, Leftovers


def leftovers(root: Path) -> Leftovers:
    return Leftovers(Tree(root, file_mode=0o660, folder_mode=0o770))


def place(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder / os.fsdecode(new_name())


def test_old_files_and_folders_of_reserved_names_go_at_every_depth(
    tmp_path: Path,
) -> None:
    paths = [place(tmp_path), place(tmp_path / "a/b/c"), place(tmp_path / "a")]
    paths[0].write_bytes(b"part")
    paths[1].write_bytes(b"part")
    (paths[2] / "deep").mkdir(parents=True)
    (paths[2] / "deep/file").write_bytes(b"old")
    kept = tmp_path / "a/.conduck-notes"
    kept.write_bytes(b"a person's own")
    assert leftovers(tmp_path).sweep(time.time() + 2 * AGE_SECONDS) == 3
    assert not any(path.exists() for path in paths)
    assert kept.read_bytes() == b"a person's own"


def test_what_was_touched_since_stays(tmp_path: Path) -> None:
    path = place(tmp_path)
    path.write_bytes(b"part")
    assert leftovers(tmp_path).sweep(time.time()) == 0
    assert path.exists()


def test_links_are_never_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    canary = place(outside)
    canary.write_bytes(b"canary")
    root = tmp_path / "root"
    link = place(root)
    link.symlink_to(outside)
    (root / "way").symlink_to(outside)
    assert leftovers(root).sweep(time.time() + 2 * AGE_SECONDS) == 1
    assert canary.read_bytes() == b"canary"
    assert not link.is_symlink()
    assert (root / "way").is_symlink()


def test_a_folder_that_may_not_be_entered_stops_nothing(tmp_path: Path) -> None:
    closed = tmp_path / "a-closed"
    closed.mkdir()
    path = place(tmp_path / "z-open")
    path.write_bytes(b"part")
    closed.chmod(0)
    try:
        assert leftovers(tmp_path).sweep(time.time() + 2 * AGE_SECONDS) == 1
    finally:
        closed.chmod(0o700)
    assert not path.exists()
