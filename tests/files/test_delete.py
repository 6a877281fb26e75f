"""DELETE: all of it is gone, or the answer says what stayed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from conduck_service.base.removal import remove_all
from tests.support.lane import rows_of
from tests.support.lane_faults import Box

DEEP = 1500
"""Levels of a tree that is too deep for one path, and for recursion."""


@contextmanager
def deep_tree(folder: Path) -> Iterator[None]:
    """Make a folder with folders within folders, and a file in the last one.

    Whatever happens, no such tree is left for others to clear away.
    """
    folder.mkdir()
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(DEEP):
        os.mkdir("deeper", dir_fd=descriptor)
        below = os.open("deeper", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(os.open("file.txt", os.O_WRONLY | os.O_CREAT, dir_fd=descriptor))
    os.close(descriptor)
    try:
        yield
    finally:
        for name in os.listdir(folder.parent):  # noqa: PTH208 - not followed
            remove_all(folder.parent / name)


@pytest.mark.req("F-METH-02")
def test_a_file_is_gone(box: Box) -> None:
    box.write("report.pdf")
    assert box.lane.delete(box.at("report.pdf")).status == 204
    assert box.lane.propfind(box.at("report.pdf"), "0").status == 404
    assert box.on_disk() == []


@pytest.mark.req("F-METH-03", "F-METH-10")
def test_a_folder_is_gone_with_all_that_is_in_it(box: Box) -> None:
    (box.disk / "a/b/c").mkdir(parents=True)
    for place in ("a/1", "a/b/2", "a/b/c/3", "a/b/c/Übung %1"):
        box.write(place)
    assert box.lane.delete(box.at("a/")).status == 204
    assert box.on_disk() == []


@pytest.mark.req("F-METH-11")
@pytest.mark.parametrize("name", ["nothing", "nothing/", "no/where", "file/", "file/x"])
def test_what_is_not_there_is_404(box: Box, name: str) -> None:
    box.write("file")
    assert box.lane.delete(box.at(name)).status == 404
    assert box.on_disk() == ["file"]


@pytest.mark.req("F-METH-04")
def test_the_shared_folder_itself_stays(box: Box) -> None:
    box.write("file")
    for root in ("/", "//", "/.", "/x/.."):
        assert box.lane.send("DELETE", root).status == 403
    assert box.on_disk() == ["file"]


@pytest.mark.req("F-ROOT-09")
@pytest.mark.parametrize("step", ["..", "%2e%2e", ".%2E"])
def test_nothing_outside_is_removed(box: Box, step: str) -> None:
    outside = box.lane.folder.parent / "outside.txt"
    outside.write_text("stays", encoding="utf-8")
    target = f"{box.path}/{step}/{step}/outside.txt"
    assert 400 <= box.lane.send("DELETE", target).status < 500
    assert outside.read_text(encoding="utf-8") == "stays"


@pytest.mark.req("F-ROOT-13")
def test_a_link_is_removed_with_its_folder_and_never_followed(
    box: Box, tmp_path: Path
) -> None:
    (tmp_path / "canary.txt").write_text("stays", encoding="utf-8")
    (box.disk / "folder").mkdir()
    (box.disk / "folder/link").symlink_to(tmp_path)
    (box.disk / "folder/dangling").symlink_to(tmp_path / "nothing")
    (box.disk / "link").symlink_to(tmp_path)
    assert box.lane.delete(box.at("link")).status == 404
    assert box.lane.delete(box.at("link/canary.txt")).status == 404
    assert box.lane.delete(box.at("folder")).status == 204
    assert box.on_disk() == ["link"]
    assert [path.name for path in tmp_path.iterdir()] == ["canary.txt"]


def test_pipes_go_with_their_folder(box: Box) -> None:
    (box.disk / "folder").mkdir()
    os.mkfifo(box.disk / "folder/pipe")
    assert box.lane.delete(box.at("folder")).status == 204


def test_no_tree_is_too_deep(box: Box) -> None:
    with deep_tree(box.disk / "tree"):
        assert box.lane.delete(box.at("tree")).status == 204
        assert box.on_disk() == []


@pytest.mark.parametrize("depth", ["0", "1"])
def test_a_folder_goes_whole_or_not_at_all(box: Box, depth: str) -> None:
    (box.disk / "folder").mkdir()
    answer = box.lane.delete(box.at("folder"), headers=[("Depth", depth)])
    assert answer.status == 400
    assert box.on_disk() == ["folder"]


def test_a_body_is_refused(box: Box) -> None:
    box.write("file")
    answer = box.lane.send("DELETE", box.at("file"), b"<x/>")
    assert answer.status == 415
    assert box.on_disk() == ["file"]


def test_one_of_two_at_once_finds_nothing(box: Box) -> None:
    with ThreadPoolExecutor(2) as pool:
        for number in range(10):
            (box.disk / f"{number}/a/b").mkdir(parents=True)
            answers = pool.map(box.lane.delete, [box.at(str(number))] * 2)
            assert sorted(answer.status for answer in answers) == [204, 404]


def test_conditions_hold_for_it(box: Box) -> None:
    box.write("file")
    wrong = [("If-Match", '"other"')]
    assert box.lane.delete(box.at("file"), headers=wrong).status == 412
    assert box.on_disk() == ["file"]
    right = [("If-Match", box.etag("file"))]
    assert box.lane.delete(box.at("file"), headers=right).status == 204
    assert box.lane.delete(box.at("file"), headers=right).status == 404


def test_what_stays_is_named(plain_box: Box) -> None:
    box = plain_box
    (box.disk / "tree/kept").mkdir(parents=True)
    for place in ("tree/1", "tree/kept/a b", "tree/kept/ü"):
        box.write(place)
    (box.disk / "tree/kept").chmod(0o555)
    answer = box.lane.delete(box.at("tree"))
    (box.disk / "tree/kept").chmod(0o755)
    assert answer.status == 207
    assert sorted(row.href for row in rows_of(answer.body)) == [
        box.at("tree/kept/%C3%BC"),
        box.at("tree/kept/a%20b"),
    ]
    assert answer.body.count(b"403 Forbidden") == 2
    assert sorted(path.name for path in (box.disk / "tree").rglob("*")) == [
        "a b",
        "kept",
        "ü",
    ]


def test_what_cannot_be_removed_at_all_is_403(plain_box: Box) -> None:
    box = plain_box
    (box.disk / "tree").mkdir()
    box.write("tree/file")
    (box.disk / "tree").chmod(0o555)
    assert box.lane.delete(box.at("tree")).status == 403
    assert box.lane.delete(box.at("tree/file")).status == 403
    (box.disk / "tree").chmod(0o755)
    box.disk.chmod(0o555)
    assert box.lane.delete(box.at("tree")).status == 403
    box.disk.chmod(0o755)
    assert (box.disk / "tree/file").exists()


def test_an_empty_folder_that_cannot_be_read_goes(plain_box: Box) -> None:
    box = plain_box
    (box.disk / "tree/closed").mkdir(parents=True)
    (box.disk / "tree/closed").chmod(0)
    assert box.lane.delete(box.at("tree")).status == 204
    assert box.on_disk() == []


def test_a_folder_that_cannot_be_entered_stays(plain_box: Box) -> None:
    box = plain_box
    (box.disk / "closed").mkdir()
    box.write("closed/file")
    (box.disk / "closed").chmod(0)
    assert box.lane.delete(box.at("closed")).status == 403
    assert box.lane.delete(box.at("closed/file")).status == 403
    (box.disk / "closed").chmod(0o755)
    assert box.on_disk() == ["closed"]
