"""Ranged GET: the part that was asked for, or the whole, never anything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.lane import Lane
from tests.support.lane_faults import Box
from tests.support.raw_http import RawResponse

BODY = bytes(range(256)) * 4
SIZE = len(BODY)


@pytest.fixture
def filled(box: Box) -> Box:
    box.write("a.bin", BODY)
    return box


def ask(box: Box, value: str, *more: tuple[str, str]) -> RawResponse:
    return box.lane.get(box.at("a.bin"), headers=[("Range", value), *more])


@pytest.mark.parametrize(
    ("value", "first", "last"),
    [
        ("bytes=0-9", 0, 9),
        ("bytes=0-0", 0, 0),
        ("bytes=1000-", 1000, SIZE - 1),
        ("bytes=0-", 0, SIZE - 1),
        ("bytes=-5", SIZE - 5, SIZE - 1),
        ("bytes=-1024", 0, SIZE - 1),
        ("bytes=-99999", 0, SIZE - 1),
        ("bytes=1020-99999", 1020, SIZE - 1),
        ("bytes=1023-1023", 1023, 1023),
        ("bytes=5-" + "9" * 30, 5, SIZE - 1),
        ("bytes=-" + "9" * 30, 0, SIZE - 1),
        ("BYTES=3-4", 3, 4),
    ],
)
@pytest.mark.req("F-OUT-08")
def test_a_part_is_sent(filled: Box, value: str, first: int, last: int) -> None:
    answer = ask(filled, value)
    assert answer.status == 206
    assert answer.body == BODY[first : last + 1]
    assert answer.values("Content-Range") == [f"bytes {first}-{last}/{SIZE}"]
    assert answer.values("Content-Length") == [str(last - first + 1)]
    assert answer.values("ETag") == [filled.etag("a.bin")]


@pytest.mark.parametrize(
    "value", ["bytes=1024-", "bytes=999999-", "bytes=1024-2000", "bytes=-0"]
)
@pytest.mark.req("F-METH-07")
def test_a_range_behind_the_end_is_416(filled: Box, value: str) -> None:
    answer = ask(filled, value)
    assert answer.status == 416
    assert answer.values("Content-Range") == [f"bytes */{SIZE}"]
    assert BODY not in answer.body


@pytest.mark.parametrize(
    "value",
    [
        "bytes=5-2", "bytes=-", "bytes=", "bytes", "abc", "", "items=0-1",
        "bytes 0-1", "bytes=a-b", "bytes=0-1x", "bytes=+1-2", "bytes=1_0-20",
        "bytes=0x1-2", "bytes=--5", "bytes=0--1", "bytes=1-2-3", "bytes=0-9, ",
    ],
)  # fmt: skip
@pytest.mark.req("F-METH-07")
def test_what_is_no_range_is_ignored(filled: Box, value: str) -> None:
    answer = ask(filled, value)
    assert (answer.status, answer.body) == (200, BODY)
    assert not answer.values("Content-Range")


@pytest.mark.parametrize(
    "value",
    [
        "bytes=0-1,4-5",
        "bytes=0-1,9999-",
        "bytes=9999-,0-1",
        "bytes=-1,0-0,2-",
        "bytes=0-1,0-1",
    ],
)
@pytest.mark.req("F-METH-07")
def test_several_ranges_get_the_whole(filled: Box, value: str) -> None:
    answer = ask(filled, value)
    assert (answer.status, answer.body) == (200, BODY)


@pytest.mark.req("F-METH-07")
def test_two_range_headers_get_the_whole(filled: Box) -> None:
    answer = ask(filled, "bytes=0-1", ("Range", "bytes=4-5"))
    assert (answer.status, answer.body) == (200, BODY)


@pytest.mark.parametrize("value", ["bytes=0-0", "bytes=0-", "bytes=-1", "bytes=5-9"])
def test_an_empty_file_is_sent_whole_or_not_at_all(box: Box, value: str) -> None:
    box.write("a.bin", b"")
    answer = ask(box, value)
    assert answer.status in (200, 416)
    if answer.status == 200:
        assert answer.body == b""
    else:
        assert answer.values("Content-Range") == ["bytes */0"]


@pytest.mark.req("F-METH-06")
def test_head_knows_no_ranges(filled: Box) -> None:
    for value in ("bytes=0-1", "bytes=99999-"):
        headers = [("Range", value)]
        answer = filled.lane.send("HEAD", filled.at("a.bin"), headers=headers)
        assert answer.status == 200
        assert answer.values("Content-Length") == [str(SIZE)]


@pytest.mark.req("F-OUT-08")
def test_if_range_takes_the_same_strong_tag_or_date_only(filled: Box) -> None:
    answer = filled.lane.get(filled.at("a.bin"))
    (etag,), (date,) = answer.values("ETag"), answer.values("Last-Modified")
    for value, status in (
        (etag, 206),
        (date, 206),
        ("W/" + etag, 200),
        ('"other"', 200),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 200),
        ("Thu, 01 Jan 2099 00:00:00 GMT", 200),
        ("nonsense", 200),
    ):
        found = ask(filled, "bytes=0-1", ("If-Range", value))
        assert (found.status, value) == (status, value)
        assert found.body == (BODY[:2] if status == 206 else BODY)


@pytest.mark.req("F-OUT-08")
def test_a_large_file_is_put_together_from_its_parts(lane: Lane, box: Box) -> None:
    size = 3_000_001
    pieces = bytes(number % 251 for number in range(size))
    Path(box.disk / "large.bin").write_bytes(pieces)
    step = 700_000
    found = b""
    for start in range(0, size, step):
        headers = [("Range", f"bytes={start}-{start + step - 1}")]
        answer = lane.get(box.at("large.bin"), headers=headers)
        assert answer.status == 206
        found += answer.body
    assert found == pieces
