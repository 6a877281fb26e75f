"""Stored properties: they come back as they were, and go where their file goes."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

from tests.support.lane_faults import IS_LINUX, IS_ROOT, Box, tiny_disk
from tests.support.raw_http import RawResponse

if not IS_LINUX:
    pytest.skip("extended attributes are Linux only", allow_module_level=True)

XML = "http://www.w3.org/XML/1998/namespace"
COLOR = "<x:color xmlns:x='urn:x'>blue</x:color>"


def patch(box: Box, name: str, *actions: str, attributes: str = "") -> RawResponse:
    """Send a PROPPATCH of some actions."""
    body = (
        f"<D:propertyupdate xmlns:D='DAV:' {attributes}>{''.join(actions)}"
        "</D:propertyupdate>"
    )
    return box.lane.send("PROPPATCH", quote(box.at(name)), body.encode())


def put(element: str, attributes: str = "") -> str:
    """Return the action that stores a property."""
    return f"<D:set {attributes}><D:prop>{element}</D:prop></D:set>"


def drop(element: str) -> str:
    """Return the action that removes a property."""
    return f"<D:remove><D:prop>{element}</D:prop></D:remove>"


def statuses(answer: RawResponse) -> dict[str, str]:
    """Return the status of every property in a multistatus."""
    assert answer.status == 207, (answer.status, answer.body)
    root = ElementTree.fromstring(answer.body)  # noqa: S314 - our own answer
    return {
        item.tag: (stat.findtext("{DAV:}status") or "").split()[1]
        for stat in root.iterfind("{DAV:}response/{DAV:}propstat")
        for item in stat.iterfind("{DAV:}prop/*")
    }


def stored(box: Box, name: str, tag: str) -> ElementTree.Element | None:
    """Return a property as a PROPFIND gives it."""
    space, _, local = tag[1:].partition("}")
    body = f"<D:propfind xmlns:D='DAV:'><D:prop><p:{local} xmlns:p='{space}'/></D:prop>"
    answer = box.lane.propfind(box.at(name), "0", f"{body}</D:propfind>".encode())
    root = ElementTree.fromstring(answer.body)  # noqa: S314 - our own answer
    for stat in root.iterfind("{DAV:}response/{DAV:}propstat"):
        if " 200 " in (stat.findtext("{DAV:}status") or ""):
            return stat.find(f"{{DAV:}}prop/{tag}")
    return None


def color(box: Box, name: str) -> str | None:
    """Return the colour that something has."""
    found = stored(box, name, "{urn:x}color")
    return None if found is None else found.text


def test_what_is_stored_comes_back_as_it_was(box: Box) -> None:
    box.write("file")
    element = (
        "<x:note xmlns:x='urn:x' kind='a&amp;b'>mixed <y:b xmlns:y='urn:y?a&amp;b'>"
        "&lt;bold&gt;</y:b> and &#13; &#128075; %s %% text</x:note>"
    )
    assert statuses(patch(box, "file", put(element))) == {"{urn:x}note": "200"}
    found = stored(box, "file", "{urn:x}note")
    assert found is not None
    assert found.attrib == {"kind": "a&b"}
    assert found.text == "mixed "
    assert found[0].tag == "{urn:y?a&b}b"
    assert found[0].text == "<bold>"
    assert found[0].tail == " and \r 👋 %s %% text"


def test_the_language_in_scope_is_kept(box: Box) -> None:
    box.write("file")
    own = "<x:b xmlns:x='urn:x' xml:lang='fr'>bleu</x:b>"
    answer = patch(
        box, "file", put(COLOR), put(own, "xml:lang='it'"), attributes="xml:lang='en'"
    )
    assert set(statuses(answer).values()) == {"200"}
    for tag, language in (("{urn:x}color", "en"), ("{urn:x}b", "fr")):
        found = stored(box, "file", tag)
        assert found is not None
        assert found.get(f"{{{XML}}}lang") == language


def test_allprop_and_propname_tell_of_them(box: Box) -> None:
    box.write("file")
    patch(box, "file", put(COLOR))
    assert b"blue" in box.lane.propfind(box.path).body
    body = b"<D:propfind xmlns:D='DAV:'><D:propname/></D:propfind>"
    answer = box.lane.propfind(box.at("file"), "0", body)
    assert b"color" in answer.body
    assert b"blue" not in answer.body


def test_instructions_are_followed_in_order(box: Box) -> None:
    box.write("file")
    green = COLOR.replace("blue", "green")
    assert set(statuses(patch(box, "file", put(COLOR), put(green))).values()) == {"200"}
    assert color(box, "file") == "green"
    patch(box, "file", drop(COLOR.replace("blue", "")), put(COLOR))
    assert color(box, "file") == "blue"
    answer = patch(box, "file", drop("<x:color xmlns:x='urn:x'/>"))
    assert statuses(answer) == {"{urn:x}color": "200"}
    assert color(box, "file") is None


def test_removing_what_is_not_there_is_done(box: Box) -> None:
    box.write("file")
    answer = patch(box, "file", drop("<x:none xmlns:x='urn:x'/>"))
    assert statuses(answer) == {"{urn:x}none": "200"}


@pytest.mark.parametrize("name", ["getetag", "displayname", "lockdiscovery", "made-up"])
def test_all_or_nothing(box: Box, name: str) -> None:
    box.write("file")
    answer = patch(box, "file", put(COLOR), put(f"<D:{name}>x</D:{name}>"))
    assert statuses(answer) == {"{urn:x}color": "424", f"{{DAV:}}{name}": "403"}
    assert b"cannot-modify-protected-property" in answer.body
    assert color(box, "file") is None


def test_what_does_not_fit_is_507_and_the_old_ones_stay(box: Box) -> None:
    box.write("file")
    patch(box, "file", put(COLOR))
    large = f"<x:large xmlns:x='urn:x'>{'x' * 60_000}</x:large>"
    answer = patch(box, "file", put(COLOR.replace("blue", "green")), put(large))
    found = statuses(answer)
    if set(found.values()) == {"200"}:
        pytest.skip("this file system takes attributes of this size")
    assert set(found.values()) == {"507"}
    assert color(box, "file") == "blue"


def test_they_go_where_their_file_goes(box: Box) -> None:
    (box.disk / "folder/sub").mkdir(parents=True)
    box.write("folder/file")
    for name in ("folder", "folder/file", "folder/sub"):
        patch(box, name, put(COLOR))
    assert box.lane.copy(box.at("folder"), box.at("copy")).status == 201
    assert box.lane.move(box.at("folder"), box.at("moved")).status == 201
    for folder in ("copy", "moved"):
        for name in (folder, f"{folder}/file", f"{folder}/sub"):
            assert color(box, name) == "blue"
    assert box.lane.copy(box.at("copy/file"), box.at("single")).status == 201
    assert box.lane.put(box.at("single"), b"new").status == 204
    assert color(box, "single") == "blue"
    assert box.lane.delete(box.at("single")).status == 204
    assert box.lane.put(box.at("single"), b"new").status == 201
    assert color(box, "single") is None


@pytest.mark.req("F-METH-10")
def test_no_file_of_ours_holds_them(box: Box) -> None:
    box.write("file")
    before = sorted(os.listdir(box.lane.folder))  # noqa: PTH208
    patch(box, "file", put(COLOR))
    patch(box, "", put(COLOR))
    assert box.on_disk() == ["file"]
    assert sorted(os.listdir(box.lane.folder)) == before  # noqa: PTH208


@pytest.mark.req("F-ROOT-12")
def test_links_get_none(box: Box, tmp_path: Path) -> None:
    (tmp_path / "canary").write_bytes(b"x")
    (box.disk / "link").symlink_to(tmp_path / "canary")
    assert patch(box, "link", put(COLOR)).status == 404
    assert os.listxattr(tmp_path / "canary") == []


def test_a_body_that_is_none_is_400(box: Box) -> None:
    box.write("file")
    deep = "<a>" * 70 + "</a>" * 70
    many = put("<x:a xmlns:x='urn:x'/>" * 500)
    assert patch(box, "file").status == 400
    assert patch(box, "file", put(deep)).status == 400
    assert patch(box, "file", many).status == 400
    target = box.at("file")
    for body in (b"", b"<x", b"<D:propfind xmlns:D='DAV:'/>", b"\xff\xfe\x00"):
        assert box.lane.send("PROPPATCH", target, body).status == 400
    bomb = b"<!DOCTYPE x [<!ENTITY a 'b'>]><x>&a;</x>"
    assert box.lane.send("PROPPATCH", target, bomb).status == 400
    assert box.lane.send("PROPPATCH", target, bytes(70_000)).status == 413
    headers = [("Depth", "1")]
    assert box.lane.send("PROPPATCH", target, b"<x/>", headers=headers).status == 400
    assert patch(box, "nothing", put(COLOR)).status == 404


@pytest.mark.parametrize("name", ["file", "folder"])
def test_what_is_not_ours_to_change_is_403(plain_box: Box, name: str) -> None:
    box = plain_box
    box.write("file").chmod(0o444)
    (box.disk / "folder").mkdir(mode=0o555)
    answer = patch(box, name, put(COLOR))
    assert statuses(answer) == {"{urn:x}color": "403"}


@pytest.mark.root
@pytest.mark.skipif(not IS_ROOT, reason="mounts a disk")
def test_a_disk_without_attributes_is_403(box: Box) -> None:
    with tiny_disk(box.disk, "64k", 10):
        box.write("file")
        try:
            os.setxattr(box.disk / "file", "user.test", b"x")
        except OSError:
            answer = patch(box, "file", put(COLOR))
            assert statuses(answer) == {"{urn:x}color": "403"}
        else:
            pytest.skip("this kernel has attributes on memory disks")
