"""PROPFIND: what is there, as it is now, whatever is asked and whoever writes."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

from tests.support.lane import CONVERSATION, OUTBOUND, Lane, rows_of, serving_files
from tests.support.lane_faults import Box, again_and_again, aged, new_box
from tests.support.raw_http import chunked
from tests.support.service import Service

CHUNKED = ("Transfer-Encoding", "chunked")
D = "{DAV:}"
MEMORY = Path("/dev/shm")

ALLPROP = b'<?xml version="1.0"?><D:propfind xmlns:D="DAV:"><D:allprop/></D:propfind>'
FILE_KEYS = {
    "resourcetype", "getcontentlength", "getlastmodified", "getetag",
    "getcontenttype", "creationdate", "displayname",
}  # fmt: skip
FOLDER_KEYS = {"resourcetype", "getlastmodified", "creationdate", "displayname"}


def asking(*names: str, more: str = "") -> bytes:
    """Return a body that asks for DAV properties, and for more elements."""
    wanted = "".join(f"<D:{name}/>" for name in names) + more
    return f'<D:propfind xmlns:D="DAV:"><D:prop>{wanted}</D:prop></D:propfind>'.encode()


def propstats(body: bytes) -> list[list[tuple[str, list[str]]]]:
    """Return for each response the status and the properties of each propstat."""
    return [
        [
            (
                (part.findtext(f"{D}status") or "").split(" ")[1],
                [element.tag for element in part.iterfind(f"{D}prop/*")],
            )
            for part in response.iterfind(f"{D}propstat")
        ]
        for response in ElementTree.fromstring(body)  # noqa: S314 - our own answer
    ]


@pytest.fixture
def filled(box: Box) -> Box:
    """Two files and a folder with one of its own."""
    box.write("a b.txt", b"first")
    box.write("ü.pdf", b"second!")
    (box.disk / "sub").mkdir()
    (box.disk / "sub/deep.txt").touch()
    return box


@pytest.mark.parametrize("slash", ["", "/"])
@pytest.mark.req("F-PROP-01", "F-PROP-03", "F-PROP-07", "F-PROP-13", "F-PROP-16")
def test_a_folder_and_its_direct_children_are_told(filled: Box, slash: str) -> None:
    (own,) = filled.lane.rows(filled.path + slash, "0")
    assert (own.href, own.is_folder) == (filled.path + "/", True)
    first, *children = filled.lane.rows(filled.path + slash)
    assert first.href == own.href
    assert [(row.href, row.is_folder) for row in children] == [
        (filled.at("a%20b.txt"), False),
        (filled.at("sub/"), True),
        (filled.at("%C3%BC.pdf"), False),
    ]
    sizes = [row.properties.get("getcontentlength") for row in children]
    assert sizes == ["5", None, "7"]
    (deep,) = filled.lane.rows(f"{filled.at('sub')}{slash}")[1:]
    assert deep.href == filled.at("sub/deep.txt")


@pytest.mark.req("F-PROP-01", "F-PROP-13")
def test_a_single_file_is_told(filled: Box) -> None:
    for depth in ("0", "1"):
        (row,) = filled.lane.rows(filled.at("ü.pdf"), depth)
        assert (row.href, row.is_folder) == (filled.at("%C3%BC.pdf"), False)
        assert row.properties["getcontentlength"] == "7"
        assert row.properties["getcontenttype"] == "application/pdf"


@pytest.mark.req("F-PROP-01", "F-PROP-03")
def test_the_shared_folder_itself_is_told(filled: Box) -> None:
    for path in ("/", "/.", "/./", f"{filled.path}/.."):
        (own,) = filled.lane.rows(path, "0")
        assert (own.href, own.is_folder) == ("/", True)
    assert filled.path + "/" in [row.href for row in filled.lane.rows("/")]


@pytest.mark.req("F-PROP-02", "F-PROP-04", "F-PROP-05", "F-PROP-06")
def test_what_is_not_there_is_a_definite_miss(filled: Box) -> None:
    missing = [f"/none-{number}" for number in range(20)]
    missing += ["/none/no", "/none/no/nothing", filled.at("none"), filled.at("sub/no")]
    missing += [filled.at("a b.txt/below"), filled.at("a b.txt/"), f"/{OUTBOUND}"]
    for path in missing:
        for slash in ("", "/"):
            for depth in ("0", "1"):
                answer = filled.lane.propfind(path + slash, depth, ALLPROP)
                assert answer.status == 404, path
                assert len(answer.body) < 200


@pytest.mark.req("F-PROP-12")
def test_hrefs_are_paths_whatever_a_front_says(filled: Box) -> None:
    headers = [
        ("X-Forwarded-Host", "elsewhere.example"),
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Prefix", "/prefix"),
        ("Forwarded", "host=elsewhere.example;proto=https"),
    ]
    answer = filled.lane.propfind(filled.path, headers=headers)
    rows = rows_of(answer.body)
    assert len(rows) == 4
    assert all(row.href.startswith(filled.path + "/") for row in rows)
    assert b"elsewhere" not in answer.body


@pytest.mark.parametrize("depth", [None, "infinity", "Infinity", "INFINITY"])
@pytest.mark.req("F-PROP-15")
def test_no_tree_is_ever_walked(filled: Box, depth: str | None) -> None:
    for path in (filled.path, "/", filled.at("sub/deep.txt")):
        answer = filled.lane.propfind(path, depth)
        assert answer.status == 403
        assert b"propfind-finite-depth" in answer.body
        root = ElementTree.fromstring(answer.body)  # noqa: S314 - our own answer
        assert root.tag == f"{D}error"
        assert b"deep.txt" not in answer.body


@pytest.mark.parametrize(
    "depth", ["2", "1,noroot", "", "-1", "0,1", "one", "00", "1 1"]
)
def test_no_other_depth_is_known(filled: Box, depth: str) -> None:
    assert filled.lane.propfind(filled.path, depth).status == 400


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.req("F-PROP-14")
def test_an_empty_body_asks_for_all_as_allprop_does(filled: Box, encoding: str) -> None:
    text = ALLPROP.decode().replace("?>", f' encoding="{encoding[:6]}"?>', 1)
    empty = filled.lane.propfind(filled.path)
    named = filled.lane.propfind(filled.path, body=text.encode(encoding))
    assert (empty.status, named.status) == (207, 207)
    assert empty.body == named.body
    for row in rows_of(empty.body):
        assert set(row.properties) == (FOLDER_KEYS if row.is_folder else FILE_KEYS)
    assert [status for [(status, _)] in propstats(empty.body)] == ["200"] * 4


@pytest.mark.req("F-PROP-14")
def test_what_is_asked_for_is_told_and_what_is_there_comes_first(filled: Box) -> None:
    body = asking(
        "quota-used-bytes",
        "getcontentlength",
        "getetag",
        more='<x:color xmlns:x="http://example.org/x"/><bare xmlns=""/>',
    )
    folder, file, *_ = propstats(filled.lane.propfind(filled.path, body=body).body)
    missing = [f"{D}quota-used-bytes", "{http://example.org/x}color", "bare"]
    assert file == [
        ("200", [f"{D}getcontentlength", f"{D}getetag"]),
        ("404", missing),
    ]
    assert folder == [
        (
            "404",
            [missing[0], f"{D}getcontentlength", f"{D}getetag", *missing[1:]],
        ),
    ]


@pytest.mark.req("F-PROP-14")
def test_locks_are_told_only_when_they_are_asked_for(filled: Box) -> None:
    body = asking("supportedlock", "lockdiscovery")
    for response in propstats(filled.lane.propfind(filled.path, body=body).body):
        assert response == [("200", [f"{D}supportedlock", f"{D}lockdiscovery"])]
    assert b"lock" not in filled.lane.propfind(filled.path, body=ALLPROP).body


@pytest.mark.req("F-PROP-14")
def test_names_alone_are_told_without_values(filled: Box) -> None:
    body = b'<D:propfind xmlns:D="DAV:"><D:propname/></D:propfind>'
    answer = filled.lane.propfind(filled.path, body=body)
    for row in rows_of(answer.body):
        # Not even the type of a folder is told.
        keys = FOLDER_KEYS if row.href.endswith("/") else FILE_KEYS
        assert set(row.properties) >= keys
        assert set(row.properties.values()) == {""}


def test_the_entity_tag_is_the_one_of_the_header(filled: Box) -> None:
    (row,) = filled.lane.rows(filled.at("a b.txt"), "0")
    assert row.properties["getetag"] == filled.etag("a b.txt")
    assert re.fullmatch('"[^"]+"', row.properties["getetag"])


BOMB = (
    '<!DOCTYPE p [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1 or str()};" * 10}">' for n in range(1, 9))
    + ']><D:propfind xmlns:D="DAV:"><D:prop><D:x>&a8;</D:x></D:prop></D:propfind>'
)
BAD_BODIES = {
    "cut": b"<x",
    "no xml": b"hello",
    "blank": b"  ",
    "other root": b'<D:prop xmlns:D="DAV:"/>',
    "no namespace": b"<propfind><allprop/></propfind>",
    "asks for nothing": b'<D:propfind xmlns:D="DAV:"/>',
    "asks for two": ALLPROP.replace(b"</D:propfind>", b"<D:propname/></D:propfind>"),
    "unbound prefix": b"<D:propfind><D:allprop/></D:propfind>",
    "two roots": ALLPROP + b"<x/>",
    "no utf-8": ALLPROP.replace(b"<D:allprop/>", b"<D:allprop/>\xff"),
    "unknown encoding": b'<?xml version="1.0" encoding="x-none"?><a/>',
    "document type": b"<!DOCTYPE propfind>" + ALLPROP[21:],
    "entities": BOMB.encode(),
    "external entity": (
        b'<!DOCTYPE p [<!ENTITY f SYSTEM "file:///etc/passwd">]>'
        b'<D:propfind xmlns:D="DAV:"><D:prop><x>&f;</x></D:prop></D:propfind>'
    ),
    "external parameter": (
        b'<!DOCTYPE p [<!ENTITY % f SYSTEM "http://127.0.0.1:9/x"> %f;]>'
        b'<D:propfind xmlns:D="DAV:"><D:allprop/></D:propfind>'
    ),
    "too many": asking(*(f"p{number}" for number in range(1000))),
    "nothing but elements": asking(more="<a/>" * 15_000),
    "nested": asking(more="<a>" * 100 + "</a>" * 100),
    "nested without end": asking(more="<a>" * 5000 + "</a>" * 5000),
}


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES)
@pytest.mark.req("F-PROP-17")
def test_a_body_that_cannot_be_meant_is_400(filled: Box, body: bytes) -> None:
    answer = filled.lane.propfind(filled.path, body=body)
    assert answer.status == 400
    assert len(answer.body) < 300
    assert b"root:" not in answer.body


def test_many_properties_are_too_many_only_beyond_hundreds(filled: Box) -> None:
    body = asking(*(f"p{number}" for number in range(300)))
    assert filled.lane.propfind(filled.path, body=body).status == 207


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_long_body_is_413(filled: Box, is_chunked: bool) -> None:
    fitting = ALLPROP + b" " * (65_536 - len(ALLPROP))
    for body, status in ((fitting, 207), (fitting + b" ", 413)):
        headers = [CHUNKED] if is_chunked else []
        sent = chunked(body[:50_000], body[50_000:]) if is_chunked else body
        answer = filled.lane.propfind(filled.path, "0", sent, headers=headers)
        assert answer.status == status


def test_a_long_body_is_refused_by_its_length_alone(filled: Box) -> None:
    headers = [("Content-Length", "9000000000")]
    assert filled.lane.propfind(filled.path, "0", headers=headers).status == 413


@pytest.mark.req("F-PROP-08", "F-PROP-09", "F-PROP-10", "F-PROP-11")
def test_a_listing_shows_the_disk_as_it_is(box: Box) -> None:
    assert box.lane.names(box.path) == []
    for _ in range(5):
        (box.disk / "a.txt").write_bytes(b"one")
        assert box.lane.names(box.path) == ["a.txt"]
        assert box.size_listed("a.txt") == 3
        with (box.disk / "a.txt").open("ab") as file:
            file.write(b"more")
        assert box.size_listed("a.txt") == 7
        (box.disk / "a.txt").unlink()
        assert box.lane.names(box.path) == []
        assert box.lane.propfind(box.at("out"), "0").status == 404
        (box.disk / "out").mkdir()
        assert box.lane.propfind(box.at("out"), "0").status == 207
        (box.disk / "out").rmdir()
        assert box.lane.propfind(box.at("out"), "0").status == 404


def test_what_vanishes_meanwhile_is_left_out(box: Box) -> None:
    for number in range(100):
        box.write(f"stays-{number}")
        box.write(f"moves-{number}")
    turns = iter(range(1_000_000))

    def churn() -> None:
        number = next(turns) % 100
        (box.disk / f"moves-{number}").rename(box.disk / f"new-{number}")
        (box.disk / f"new-{number}").unlink()
        (box.disk / f"moves-{number}").touch()

    with again_and_again(churn):
        for _ in range(60):
            names = box.lane.names(box.path)
            assert sum(name.startswith("stays-") for name in names) == 100


@pytest.fixture(scope="module")
def abroad(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A daemon far from Greenwich."""
    where = {"TZ": "Asia/Tokyo", "LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}
    root = tmp_path_factory.mktemp("abroad")
    with serving_files(root, environment=where) as running:
        yield running


@pytest.mark.req("F-PROP-13")
def test_dates_are_in_english_and_greenwich_time(abroad: Service) -> None:
    box = new_box(abroad)
    aged(box.write("a.txt"), 1_709_211_845)
    (row,) = box.lane.rows(box.at("a.txt"), "0")
    assert row.properties["getlastmodified"] == "Thu, 29 Feb 2024 13:04:05 GMT"
    answer = box.lane.get(box.at("a.txt"))
    assert answer.values("Last-Modified") == ["Thu, 29 Feb 2024 13:04:05 GMT"]
    created = row.properties["creationdate"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", created)


@pytest.fixture(scope="module")
def in_memory() -> Iterator[Service]:
    """A daemon on a disk that holds any time."""
    if not MEMORY.is_dir():
        pytest.skip(f"there is no {MEMORY}")
    with (
        tempfile.TemporaryDirectory(dir=MEMORY) as root,
        serving_files(Path(root)) as running,
    ):
        yield running


@pytest.mark.parametrize("seconds", [-1, -315_619_200, -(2**37), 2**33, 2**38, 2**55])
@pytest.mark.req("F-PROP-13")
def test_no_time_is_too_odd_to_be_told(in_memory: Service, seconds: int) -> None:
    box = new_box(in_memory)
    os.utime(box.write("a.txt"), (seconds, seconds))
    (row,) = box.lane.rows(box.path)[1:]
    pattern = r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"
    assert re.fullmatch(pattern, row.properties["getlastmodified"])
    assert box.lane.get(box.at("a.txt")).body == b"old"
    for header in ("If-Modified-Since", "If-Unmodified-Since"):
        headers = [(header, row.properties["getlastmodified"])]
        assert box.lane.get(box.at("a.txt"), headers=headers).status in (200, 304, 412)


@pytest.mark.req("F-PROP-02")
def test_a_conversation_without_files_is_no_error(box: Box) -> None:
    (box.lane.folder / CONVERSATION).mkdir()
    assert box.lane.propfind(f"/{OUTBOUND}").status == 404
    (box.lane.folder / OUTBOUND).mkdir()
    assert box.lane.seen_by_app(f"/{OUTBOUND}") == []
    control = f"/{CONVERSATION}/__conduck_absent_0011223344556677"
    assert box.lane.propfind(control).status == 404


def test_a_listing_may_be_conditional(filled: Box) -> None:
    etag = filled.etag("a b.txt")
    path = quote(filled.at("a b.txt"))
    for value, status in ((etag, 207), ('"other"', 412)):
        headers = [("Depth", "0"), ("If-Match", value)]
        assert filled.lane.send("PROPFIND", path, headers=headers).status == status


def test_without_its_shared_folder_the_lane_does_not_say_that_all_is_free(
    tmp_path: Path,
) -> None:
    with serving_files(tmp_path) as service:
        lane = Lane.of(service)
        service.folder.rename(tmp_path / "away")
        for path in ("/", f"/{OUTBOUND}"):
            assert lane.propfind(path, "0").status == 503
        (tmp_path / "away").rename(service.folder)
        assert lane.propfind(f"/{OUTBOUND}", "0").status == 404
