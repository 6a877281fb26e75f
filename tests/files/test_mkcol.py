"""MKCOL: a folder that was not there."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.lane import new_conversation
from tests.support.lane_faults import IS_LINUX, IS_ROOT, Box, tiny_disk


@pytest.mark.req("F-IN-01")
def test_a_folder_is_made_and_filled(box: Box) -> None:
    conversation = new_conversation()
    assert box.lane.mkcol(box.at(conversation)).status == 201
    key = f"{conversation}/1a2b__report.pdf"
    assert box.lane.put(box.at(key), b"report").status == 201
    assert (box.disk / key).read_bytes() == b"report"


def test_a_folder_has_the_modes_of_the_lane(box: Box) -> None:
    assert box.lane.mkcol(box.at("new/")).status == 201
    mode = stat.S_IMODE((box.disk / "new").stat().st_mode)
    assert mode == stat.S_IMODE(box.lane.folder.stat().st_mode)


@pytest.mark.req("F-IN-12")
def test_what_is_there_is_405_and_what_has_no_parent_409(box: Box) -> None:
    box.write("file")
    (box.disk / "folder").mkdir()
    for there in ("folder", "folder/", "file", "file/"):
        answer = box.lane.mkcol(box.at(there))
        assert answer.status == 405
        assert answer.values("Allow")
    assert box.lane.mkcol(box.path.rpartition("/")[0] + "/").status == 405
    for orphan in ("no/new", "no/where/new", "file/new"):
        assert box.lane.mkcol(box.at(orphan)).status == 409
    assert box.on_disk() == ["file", "folder"]


@pytest.mark.req("F-ROOT-08", "F-ROOT-12")
def test_links_are_taken_names_and_no_folders(box: Box, tmp_path: Path) -> None:
    (box.disk / "link").symlink_to(tmp_path)
    (box.disk / "dangling").symlink_to(tmp_path / "nothing")
    os.mkfifo(box.disk / "pipe")
    for name in ("link", "dangling", "pipe"):
        assert box.lane.mkcol(box.at(name)).status == 405
        assert box.lane.mkcol(box.at(f"{name}/new")).status == 409
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("F-ROOT-08")
@pytest.mark.parametrize("step", ["..", "%2e%2e", "%2E."])
def test_nothing_is_made_outside(box: Box, step: str) -> None:
    target = f"{box.path}/{step}/{step}/outside"
    assert 400 <= box.lane.send("MKCOL", target).status < 500
    assert not (box.lane.folder.parent / "outside").exists()


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("a%2Fb", 409),
        ("%00", 400),
        ("a%0Ab", 400),
        ("%7F", 400),
        ("%FF", 400),
        ("%EF%BF%BF", 400),
        ("x" * 256, 400),
        (".conduck-" + "0" * 32, 403),
    ],
)
def test_names_that_nothing_may_have(box: Box, name: str, status: int) -> None:
    assert box.lane.send("MKCOL", box.at(name)).status == status
    assert box.on_disk() == []


@pytest.mark.req("F-IN-07")
@pytest.mark.parametrize("name", ["a b", "100% #1;?&+", "-x", "...", "👋", "e\u0301"])
def test_names_of_all_sorts(box: Box, name: str) -> None:
    assert box.lane.mkcol(box.at(name)).status == 201
    assert box.on_disk() == [name]


def test_a_body_is_refused(box: Box) -> None:
    assert box.lane.send("MKCOL", box.at("new"), b"<x/>").status == 415
    assert box.on_disk() == []


def test_conditions_hold_for_it(box: Box) -> None:
    name = box.at("new")
    assert box.lane.mkcol(name, headers=[("If-Match", "*")]).status == 412
    assert box.lane.mkcol(name, headers=[("If-None-Match", "*")]).status == 201
    assert box.lane.mkcol(name, headers=[("If-None-Match", "*")]).status == 412


def test_one_of_two_at_once_finds_it_there(box: Box) -> None:
    with ThreadPoolExecutor(2) as pool:
        for number in range(10):
            answers = pool.map(box.lane.mkcol, [box.at(str(number))] * 2)
            assert sorted(answer.status for answer in answers) == [201, 405]


def test_where_we_may_not_write_is_403(plain_box: Box) -> None:
    plain_box.disk.chmod(0o555)
    assert plain_box.lane.mkcol(plain_box.at("new")).status == 403
    plain_box.disk.chmod(0)
    assert plain_box.lane.mkcol(plain_box.at("new")).status == 403
    plain_box.disk.chmod(0o755)


@pytest.mark.root
@pytest.mark.skipif(not (IS_ROOT and IS_LINUX), reason="mounts a disk")
def test_a_full_disk_is_507(box: Box) -> None:
    with tiny_disk(box.disk, "64k", 2):
        assert box.lane.mkcol(box.at("one")).status == 201
        assert box.lane.mkcol(box.at("two")).status == 507
        assert box.on_disk() == ["one"]
