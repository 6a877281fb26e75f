"""Another disk mounted in the shared folder: COPY reaches it, MOVE says it cannot."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.files.test_copy_move import both, put, tree
from tests.support.lane_faults import IS_LINUX, IS_ROOT, Box, tiny_disk
from tests.support.lane_races import reserved_in
from tests.support.raw_http import RawResponse

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(not (IS_ROOT and IS_LINUX), reason="mounts a disk"),
]

FREE = ("new", "new/")
TAKEN = ("file", "folder", "empty")


@pytest.fixture
def two_disks(box: Box, tmp_path: Path) -> Iterator[Box]:
    """A box with the same on its own disk and on another one, in ``disk``."""
    (box.disk / "disk").mkdir()
    with tiny_disk(box.disk / "disk", "1m", 40):
        for place in ("", "disk/"):
            (box.disk / place / "folder/sub").mkdir(parents=True)
            (box.disk / place / "empty").mkdir()
            box.write(f"{place}folder/1", f"{place}one".encode())
            box.write(f"{place}folder/sub/2", f"{place}two".encode())
            box.write(f"{place}file", f"{place}file".encode())
            (box.disk / place / "folder/link").symlink_to(tmp_path)
        yield box


def state(box: Box) -> dict[str, tuple[int, int]]:
    """Return what identifies everything in a box: nothing of it was made anew."""
    found = {".": box.disk.lstat()}
    found |= {str(path): path.lstat() for path in box.disk.rglob("*")}
    return {name: (one.st_ino, one.st_mtime_ns) for name, one in found.items()}


def check_refused(answer: RawResponse) -> None:
    """Look whether an answer says that there are two disks, and what to do."""
    assert answer.status == 502
    assert answer.body.startswith(b"other_disk: ")
    assert b"COPY" in answer.body


@pytest.mark.req("F-METH-10")
@pytest.mark.parametrize("there", [True, False], ids=["there", "back"])
@pytest.mark.parametrize("name", ["file", "folder", "empty"])
def test_a_move_to_another_disk_is_refused(
    two_disks: Box, name: str, there: bool
) -> None:
    """What comes into a folder while it is copied would be lost with it."""
    box = two_disks
    source, to = ("", "disk/") if there else ("disk/", "")
    before, texts = state(box), tree(box.disk)
    for target in (*FREE, *TAKEN):
        if target.endswith("/") and name == "file":
            continue
        check_refused(put(box, "MOVE", source + name, to + target))
    for target in FREE[:1]:
        answer = put(box, "MOVE", source + name, to + target, ("Overwrite", "F"))
        check_refused(answer)
    for target in TAKEN:
        answer = put(box, "MOVE", source + name, to + target, ("Overwrite", "F"))
        assert answer.status == 412
    assert state(box) == before
    assert tree(box.disk) == texts
    assert reserved_in(box.disk) == []


@pytest.mark.parametrize("there", [True, False], ids=["there", "back"])
def test_a_move_within_another_disk_is_a_move(two_disks: Box, there: bool) -> None:
    box = two_disks
    place = "disk/" if there else ""
    number = (box.disk / place / "folder").stat().st_ino
    assert put(box, "MOVE", f"{place}folder", f"{place}new").status == 201
    assert put(box, "MOVE", f"{place}new", f"{place}empty").status == 204
    assert put(box, "MOVE", f"{place}empty", f"{place}file").status == 204
    assert (box.disk / place / "file").stat().st_ino == number
    assert (box.disk / place / "file/1").read_text(encoding="utf-8") == f"{place}one"
    assert reserved_in(box.disk) == []


@pytest.mark.parametrize("there", [True, False], ids=["there", "back"])
def test_a_copy_reaches_another_disk(two_disks: Box, there: bool) -> None:
    """It is what the refusal of a MOVE advises, with a DELETE after it."""
    box = two_disks
    source, to = ("", "disk/") if there else ("disk/", "")
    whole = {"1": f"{source}one", "sub": None, "sub/2": f"{source}two"}
    for target, status in (("new", 201), ("empty", 204), ("file", 204)):
        assert put(box, "COPY", f"{source}folder", to + target).status == status
        assert tree(box.disk / to / target) == whole
    assert put(box, "COPY", f"{source}file", f"{to}folder").status == 204
    text = (box.disk / to / "folder").read_text(encoding="utf-8")
    assert text == f"{source}file"
    assert box.lane.delete(box.at(f"{source}folder")).status == 204
    assert not (box.disk / source / "folder").exists()
    assert tree(box.disk / to / "new") == whole
    assert reserved_in(box.disk) == []


@both
@pytest.mark.parametrize("name", ["file", "folder"])
def test_where_a_disk_is_mounted_nothing_else_comes(
    two_disks: Box, method: str, name: str
) -> None:
    box = two_disks
    before, texts = state(box), tree(box.disk)
    answer = put(box, method, name, "disk")
    assert answer.status in (403, 409, 502)
    assert put(box, "MOVE", "disk", "new").status in (403, 409, 502)
    assert put(box, "MOVE", "disk", "empty").status in (403, 409, 502)
    assert {key: one[0] for key, one in state(box).items()} == {
        key: one[0] for key, one in before.items()
    }
    assert tree(box.disk) == texts
    assert reserved_in(box.disk) == []
    assert os.path.ismount(box.disk / "disk")


@both
def test_a_folder_that_another_disk_is_in_is_not_replaced(
    two_disks: Box, method: str
) -> None:
    """What is on the other disk was never asked about."""
    box = two_disks
    source = box.disk.with_name(f"{box.disk.name}-{method}")
    source.mkdir()
    before, texts = state(box), tree(box.disk)
    send = box.lane.copy if method == "COPY" else box.lane.move
    assert send(f"/{source.name}", box.path).status == 403
    assert state(box) == before
    assert tree(box.disk) == texts
    assert source.is_dir()
    assert reserved_in(box.disk.parent) == []
