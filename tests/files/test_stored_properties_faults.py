"""Stored properties that somebody forged, raced with, or gave a reserved name."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.files.test_properties import COLOR, color, drop, patch, put, statuses
from tests.files.test_racing_writers import end
from tests.support.lane import rows_of
from tests.support.lane_faults import IS_LINUX, Box, again_and_again, uploading
from tests.support.lane_races import together

if not IS_LINUX:
    pytest.skip("extended attributes are Linux only", allow_module_level=True)

KEY = "user.conduck.properties"
MARK = "user.conduck.marked"
D = "{DAV:}"
LARGE = 16 * 1024 * 1024
AT_ONCE = 5
X = "xmlns='urn:x'"

ALL = b"<D:propfind xmlns:D='DAV:'><D:allprop/></D:propfind>"
NAMES = b"<D:propfind xmlns:D='DAV:'><D:propname/></D:propfind>"
SOME = (
    b"<D:propfind xmlns:D='DAV:'><D:prop><D:getetag/><D:resourcetype/>"
    b"<D:getcontentlength/><x:a xmlns:x='urn:x'/></D:prop></D:propfind>"
)
INCLUDE = (
    b"<D:propfind xmlns:D='DAV:'><D:allprop/><D:include><x:a xmlns:x='urn:x'/>"
    b"</D:include></D:propfind>"
)

LIVE = {
    f"{D}getetag": "<D:getetag xmlns:D='DAV:'>made-up</D:getetag>",
    f"{D}getcontentlength": "<D:getcontentlength xmlns:D='DAV:'>9</D:getcontentlength>",
    f"{D}resourcetype": (
        "<D:resourcetype xmlns:D='DAV:'><D:collection/></D:resourcetype>"
    ),
    f"{D}displayname": "<D:displayname xmlns:D='DAV:'>made-up</D:displayname>",
}
OUT = "<a xmlns='urn:x'/></D:prop></D:propstat></D:response><D:response><D:propstat>"

FORGED = {
    "cut": {"{urn:x}a": "<broken"},
    "not closed": {"{urn:x}a": f"<a {X}><b></a>"},
    "no prefix": {"{urn:x}a": "<y:a/>"},
    "no element": {"{urn:x}a": "text"},
    "empty": {"{urn:x}a": ""},
    "two": {"{urn:x}a": f"<a {X}/><a {X}/>"},
    "a way out": {"{urn:x}a": OUT},
    "tail": {"{urn:x}a": f"<a {X}/>tail"},
    "entity": {"{urn:x}a": f"<a {X}>&nbsp;</a>"},
    "bomb": {"{urn:x}a": f"<!DOCTYPE a [<!ENTITY b 'c'>]><a {X}>&b;</a>"},
    "surrogate": {"{urn:x}a": "\ud800"},
    "surrogate inside": {"{urn:x}a": f"<a {X}>\ud800</a>"},
    "surrogate name": {"{urn:x}\ud800": f"<a {X}/>"},
    "control": {"{urn:x}a": f"<a {X}>\x01</a>"},
    "noncharacter": {"{urn:x}a": f"<a {X}>\uffff</a>"},
    "other name": {"{urn:x}a": f"<b {X}/>"},
    "other space": {"{urn:x}a": "<a xmlns='urn:y'/>"},
    "name with a space": {"{urn:x}a b": f"<a {X}/>"},
    "name of markup": {"{urn:x}a/><b": f"<a {X}/>"},
    "no name": {"": f"<a {X}/>", "{urn:x}": f"<a {X}/>", "}": f"<a {X}/>"},
    "xml name": {"{http://www.w3.org/XML/1998/namespace}a": "<xml:a/>"},
    "live": LIVE,
    "live under another name": {"{urn:x}a": LIVE[f"{D}getetag"]},
    "values": {"{urn:x}a": 1, "{urn:x}b": None, "{urn:x}c": ["<c/>"], "{urn:x}d": {}},
}
BYTES = {
    "nothing": b"",
    "no text": b"\xff\xfe",
    "no object": b'["<a/>"]',
    "deep": b"[" * 3000,
    "long number": b'{"{urn:x}a": 1' + b"9" * 3000 + b"}",
    "not a number": b'{"{urn:x}a": NaN}',
    **{name: json.dumps(value).encode() for name, value in FORGED.items()},
}


@pytest.fixture
def marked(box: Box) -> Box:
    """A box in whose lane properties are looked for, with files to give some."""
    (box.disk / "folder").mkdir()
    box.write("folder/inside")
    box.write("forged", b"old")
    box.write("good", b"old")
    try:
        os.setxattr(box.lane.folder, MARK, b"1")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    assert statuses(patch(box, "good", put(COLOR))) == {"{urn:x}color": "200"}
    return box


def live_rows(box: Box, body: bytes) -> dict[str, list[ElementTree.Element]]:
    """Return what a listing tells of each name; it has to be well-formed."""
    answer = box.lane.propfind(box.path, "1", body)
    assert answer.status == 207
    answer.body.decode("utf-8")
    names = [row.name for row in rows_of(answer.body)]
    root = ElementTree.fromstring(answer.body)  # noqa: S314 - our own answer
    told = [
        [
            item
            for stat in row.iterfind(f"{D}propstat")
            if " 200 " in (stat.findtext(f"{D}status") or "")
            for item in stat.iterfind(f"{D}prop/*")
        ]
        for row in root
    ]
    assert len(names) == len(set(names)) == len(told)
    return dict(zip(names, told, strict=True))


def check_live(box: Box, body: bytes) -> None:
    """Look whether everything is listed, with live properties as they are."""
    rows = live_rows(box, body)
    assert sorted(rows) == sorted([box.disk.name, "folder", "forged", "good"])
    for items in rows.values():
        tags = [item.tag for item in items]
        assert len(tags) == len(set(tags))
    if body == NAMES:
        return
    for name in ("forged", "good"):
        live = {item.tag: item for item in rows[name]}
        assert live[f"{D}getcontentlength"].text == "3"
        assert len(live[f"{D}resourcetype"]) == 0
        shown = (live[f"{D}getetag"].text or "").removeprefix("W/")
        assert shown == box.etag(name).removeprefix("W/")
        assert "made-up" not in (item.text for item in rows[name])
    for name in ("folder", box.disk.name):
        live = {item.tag: item for item in rows[name]}
        assert [item.tag for item in live[f"{D}resourcetype"]] == [f"{D}collection"]
        assert f"{D}getcontentlength" not in live


@pytest.mark.parametrize("value", BYTES.values(), ids=BYTES.keys())
def test_what_an_engine_forged_breaks_no_listing(marked: Box, value: bytes) -> None:
    box = marked
    for path in (box.disk / "forged", box.disk / "folder", box.disk):
        os.setxattr(path, KEY, value)
    for body in (b"", ALL, NAMES, SOME, INCLUDE):
        check_live(box, body)
    assert color(box, "good") == "blue"


@pytest.mark.parametrize("value", BYTES.values(), ids=BYTES.keys())
def test_what_an_engine_forged_stops_no_change(marked: Box, value: bytes) -> None:
    box = marked
    for name in ("forged", "folder"):
        os.setxattr(box.disk / name, KEY, value)
        assert statuses(patch(box, name, put(COLOR))) == {"{urn:x}color": "200"}
        assert color(box, name) == "blue"
        os.setxattr(box.disk / name, KEY, value)
        assert box.lane.copy(box.at(name), box.at("copy")).status == 201
        assert box.lane.delete(box.at("copy")).status == 204
    assert box.lane.put(box.at("forged"), b"new").status == 204
    check_live(box, ALL)


RESERVED = (
    "<xml:q/>",
    "<xml:lang>en</xml:lang>",
    "<y:q xmlns:y='http://www.w3.org/XML/1998/namespace'/>",
    "<y:q xmlns:y='http://www.w3.org/2000/xmlns/'/>",
    "<xmlns:q/>",
)


@pytest.mark.parametrize("element", RESERVED)
def test_names_of_xml_itself_are_nobodys_properties(box: Box, element: str) -> None:
    box.write("file")
    for action in (put(element), put(COLOR) + put(element), drop(element)):
        assert patch(box, "file", action).status == 400
    assert patch(box, "", put(element)).status == 400
    assert os.listxattr(box.disk / "file") == os.listxattr(box.disk) == []
    for asked in (
        f"<D:prop>{element}</D:prop>",
        f"<D:prop><D:getetag/>{element}</D:prop>",
        f"<D:allprop/><D:include>{element}</D:include>",
    ):
        body = f"<D:propfind xmlns:D='DAV:'>{asked}</D:propfind>".encode()
        for depth in ("0", "1"):
            assert box.lane.propfind(box.path, depth, body).status == 400
    for body in (b"", ALL, NAMES):
        names = [
            row.name for row in rows_of(box.lane.propfind(box.path, "1", body).body)
        ]
        assert names == [box.disk.name, "file"]


@contextmanager
def patched_root(box: Box) -> Iterator[None]:
    """Give the shared folder itself a colour for the block."""
    root = Box(box.lane, "", box.lane.folder)
    answer = patch(root, "", put(COLOR))
    assert statuses(answer) == {"{urn:x}color": "200"}
    try:
        yield
    finally:
        answer = patch(root, "", drop("<x:color xmlns:x='urn:x'/>"))
        assert statuses(answer) == {"{urn:x}color": "200"}


def test_the_shared_folder_itself_has_properties(box: Box) -> None:
    """They are told by every listing that names it, and by no other."""
    some = b"<D:propfind xmlns:D='DAV:'><D:prop><x:color xmlns:x='urn:x'/></D:prop>"
    bodies = (b"", ALL, some + b"</D:propfind>")
    with patched_root(box):
        for depth in ("0", "1"):
            for body in bodies:
                first, *others = box.lane.rows("/", depth, body)
                assert first.href == "/"
                assert first.properties["{urn:x}color"] == "blue"
                assert not any("{urn:x}color" in row.properties for row in others)
            first, *_ = box.lane.rows("/", depth, NAMES)
            assert "{urn:x}color" in first.properties
    for depth in ("0", "1"):
        assert "{urn:x}color" not in box.lane.rows("/", depth)[0].properties


def numbered(number: int) -> str:
    """Return a property that only one test round has."""
    return f"<x:p{number} xmlns:x='urn:x'>{number}</x:p{number}>"


def told(box: Box, name: str) -> set[str]:
    """Return the names of the stored properties of something."""
    (row,) = box.lane.rows(box.at(name), "0")
    return {key for key in row.properties if key.startswith("{urn:x}")}


def test_what_was_stored_during_an_upload_outlives_it(box: Box) -> None:
    box.write("file")
    patch(box, "file", put(COLOR), put(numbered(0)))
    with uploading(box.lane, box.at("file"), 4) as upload:
        upload.send(b"ne")
        answer = patch(box, "file", put(numbered(1)), drop(numbered(0)))
        assert set(statuses(answer).values()) == {"200"}
        upload.send(b"w!")
        assert upload.finish().status == 204
    assert (box.disk / "file").read_bytes() == b"new!"
    assert told(box, "file") == {"{urn:x}color", "{urn:x}p1"}


def store(box: Box, numbers: range) -> list[str]:
    """Store properties one by one; return the names of those that were."""
    return [
        tag
        for number in numbers
        for tag, code in statuses(patch(box, "file", put(numbered(number)))).items()
        if code == "200"
    ]


def test_what_is_stored_at_the_end_of_an_upload_outlives_it(box: Box) -> None:
    """A large file is brought to the disk after all of it has come."""
    box.write("file")
    stored: set[str] = set()
    for number in range(0, 6 * AT_ONCE, AT_ONCE):
        numbers = range(number, number + AT_ONCE)
        with uploading(box.lane, box.at("file"), LARGE + 1) as upload:
            upload.send(bytes(LARGE))
            status, tags = together(
                partial(end, upload, b"!"), partial(store, box, numbers)
            )
        assert status == 204
        stored.update(tags)
        assert told(box, "file") >= stored
    assert stored


def test_uploads_never_undo_what_is_stored(box: Box) -> None:
    """They meet where the file is replaced; what was answered 200 is told."""
    box.write("file")
    with again_and_again(partial(box.lane.put, box.at("file"), b"new")):
        for number in range(200):
            colored = COLOR.replace("blue", str(number))
            assert statuses(patch(box, "file", put(colored))) == {"{urn:x}color": "200"}
            assert color(box, "file") == str(number)


def test_a_copy_onto_a_file_meets_its_properties_whole(box: Box) -> None:
    """They are those of one of the two files, and never a mixture."""
    box.write("a")
    box.write("b")
    patch(box, "a", put(numbered(1)))
    patch(box, "b", put(numbered(2)))
    for _ in range(10):
        together(
            partial(box.lane.copy, box.at("a"), box.at("b")),
            partial(box.lane.put, box.at("b"), b"new"),
        )
        assert len(told(box, "b")) == 1


def test_properties_of_the_root_are_no_file_in_it(box: Box) -> None:
    before = sorted(path.name for path in Path(box.lane.folder).iterdir())
    with patched_root(box):
        assert sorted(path.name for path in box.lane.folder.iterdir()) == before
