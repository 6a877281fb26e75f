"""COPY and MOVE where others are in the way: modes, full disks, races."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.files.test_copy_move import METHODS, put, tree
from tests.support.lane import rows_of
from tests.support.lane_faults import (
    IS_LINUX,
    IS_ROOT,
    Box,
    again_and_again,
    tiny_disk,
)


def test_readers_never_miss_a_file_that_is_replaced(box: Box) -> None:
    box.write("file", b"1")

    def replace() -> None:
        box.write("upload", b"2")
        assert put(box, "MOVE", "upload", "file").status == 204

    with again_and_again(replace):
        for _ in range(60):
            assert box.lane.get(box.at("file")).status == 200


@pytest.mark.req("F-ROOT-09", "F-ROOT-10", "F-ROOT-12", "F-ROOT-13")
def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(
    box: Box, tmp_path: Path
) -> None:
    """The engine writes in the same tree, and nothing it does opens a way out."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/canary").write_text("stays", encoding="utf-8")
    before = tree(tmp_path)
    (box.disk / "tree/real/sub").mkdir(parents=True)
    box.write("tree/real/sub/inside", b"inside")
    real, hidden = box.disk / "tree/real", box.disk / "hidden"

    def exchange() -> None:
        real.rename(hidden)
        real.symlink_to(tmp_path)
        real.unlink()
        hidden.rename(real)

    with again_and_again(exchange):
        for number in range(40):
            box.write(f"file-{number}")
            put(box, "COPY", "tree", f"copy-{number}")
            put(box, "COPY", "tree/real/sub", f"sub-{number}")
            put(box, "COPY", "tree/real/sub/canary", f"canary-{number}")
            put(box, "MOVE", "tree/real/sub/canary", f"moved-{number}")
            put(box, "MOVE", f"file-{number}", "tree/real/sub/new")
            box.lane.mkcol(box.at("tree/real/sub/made"))
            box.lane.delete(box.at("tree/real/sub/canary"))
            box.lane.delete(box.at(f"copy-{number}"))
    assert tree(tmp_path) == before
    assert not any("canary" in name for name in tree(box.disk))


def test_one_of_two_at_once_is_told_of_the_other(box: Box) -> None:
    keep = ("Overwrite", "F")
    with ThreadPoolExecutor(2) as pool:
        for number in range(10):
            box.write("a", b"a")
            box.write("b", b"b")
            start = threading.Barrier(2)

            def go(name: str, to: str = f"to-{number}", at: threading.Barrier = start):  # type: ignore[no-untyped-def]
                at.wait()
                return put(box, "MOVE", name, to, keep)

            answers = list(pool.map(go, ["a", "b"]))
            assert sorted(answer.status for answer in answers) == [201, 412]
            winner = "a" if answers[0].status == 201 else "b"
            assert (box.disk / f"to-{number}").read_text(encoding="utf-8") == winner


def test_what_may_not_be_read_is_left_out_and_named(plain_box: Box) -> None:
    box = plain_box
    (box.disk / "old/closed").mkdir(parents=True)
    box.write("old/open", b"open")
    box.write("old/secret").chmod(0)
    (box.disk / "old/closed").chmod(0)
    answer = put(box, "COPY", "old", "new")
    (box.disk / "old/closed").chmod(0o755)
    assert answer.status == 207
    assert sorted(row.href for row in rows_of(answer.body)) == [
        box.at("old/closed/"),
        box.at("old/secret"),
    ]
    assert tree(box.disk / "new") == {"open": "open"}
    assert put(box, "COPY", "old/secret", "x").status == 403
    assert box.on_disk() == ["new", "old"]


def test_where_we_may_not_write_everything_stays(plain_box: Box) -> None:
    box = plain_box
    (box.disk / "closed/there").mkdir(parents=True)
    box.write("file")
    (box.disk / "closed").chmod(0o555)
    before = tree(box.disk)
    for method in METHODS:
        assert put(box, method, "file", "closed/new").status == 403
        assert put(box, method, "file", "closed/there").status == 403
    assert put(box, "MOVE", "closed/there", "new").status == 403
    (box.disk / "closed").chmod(0)
    for method in METHODS:
        assert put(box, method, "file", "closed/new").status == 403
        assert put(box, method, "closed/there", "new").status == 403
    (box.disk / "closed").chmod(0o755)
    assert tree(box.disk) == before


@pytest.mark.root
@pytest.mark.skipif(not (IS_ROOT and IS_LINUX), reason="mounts a disk")
def test_a_full_disk_leaves_nothing_of_a_copy(box: Box) -> None:
    (box.disk / "old").mkdir()
    box.write("old/small")
    box.write("old/large", bytes(200_000))
    (box.disk / "tiny").mkdir()
    with tiny_disk(box.disk / "tiny", "64k", 20):
        box.write("tiny/there", b"kept")
        assert put(box, "COPY", "old", "tiny/new").status == 507
        assert put(box, "COPY", "old", "tiny/there").status == 507
        assert put(box, "COPY", "old/large", "tiny/there").status == 507
        assert tree(box.disk / "tiny") == {"there": "kept"}
    assert (box.disk / "old/large").stat().st_size == 200_000
