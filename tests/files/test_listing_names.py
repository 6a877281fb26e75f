"""Listings of folders where engines made odd things, or very many."""

from __future__ import annotations

import os
import re
import socket
import stat
import sys
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

import pytest

from tests.support.lane import CONVERSATION, Lane, believed, rows_of
from tests.support.lane_faults import IS_LINUX, IS_ROOT, Box
from tests.support.service import Service

LISTED_BYTES = 262_144
OUTBOUND_FILES = 190

CONTROLS = [chr(code) for code in (*range(1, 32), 127, 0x85, 0x9F)]
NO_XML = ["\ufffe", "\uffff"]
MARKUP = ["<", ">", "&", '"', "'", "]]>", "&amp;", "<!--", "%41", "%", "#", "?", ";"]
BREAKS = ["\u2028", "\u2029", "\u200e", "\ufeff", "\u00a0", "\U0001f600"]


def outbound(lane: Lane, number: int) -> tuple[str, Path]:
    """Make the folder of a turn; return its path, and where it is on the disk."""
    path = f"/{CONVERSATION}/out-{number:032x}"
    disk = lane.folder / path[1:]
    disk.mkdir(parents=True)
    return path, disk


def counted(service: Service, action: str) -> list[int]:
    """Return the counts of all log lines of an action."""
    return [int(n) for n in re.findall(rf" {action} .*count=(\d+)", service.log)]


@pytest.mark.skipif(sys.platform == "darwin", reason="its disks refuse such names")
@pytest.mark.parametrize("body", [b"", b"names"])
@pytest.mark.req("F-PROP-12", "F-IN-07")
def test_odd_names_are_listed_and_fetched_by_their_href(box: Box, body: bytes) -> None:
    if body:
        body = (
            b'<D:propfind xmlns:D="DAV:"><D:prop><D:displayname/></D:prop></D:propfind>'
        )
    names = [f"a{sign}b.txt" for sign in (*CONTROLS, *NO_XML, *MARKUP, *BREAKS)]
    names += [f"\n{sign}" for sign in MARKUP] + ["a\r\nb", "\x1b[31m"]
    for name in names:
        (box.disk / name).write_text(name, newline="")
    answer = box.lane.propfind(box.path, body=body)
    assert answer.status == 207
    own, *rows = rows_of(answer.body)
    assert own.href == box.path + "/"
    assert sorted(row.name for row in rows) == sorted(names)
    for row in rows:
        assert re.fullmatch("[!-~]+", row.href)
        assert box.lane.send("GET", row.href).body == row.name.encode()


@pytest.mark.skipif(not IS_LINUX, reason="only here a name may be any bytes")
@pytest.mark.req("F-PROP-03")
def test_a_name_that_is_not_utf8_does_not_lose_the_folder(
    box: Box, service: Service
) -> None:
    box.write("good.txt")
    for name in (b"bad\xff.txt", b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf"):
        (Path(os.fsdecode(os.fsencode(box.disk) + b"/" + name))).touch()
    for _ in range(2):
        assert box.lane.names(box.path) == ["good.txt"]
    assert counted(service, "lane_names_hidden")[-2:] == [4, 4]
    assert "bad" not in service.log


@pytest.mark.skipif(sys.platform == "darwin", reason="its disks refuse such names")
@pytest.mark.req("F-PROP-12")
def test_folders_with_odd_names_can_be_gone_through(box: Box) -> None:
    names = ["a b", "\n", "ü", "%2F", "&<"]
    below = box.disk
    for name in names:
        below = below / name
        below.mkdir()
    (below / "end.txt").write_bytes(b"end")
    href = box.path
    for name in [*names, "end.txt"]:
        (row,) = rows_of(box.lane.send("PROPFIND", href, headers=DEPTH_1).body)[1:]
        assert row.name == name
        href = row.href
    assert box.lane.send("GET", href).body == b"end"


DEPTH_1 = [("Depth", "1")]


@pytest.mark.req("F-OUT-21")
def test_an_ordinary_folder_is_listed_whole(box: Box) -> None:
    names = [
        f"file-{number:03}.{'txt' if number % 2 else 'odd'}" for number in range(300)
    ]
    for name in names:
        (box.disk / name).touch()
    assert box.lane.names(box.path) == names


@pytest.mark.req("F-OUT-21", "F-OUT-04")
def test_of_an_outbound_folder_as_much_is_listed_as_the_app_takes(
    lane: Lane, service: Service
) -> None:
    path, disk = outbound(lane, 1)
    names = [f"file-{number:03}.bin" for number in range(300)]
    for name in reversed(names):
        (disk / name).write_bytes(b"x")
    before = len(counted(service, "lane_listing_cut"))
    assert lane.seen_by_app(path) == names[:OUTBOUND_FILES]
    assert counted(service, "lane_listing_cut")[before:] == [300 - OUTBOUND_FILES]
    for name in names[:111]:
        (disk / name).unlink()
    assert lane.seen_by_app(path) == names[111:]
    assert len(counted(service, "lane_listing_cut")) == before + 1


@pytest.mark.req("F-OUT-21")
def test_an_outbound_listing_of_long_names_stays_short_enough(lane: Lane) -> None:
    path, disk = outbound(lane, 2)
    names = [f"{number:03}-{'日' * 64}.pdf" for number in range(OUTBOUND_FILES)]
    for name in names:
        (disk / name).touch()
    answer = lane.propfind(path)
    assert 200_000 < len(answer.body) <= LISTED_BYTES
    seen = believed(path, answer.body)
    assert 100 < len(seen) <= OUTBOUND_FILES
    assert seen == names[: len(seen)]


@pytest.mark.skipif(sys.platform == "darwin", reason="its disks normalise names")
@pytest.mark.req("F-OUT-21")
def test_one_odd_name_does_not_lose_an_outbound_folder(
    lane: Lane, service: Service
) -> None:
    path, disk = outbound(lane, 3)
    odd = [
        b"back\\slash.txt",
        b"line\nfeed.txt",
        b"bad\xff.txt",
        b"\x7f",
        b"\xef\xbf\xbf",
    ]
    for name in (*odd, "é.txt".encode(), "e\u0301.txt".encode(), b"good.pdf"):
        Path(os.fsdecode(os.fsencode(disk) + b"/" + name)).touch()
    os.mkfifo(disk / "pipe.txt")
    (disk / "link.txt").symlink_to("good.pdf")
    seen = lane.seen_by_app(path)
    assert len(seen) == 2
    assert seen[1] == "good.pdf" or seen[0] == "good.pdf"
    assert {"é.txt", "e\u0301.txt"} & set(seen)
    assert counted(service, "lane_names_hidden")[-1] == len(odd) + 1


@pytest.mark.req("F-OUT-21", "F-OUT-07")
def test_files_come_before_folders_where_there_is_room_for_few(lane: Lane) -> None:
    path, disk = outbound(lane, 4)
    for number in range(250):
        (disk / f"a-folder-{number}").mkdir()
    (disk / "z.txt").write_bytes(b"last")
    assert lane.seen_by_app(path) == ["z.txt"]
    assert lane.get(f"{path}/z.txt").body == b"last"


@pytest.mark.req("F-OUT-21")
@pytest.mark.parametrize(
    "folder",
    [
        f"{CONVERSATION}/out-{'g' * 32}",
        f"{CONVERSATION}/out-{'0' * 31}",
        f"{CONVERSATION}/sub/out-{'0' * 32}",
        f"{CONVERSATION.lower()}/out-{'0' * 32}",
        f"out-{'0' * 32}",
    ],
)
def test_only_the_folders_that_turns_name_are_bounded(lane: Lane, folder: str) -> None:
    disk = lane.folder / folder
    disk.mkdir(parents=True)
    for number in range(201):
        (disk / f"{number:03}").touch()
    (disk / "back\\slash").touch()
    assert len(lane.names(f"/{folder}")) == 202


@pytest.mark.req("F-IN-07")
def test_composed_and_decomposed_names_are_two(box: Box) -> None:
    if sys.platform == "darwin":
        pytest.skip("its disks take them for one")
    for name in ("é.txt", "e\u0301.txt"):
        assert box.lane.put(box.at(name), name.encode()).status == 201
    for name in ("é.txt", "e\u0301.txt"):
        assert box.lane.get(box.at(name)).body == name.encode()
    assert len(box.lane.names(box.path)) == 2


@pytest.mark.req("F-IN-07")
def test_upper_and_lower_case_are_two(box: Box) -> None:
    if sys.platform == "darwin":
        pytest.skip("its disks take them for one")
    for name in ("A.txt", "a.txt"):
        assert box.lane.put(box.at(name), name.encode()).status == 201
    assert box.lane.names(box.path) == ["A.txt", "a.txt"]
    assert box.lane.get(box.at("a.TXT")).status == 404


def test_a_label_says_the_name_where_xml_can(box: Box) -> None:
    name = "a&b <ü>.txt"
    box.write(name)
    (row,) = box.lane.rows(box.path)[1:]
    assert row.properties["displayname"] == name
    assert row.href == quote(box.path) + "/" + row.href.rpartition("/")[2]
    assert unquote_to_bytes(row.href).decode() == box.at(name)


def test_what_is_neither_file_nor_folder_is_hidden(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/canary.txt").touch()
    box.write("file.txt")
    (box.disk / "to-file").symlink_to("file.txt")
    (box.disk / "dangling").symlink_to("nothing")
    (box.disk / "to-folder").symlink_to(tmp_path / "outside")
    os.mkfifo(box.disk / "pipe")
    monkeypatch.chdir(box.disk)  # its path may be too long for a socket
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind("socket")
        if IS_ROOT:
            os.mknod(box.disk / "device", 0o600 | stat.S_IFCHR, os.makedev(1, 5))
        assert box.lane.names(box.path) == ["file.txt"]
        for name in box.on_disk():
            found = box.lane.propfind(box.at(name), "0").status
            assert found == (207 if name == "file.txt" else 404), name
    for depth in ("0", "1"):
        answer = box.lane.propfind(box.at("to-folder"), depth)
        assert answer.status == 404
        assert box.lane.propfind(box.at("to-folder/"), depth).status == 404


@pytest.mark.req("F-OUT-08")
def test_sizes_beyond_four_gigabytes_are_right(box: Box) -> None:
    size = 5 * 2**30 + 3
    with (box.disk / "big.bin").open("wb") as file:
        file.seek(size - 3)
        file.write(b"end")
    assert box.size_listed("big.bin") == size
    answer = box.lane.send("HEAD", box.at("big.bin"))
    assert answer.values("Content-Length") == [str(size)]
    headers = [("Range", f"bytes={size - 4}-")]
    assert box.lane.get(box.at("big.bin"), headers=headers).body == b"\0end"
    (box.disk / "big.bin").unlink()
