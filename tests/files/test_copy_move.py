"""COPY and MOVE: whole, replaced and never merged, and never out of the folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.files.test_delete import deep_tree
from tests.support.lane_faults import Box
from tests.support.raw_http import RawResponse

METHODS = ("COPY", "MOVE")
both = pytest.mark.parametrize("method", METHODS)


def put(
    box: Box, method: str, name: str, to: str, *headers: tuple[str, str]
) -> RawResponse:
    """Copy or move something within a box."""
    send = box.lane.copy if method == "COPY" else box.lane.move
    return send(box.at(name), box.at(to), list(headers))


def tree(folder: Path) -> dict[str, str | None]:
    """Return all that is in a folder, and what is in its files."""
    return {
        str(path.relative_to(folder)): (
            path.read_text(encoding="utf-8") if path.is_file() else None
        )
        for path in folder.rglob("*")
    }


@pytest.fixture
def filled(box: Box) -> Box:
    """A box with a folder that holds a file and a folder with another."""
    (box.disk / "old/sub").mkdir(parents=True)
    box.write("old/1", b"one")
    box.write("old/sub/2", b"two")
    return box


@both
def test_a_new_name_is_201_and_a_taken_one_204(box: Box, method: str) -> None:
    box.write("a", b"first")
    assert put(box, method, "a", "b").status == 201
    box.write("a", b"second")
    assert put(box, method, "a", "b", ("Overwrite", "T")).status == 204
    assert (box.disk / "b").read_bytes() == b"second"
    assert box.on_disk() == (["a", "b"] if method == "COPY" else ["b"])


@both
def test_overwrite_f_keeps_what_is_there(filled: Box, method: str) -> None:
    box = filled
    box.write("there", b"kept")
    (box.disk / "folder").mkdir()
    for name in ("old", "old/1"):
        for to in ("there", "folder"):
            assert put(box, method, name, to, ("Overwrite", "f")).status == 412
    for number, name in enumerate(("old/1", "old")):
        answer = put(box, method, name, f"new-{number}", ("Overwrite", "F"))
        assert answer.status == 201
    assert put(box, method, "there", "x", ("Overwrite", "maybe")).status == 400
    assert (box.disk / "there").read_bytes() == b"kept"
    assert "x" not in box.on_disk()


@both
def test_a_folder_goes_with_all_that_is_in_it(filled: Box, method: str) -> None:
    before = tree(filled.disk / "old")
    assert put(filled, method, "old/", "new/").status == 201
    assert tree(filled.disk / "new") == before
    assert (filled.disk / "old").exists() is (method == "COPY")


@both
def test_a_folder_is_replaced_and_not_merged(filled: Box, method: str) -> None:
    before = tree(filled.disk / "old")
    (filled.disk / "new/other").mkdir(parents=True)
    filled.write("new/1", b"mine")
    assert put(filled, method, "old", "new").status == 204
    assert tree(filled.disk / "new") == before
    assert set(filled.on_disk()) <= {"old", "new"}


@both
def test_kinds_replace_each_other(filled: Box, method: str) -> None:
    box = filled
    box.write("file", b"file")
    (box.disk / "folder").mkdir()
    box.write("folder/gone")
    assert put(box, method, "file", "folder").status == 204
    assert (box.disk / "folder").read_bytes() == b"file"
    box.write("target")
    assert put(box, method, "old", "target").status == 204
    assert (box.disk / "target/sub/2").read_bytes() == b"two"


@both
def test_onto_itself_or_into_itself_is_403(filled: Box, method: str) -> None:
    before = tree(filled.disk)
    for to in ("old", "old/", "old/sub/new", "old/./new", "%6Fld/new", "old//x"):
        headers = [("Destination", filled.at(to))]
        answer = filled.lane.send(method, filled.at("old"), headers=headers)
        assert answer.status == 403, to
    assert put(filled, method, "old/1", "old/1").status == 403
    # What would be replaced holds what is to be put there.
    assert put(filled, method, "old/sub", "old").status == 403
    assert tree(filled.disk) == before


@pytest.mark.req("F-METH-04")
@both
def test_the_shared_folder_itself_is_403(box: Box, method: str) -> None:
    box.write("file")
    to = [("Destination", box.at("new"))]
    assert box.lane.send(method, "/", headers=to).status == 403
    to = [("Destination", "/")]
    assert box.lane.send(method, box.at("file"), headers=to).status == 403
    assert box.on_disk() == ["file"]


@pytest.mark.req("F-METH-11")
@both
def test_what_is_not_there_is_404_and_no_parent_409(box: Box, method: str) -> None:
    box.write("file")
    for name in ("nothing", "no/thing", "file/", "file/x"):
        assert put(box, method, name, "new").status == 404
    for to in ("no/new", "file/new"):
        assert put(box, method, "file", to).status == 409
    assert put(box, method, "file", "new/").status == 409
    assert box.on_disk() == ["file"]


@pytest.mark.req("F-ROOT-10", "F-ROOT-11", "F-ROOT-12")
@both
def test_links_are_neither_followed_nor_replaced(
    box: Box, tmp_path: Path, method: str
) -> None:
    (tmp_path / "canary.txt").write_text("stays", encoding="utf-8")
    (box.disk / "link").symlink_to(tmp_path)
    (box.disk / "dangling").symlink_to(tmp_path / "nothing")
    os.mkfifo(box.disk / "pipe")
    box.write("file")
    for name in ("link", "dangling", "pipe", "link/canary.txt"):
        assert put(box, method, name, "new").status == 404
    for to in ("link", "dangling", "pipe"):
        assert put(box, method, "file", to).status == 403
    assert put(box, method, "file", "link/new").status == 409
    assert box.on_disk() == ["dangling", "file", "link", "pipe"]
    assert tree(tmp_path) == {"canary.txt": "stays"}


@pytest.mark.req("F-ROOT-08", "F-ROOT-10")
@pytest.mark.parametrize("step", ["..", "%2e%2e", "%2E."])
@both
def test_nothing_goes_out_or_comes_in(box: Box, method: str, step: str) -> None:
    outside = box.lane.folder.parent / "outside.txt"
    outside.write_text("stays", encoding="utf-8")
    box.write("file")
    away = f"{box.path}/{step}/{step}"
    headers = [("Destination", f"{away}/new.txt")]
    answer = box.lane.send(method, box.at("file"), headers=headers)
    assert 400 <= answer.status < 500
    headers = [("Destination", box.at("new.txt"))]
    answer = box.lane.send(method, f"{away}/outside.txt", headers=headers)
    assert 400 <= answer.status < 500
    assert box.on_disk() == ["file"]
    assert outside.read_text(encoding="utf-8") == "stays"
    assert not (box.lane.folder.parent / "new.txt").exists()


def test_a_copied_folder_has_no_links(box: Box, tmp_path: Path) -> None:
    (box.disk / "old").mkdir()
    (box.disk / "old/link").symlink_to(tmp_path)
    os.mkfifo(box.disk / "old/pipe")
    box.write("old/file")
    assert put(box, "COPY", "old", "new").status == 201
    assert os.listdir(box.disk / "new") == ["file"]  # noqa: PTH208
    assert put(box, "MOVE", "old", "moved").status == 201
    assert (box.disk / "moved/link").is_symlink()


def test_depth_0_copies_the_folder_alone(filled: Box) -> None:
    assert put(filled, "COPY", "old", "new", ("Depth", "0")).status == 201
    assert tree(filled.disk / "new") == {}
    assert put(filled, "COPY", "old", "x", ("Depth", "1")).status == 400
    assert put(filled, "MOVE", "old", "x", ("Depth", "0")).status == 400
    assert filled.on_disk() == ["new", "old"]


def test_copies_have_the_modes_of_the_lane(box: Box) -> None:
    made = box.lane.put(box.at("made"), b"x")
    assert made.status == 201
    wanted = (box.disk / "made").stat().st_mode
    (box.disk / "old/sub").mkdir(parents=True)
    box.write("old/run").chmod(0o4777)
    assert put(box, "COPY", "old", "new").status == 201
    assert put(box, "COPY", "old/run", "single").status == 201
    for name in ("new/run", "single"):
        assert (box.disk / name).stat().st_mode == wanted
    folder = stat.S_IMODE(box.lane.folder.stat().st_mode)
    assert stat.S_IMODE((box.disk / "new/sub").stat().st_mode) == folder


def test_moved_files_keep_their_mode_and_time(box: Box) -> None:
    box.write("old").chmod(0o751)
    before = (box.disk / "old").stat()
    assert put(box, "MOVE", "old", "new").status == 201
    after = (box.disk / "new").stat()
    assert (before.st_mode, before.st_mtime_ns) == (after.st_mode, after.st_mtime_ns)


def test_two_names_of_one_file_become_one(box: Box) -> None:
    box.write("a", b"same")
    os.link(box.disk / "a", box.disk / "b")
    assert put(box, "MOVE", "a", "b").status == 204
    assert tree(box.disk) == {"b": "same"}


def test_a_file_of_many_pieces_is_copied_whole(box: Box) -> None:
    body = os.urandom(3_000_001)
    box.write("old", body)
    assert put(box, "COPY", "old", "new").status == 201
    assert (box.disk / "new").read_bytes() == body


def test_no_tree_is_too_deep(box: Box) -> None:
    with deep_tree(box.disk / "old"):
        assert put(box, "COPY", "old", "copy").status == 201
        assert put(box, "MOVE", "copy", "moved").status == 201
        for name in ("old", "moved"):
            assert box.lane.delete(box.at(name)).status == 204
        assert box.on_disk() == []


@both
def test_conditions_are_about_the_source(box: Box, method: str) -> None:
    box.write("old", b"old")
    box.write("new", b"new")
    wrong = ("If-Match", box.etag("new"))
    assert put(box, method, "old", "new", wrong).status == 412
    assert tree(box.disk) == {"old": "old", "new": "new"}
    right = ("If-Match", box.etag("old"))
    assert put(box, method, "old", "new", right).status == 204


@pytest.mark.req("F-IN-07")
@both
@pytest.mark.parametrize(
    "name", ["a;b=c", "a?b", "a#b", "100%41", "a+b &", "ü/ö;", "…"]
)
def test_names_of_all_sorts(box: Box, method: str, name: str) -> None:
    box.write("plain", b"x")
    (box.disk / "ü").mkdir()
    assert put(box, method, "plain", name).status == 201
    assert (box.disk / name).read_bytes() == b"x"
    assert put(box, method, name, name + "2", ("Overwrite", "F")).status == 201
    assert put(box, method, name + "2", "plain").status == (
        204 if method == "COPY" else 201
    )
