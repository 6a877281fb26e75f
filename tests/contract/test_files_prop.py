"""F-PROP: listings are true at the moment they are asked for."""

from __future__ import annotations

import email.utils
import os
import secrets
from collections.abc import Iterator

import pytest

from tests.support.lane import (
    Lane,
    new_conversation,
    new_outbound,
    rows_of,
    serving_files,
)
from tests.support.service import Service

req = pytest.mark.req

ALLPROP = (
    b'<?xml version="1.0" encoding="utf-8"?>'
    b'<D:propfind xmlns:D="DAV:"><D:allprop/></D:propfind>'
)
PROP = (
    b'<?xml version="1.0" encoding="utf-8"?><D:propfind xmlns:D="DAV:"><D:prop>'
    b"<D:getcontentlength/><D:resourcetype/><D:nothing/></D:prop></D:propfind>"
)
PROPNAME = b'<D:propfind xmlns:D="DAV:"><D:propname/></D:propfind>'


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("prop")
    with serving_files(root) as running_service:
        yield running_service


@pytest.fixture(scope="module")
def lane(service: Service) -> Lane:
    return Lane.of(service)


@pytest.fixture
def folder(lane: Lane) -> str:
    """A folder with two files and a folder that holds one more."""
    path = lane.own_folder()
    for name in ("b.txt", "a.txt"):
        (lane.at(path) / name).write_bytes(name.encode() * 3)
    (lane.at(path) / "below").mkdir()
    (lane.at(path) / "below" / "deep.txt").write_bytes(b"deep")
    return path


@req("F-PROP-01")
@pytest.mark.parametrize("body", [b"", ALLPROP, PROP])
def test_depth_0_is_about_the_collection_itself(
    lane: Lane, folder: str, body: bytes
) -> None:
    answer = lane.propfind(folder, "0", body)
    assert answer.status == 207
    (row,) = rows_of(answer.body)
    assert row.href == f"{folder}/"
    assert row.is_folder
    assert "getcontentlength" not in row.properties


@req("F-PROP-02", "F-PROP-04", "P-16")
@pytest.mark.parametrize("depth", ["0", "1"])
def test_a_collection_that_is_not_there_is_a_definite_miss(
    lane: Lane, folder: str, depth: str
) -> None:
    name = f"__conduck_absent_{secrets.token_hex(8)}"
    for path in (f"/{name}", f"/{name}/", f"{folder}/{name}", f"{folder}/{name}/"):
        for body in (b"", ALLPROP, PROP):
            answer = lane.propfind(path, depth, body)
            assert answer.status == 404, path  # F-PROP-02, F-PROP-04


@req("F-PROP-03")
def test_depth_1_lists_the_children(lane: Lane, folder: str) -> None:
    own, *children = lane.rows(folder)
    assert own.href == f"{folder}/"
    assert [(row.name, row.is_folder) for row in children] == [
        ("a.txt", False),
        ("b.txt", False),
        ("below", True),
    ]
    assert all(row.href.rstrip("/").rpartition("/")[0] == folder for row in children)


@req("F-PROP-05")
@pytest.mark.parametrize("depth", ["0", "1"])
def test_the_miss_is_definite_when_the_parent_is_missing_too(
    lane: Lane, folder: str, depth: str
) -> None:
    ways = ["/no-conv/no-out", "/no-conv/no-out/", new_outbound(), "/a/b/c/d/e/"]
    ways += [f"{folder}/a.txt/no-out", f"{folder}/a.txt/no/no"]
    for path in ways:
        assert lane.propfind(path, depth, ALLPROP).status == 404, path


@req("F-PROP-06")
def test_not_every_path_is_a_hit(lane: Lane, folder: str) -> None:
    conversation = f"/{new_conversation()}"
    lane.at(conversation).mkdir()
    for place in ("", folder, conversation):
        for _ in range(20):
            path = f"{place}/{secrets.token_urlsafe(12)}"
            assert lane.propfind(path, "0").status == 404


@req("F-PROP-07", "F-PROP-16")
def test_a_folder_two_steps_down_is_answered(lane: Lane) -> None:
    path = f"/{new_outbound()}"
    lane.at(path).mkdir(parents=True)
    (lane.at(path) / "a.txt").write_bytes(b"x")
    for depth, count in (("0", 1), ("1", 2)):
        for address in (path, f"{path}/"):
            answer = lane.propfind(address, depth)
            assert answer.status == 207  # F-PROP-07; no redirect: F-PROP-16
            rows = rows_of(answer.body)
            assert len(rows) == count  # F-PROP-07
            assert rows[0].href == f"{path}/"  # F-PROP-16


@req("F-PROP-08", "P-15")
def test_a_file_just_written_is_in_the_next_listing(lane: Lane, folder: str) -> None:
    before = lane.names(folder)
    for index in range(20):
        (lane.at(folder) / f"new-{index:02}").write_bytes(b"x")
        assert lane.names(folder)[-1 - index :] == sorted(
            f"new-{number:02}" for number in range(index + 1)
        )
    assert lane.names(folder)[:3] == before


@req("F-PROP-09")
def test_a_folder_made_after_a_miss_is_a_hit(lane: Lane) -> None:
    for _ in range(10):
        path = f"/{new_outbound()}"
        assert lane.propfind(path, "0").status == 404
        assert lane.propfind(path, "1").status == 404
        lane.at(path).mkdir(parents=True)
        assert lane.propfind(path, "1").status == 207
        lane.at(path).rmdir()
        assert lane.propfind(path, "0").status == 404


@req("F-PROP-10")
def test_a_file_that_was_removed_is_not_listed_any_more(
    lane: Lane, folder: str
) -> None:
    assert "a.txt" in lane.names(folder)
    (lane.at(folder) / "a.txt").unlink()
    assert lane.names(folder) == ["b.txt", "below"]
    assert lane.propfind(f"{folder}/a.txt", "0").status == 404


@req("F-PROP-11")
def test_a_file_that_grew_shows_its_new_size(lane: Lane, folder: str) -> None:
    def size() -> str:
        (row,) = (row for row in lane.rows(folder) if row.name == "a.txt")
        return row.properties["getcontentlength"]

    assert size() == "15"
    with (lane.at(folder) / "a.txt").open("ab") as file:
        file.write(b"more")
    assert size() == "19"
    os.truncate(lane.at(folder) / "a.txt", 1)
    assert size() == "1"


@req("F-PROP-12")
def test_what_is_listed_is_fetched_by_its_href(lane: Lane) -> None:
    folder = f"{lane.own_folder()}/größe & co"
    names = ["the blue whale.MD", "ñandú.txt", "日本.pdf", "50%.csv", "a#b?c;d=e.txt",
             "%41.txt", "'\"<>&.txt", "🐳.png", "semi;colon", "pipe|.txt"]  # fmt: skip
    lane.at(folder).mkdir()
    for name in names:
        (lane.at(folder) / name).write_bytes(name.encode())
    _, *rows = lane.rows(folder)
    assert {row.name for row in rows} == {*names}
    for row in rows:
        answer = lane.send("GET", row.href)
        assert (answer.status, answer.body) == (200, row.name.encode())
        assert lane.send("PROPFIND", row.href, headers=[("Depth", "0")]).status == 207


@req("F-PROP-13")
@pytest.mark.parametrize("body", [b"", ALLPROP])
def test_a_file_has_size_time_and_an_empty_type(
    lane: Lane, folder: str, body: bytes
) -> None:
    os.utime(lane.at(folder) / "a.txt", (1_700_000_000, 1_700_000_000))
    answer = lane.propfind(folder, "1", body)
    row = rows_of(answer.body)[1]
    assert row.properties["getcontentlength"] == "15"
    written = email.utils.parsedate_to_datetime(row.properties["getlastmodified"])
    assert written.timestamp() == 1_700_000_000
    assert row.properties["getlastmodified"].endswith(" GMT")
    assert row.properties["resourcetype"] == ""
    assert not row.is_folder
    assert row.properties["getetag"] == lane.get(f"{folder}/a.txt").values("ETag")[0]


@req("F-PROP-14")
def test_the_body_says_which_properties(lane: Lane, folder: str) -> None:
    path = f"{folder}/a.txt"
    assert lane.propfind(path, "0").body == lane.propfind(path, "0", ALLPROP).body
    answer = lane.propfind(path, "0", PROP)
    assert answer.status == 207
    (row,) = rows_of(answer.body)
    assert row.properties == {"getcontentlength": "15", "resourcetype": ""}
    assert answer.body.index(b" 200 ") < answer.body.index(b" 404 ")
    (names,) = rows_of(lane.propfind(path, "0", PROPNAME).body)
    assert {*names.properties} >= {"getcontentlength", "getetag", "resourcetype"}
    assert not any(names.properties.values())


@req("F-PROP-15")
@pytest.mark.parametrize("depth", [None, "infinity", "Infinity", "INFINITY"])
def test_the_tree_is_never_walked(lane: Lane, folder: str, depth: str | None) -> None:
    for path in (folder, "/", f"{folder}/a.txt"):
        answer = lane.propfind(path, depth)
        assert answer.status == 403
        assert b"propfind-finite-depth" in answer.body
        assert b"deep.txt" not in answer.body


@req("F-PROP-15")
@pytest.mark.parametrize("depth", ["2", "-1", "1,noroot", "", "one", "00"])
def test_any_other_depth_is_refused(lane: Lane, folder: str, depth: str) -> None:
    assert lane.propfind(folder, depth).status == 400


@req("F-PROP-17")
@pytest.mark.parametrize(
    "body",
    [
        b"<x",
        b"x",
        b"<x/>",
        b"\0",
        b'<D:propfind xmlns:D="DAV:"/>',
        b'<D:propfind xmlns:D="DAV:"><D:prop>',
        b'<D:propfind xmlns:D="DAV:"><D:allprop/><D:propname/></D:propfind>',
        b'<!DOCTYPE x [<!ENTITY a "b">]><D:propfind xmlns:D="DAV:"><D:allprop/>'
        b"</D:propfind>",
        b'<D:propfind xmlns:D="DAV:"><D:prop>' + b"<D:x/>" * 5000 + b"</D:prop>"
        b"</D:propfind>",
    ],
)
def test_a_malformed_body_is_refused(lane: Lane, folder: str, body: bytes) -> None:
    for depth in ("0", "1"):
        assert lane.propfind(folder, depth, body).status == 400


@req("F-PROP-17")
def test_a_body_that_is_too_long_is_refused(lane: Lane, folder: str) -> None:
    assert lane.propfind(folder, "0", b" " * 70_000).status == 413
