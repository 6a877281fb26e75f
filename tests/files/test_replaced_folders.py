"""COPY and MOVE over a folder: it is there until what replaces it is."""

from __future__ import annotations

import os
from functools import partial

import pytest

from tests.files.test_copy_move import both, put, tree
from tests.support.lane_faults import IS_ROOT, Box
from tests.support.lane_races import always, reserved_in, together, visible

LARGE = 64 * 1024 * 1024
ROUNDS = 100


@pytest.mark.req("F-METH-10")
def test_a_folder_is_seen_until_a_large_file_has_its_name(box: Box) -> None:
    with (box.disk / "large").open("wb") as file:
        file.truncate(LARGE)
        file.write(bytes(LARGE // 2))

    def is_either() -> None:
        row = visible(box, "target")
        assert row.is_folder or row.properties["getcontentlength"] == str(LARGE)

    for _ in range(3):
        (box.disk / "target").mkdir()
        box.write("target/precious", b"the only one")
        with always(is_either):
            assert put(box, "COPY", "large", "target").status == 204
        assert (box.disk / "target").stat().st_size == LARGE
        assert reserved_in(box.disk) == []
        (box.disk / "target").unlink()


@pytest.mark.req("F-METH-10")
@both
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_the_name_of_a_replaced_folder_is_never_free(
    box: Box, method: str, kind: str
) -> None:
    """Nobody is told that a conversation is gone while it is replaced."""
    (box.disk / "target").mkdir()
    with always(lambda: visible(box, "target")):
        for number in range(ROUNDS):
            source = f"new-{number}"
            if kind == "folder" or number % 2:
                (box.disk / source).mkdir()
                box.write(f"{source}/{number}")
            else:
                box.write(source)
            assert put(box, method, source, "target").status == 204
            if (box.disk / "target").is_dir():
                assert tree(box.disk / "target") == {str(number): "old"}
            else:
                assert (box.disk / "target").read_bytes() == b"old"
    assert reserved_in(box.disk) == []


@pytest.mark.req("F-METH-10")
def test_several_that_replace_one_folder_leave_one_of_them_whole(box: Box) -> None:
    """MOVE and COPY to one name, together; each is done or refused as a whole."""
    wholes = [{"a": "a"}, {"b": "b"}, {"c": "c"}]
    for number in range(20):
        (box.disk / f"to-{number}").mkdir()
        box.write(f"to-{number}/old")
        for name in "abc":
            (box.disk / f"{name}-{number}").mkdir()
            box.write(f"{name}-{number}/{name}", name.encode())
        answers = together(
            *(
                partial(put, box, method, f"{name}-{number}", f"to-{number}")
                for method, name in (("MOVE", "a"), ("MOVE", "b"), ("COPY", "c"))
            )
        )
        assert {answer.status for answer in answers} <= {201, 204, 409}
        assert any(answer.status == 204 for answer in answers)
        assert tree(box.disk / f"to-{number}") in wholes
    assert reserved_in(box.disk) == []


@pytest.mark.req("F-METH-10")
@both
@pytest.mark.parametrize("mode", [0o555, 0o000, 0o500])
@pytest.mark.parametrize("source", ["folder", "file"])
def test_what_may_not_be_emptied_is_not_replaced(
    plain_box: Box, method: str, source: str, mode: int
) -> None:
    box = plain_box
    (box.disk / "folder").mkdir()
    box.write("folder/new", b"new")
    box.write("file", b"new")
    (box.disk / "target/open/closed").mkdir(parents=True)
    box.write("target/first", b"kept")
    box.write("target/open/closed/kept", b"kept")
    before = tree(box.disk)
    closed = box.disk / "target/open/closed"
    closed.chmod(mode)
    try:
        answer = put(box, method, source, "target")
    finally:
        closed.chmod(0o755)
    assert answer.status == 403
    assert tree(box.disk) == before
    assert reserved_in(box.disk) == []


@pytest.mark.req("F-METH-10")
@both
@pytest.mark.parametrize("source", ["folder", "file"])
def test_a_folder_that_is_closed_itself_is_not_replaced(
    plain_box: Box, method: str, source: str
) -> None:
    box = plain_box
    (box.disk / "folder").mkdir()
    box.write("file", b"new")
    (box.disk / "target").mkdir()
    box.write("target/kept", b"kept")
    before = tree(box.disk)
    (box.disk / "target").chmod(0o555)
    try:
        answer = put(box, method, source, "target")
    finally:
        (box.disk / "target").chmod(0o755)
    assert answer.status == 403
    assert tree(box.disk) == before


@pytest.mark.root
@pytest.mark.skipif(not IS_ROOT, reason="gives a folder to another user")
@both
def test_what_belongs_to_somebody_else_is_not_replaced(
    plain_box: Box, method: str
) -> None:
    box = plain_box
    (box.disk / "folder").mkdir()
    box.write("file", b"new")
    (box.disk / "target/theirs").mkdir(parents=True)
    box.write("target/theirs/kept", b"kept")
    for name in ("target/theirs/kept", "target/theirs"):
        os.chown(box.disk / name, 65534, 65534)
    before = tree(box.disk)
    (box.disk / "target/theirs").chmod(0o700)
    for source in ("folder", "file"):
        assert put(box, method, source, "target").status == 403
    assert tree(box.disk) == before
    assert reserved_in(box.disk) == []
