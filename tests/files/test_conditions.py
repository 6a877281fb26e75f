"""Requests that depend on what is there."""

from __future__ import annotations

import re

import pytest

from tests.support.lane_faults import Box, aged, uploading
from tests.support.service import wait_until

PAST = "Sun, 01 Jan 2023 00:00:00 GMT"
FUTURE = "Fri, 01 Jan 2100 00:00:00 GMT"
MODIFIED = "Tue, 14 Nov 2023 22:13:20 GMT"
STRONG = re.compile(r'"[^"]+"')
WEAK = re.compile(r'W/"[^"]+"')


@pytest.fixture
def filled(box: Box) -> Box:
    box.write("a.txt")
    return box


def get(box: Box, *headers: tuple[str, str]) -> int:
    return box.lane.get(box.at("a.txt"), headers=headers).status


def put(box: Box, *headers: tuple[str, str], name: str = "a.txt") -> int:
    return box.lane.put(box.at(name), b"new", headers=headers).status


def test_a_rewrite_of_the_same_size_within_a_second_has_another_tag(box: Box) -> None:
    path = box.write("a.txt")
    tags = set()
    for tenths in range(10):
        aged(path, 1_700_000_000 + tenths / 10)
        tags.add(box.etag("a.txt"))
    assert len(tags) == 10
    assert all(STRONG.fullmatch(tag) for tag in tags)


def test_the_tag_of_what_may_still_change_unseen_is_weak(box: Box) -> None:
    def is_weak_after_writing() -> bool:
        (box.disk / "a.txt").write_bytes(b"new")
        return WEAK.fullmatch(box.etag("a.txt")) is not None

    # How long a request takes is not ours to say.
    wait_until(is_weak_after_writing)
    wait_until(lambda: STRONG.fullmatch(box.etag("a.txt")))


def test_an_upload_tells_the_tag_of_what_it_stored(box: Box) -> None:
    answer = box.lane.put(box.at("a.txt"), b"x")
    (told,) = answer.values("ETag")
    wait_until(lambda: STRONG.fullmatch(box.etag("a.txt")))
    assert box.etag("a.txt") == told.removeprefix("W/")


def test_if_none_match_with_a_star_makes_only_new_files(filled: Box) -> None:
    star = ("If-None-Match", "*")
    assert put(filled, star) == 412
    assert (filled.disk / "a.txt").read_bytes() == b"old"
    assert put(filled, star, name="b.txt") == 201
    assert put(filled, star, name="b.txt") == 412


def test_of_two_that_want_to_be_first_one_is(box: Box) -> None:
    star = [("If-None-Match", "*")]
    name = box.at("a.txt")
    with (
        uploading(box.lane, name, 4, headers=star) as one,
        uploading(box.lane, name, 4, headers=star) as other,
    ):
        one.send(b"one!")
        assert one.finish().status == 201
        other.send(b"two!")
        assert other.finish().status == 412
    assert (box.disk / "a.txt").read_bytes() == b"one!"
    assert box.on_disk() == ["a.txt"]


def test_what_an_upload_depends_on_is_looked_at_again_at_its_end(filled: Box) -> None:
    headers = [("If-Match", filled.etag("a.txt"))]
    with uploading(filled.lane, filled.at("a.txt"), 4, headers=headers) as upload:
        assert put(filled) == 204
        upload.send(b"late")
        assert upload.finish().status == 412
    assert (filled.disk / "a.txt").read_bytes() == b"new"
    assert filled.on_disk() == ["a.txt"]


def test_an_upload_under_way_sees_what_became_of_its_name(box: Box) -> None:
    with uploading(box.lane, box.at("a.txt"), 4) as upload:
        (box.disk / "a.txt").mkdir()
        upload.send(b"late")
        assert upload.finish().status == 405
    with uploading(box.lane, box.at("b.txt"), 4) as upload:
        (box.disk / "b.txt").symlink_to("c.txt")
        upload.send(b"late")
        # A link may be replaced, but not followed.
        assert upload.finish().status in (201, 403)
    assert box.on_disk() == ["a.txt", "b.txt"]


@pytest.mark.parametrize("value", ["*", '"x"', '"x", "y"'])
def test_if_match_fails_where_nothing_is(box: Box, value: str) -> None:
    assert put(box, ("If-Match", value)) == 412
    assert box.on_disk() == []


def test_if_match_compares_strongly(filled: Box) -> None:
    etag = filled.etag("a.txt")
    right = (etag, f'"x", {etag}', f'{etag},"x"', "*")
    wrong = ("W/" + etag, '"x"', etag.strip('"'), "")
    for value in (*right, *wrong):
        expected = 200 if value in right else 412
        assert get(filled, ("If-Match", value)) == expected, value
    for value in (*wrong, *right):
        filled.write("a.txt")
        headers = [("If-Match", value.replace(etag, filled.etag("a.txt")))]
        answer = filled.lane.delete(filled.at("a.txt"), headers=headers)
        assert answer.status == (204 if value in right else 412), value


def test_if_none_match_compares_weakly(filled: Box) -> None:
    etag = filled.etag("a.txt")
    for value, status in (
        (etag, 304),
        ("W/" + etag, 304),
        (f'"x", W/"y", {etag}', 304),
        ("*", 304),
        ('"x"', 200),
        ('"x", "y"', 200),
    ):
        assert get(filled, ("If-None-Match", value)) == status, value
        if status == 304:
            assert put(filled, ("If-None-Match", value)) == 412


def test_not_modified_has_no_body_and_the_tag(filled: Box) -> None:
    headers = [("If-None-Match", "*")]
    for method in ("GET", "HEAD"):
        answer = filled.lane.send(method, filled.at("a.txt"), headers=headers)
        assert (answer.status, answer.body, answer.rest) == (304, b"", b"")
        assert answer.values("ETag") == [filled.etag("a.txt")]


@pytest.mark.parametrize(
    ("value", "status"),
    [
        (MODIFIED, 304),
        ("Tue, 14 Nov 2023 22:13:21 GMT", 304),
        ("Tue, 14 Nov 2023 22:13:19 GMT", 200),
        (PAST, 200),
        (FUTURE, 200),
        ("nonsense", 200),
        ("", 200),
        ("Tuesday, 14-Nov-23 22:13:20 GMT", 304),
        ("Tue, 99 Nov 2023 22:13:20 GMT", 200),
    ],
)
def test_if_modified_since(filled: Box, value: str, status: int) -> None:
    assert get(filled, ("If-Modified-Since", value)) == status
    # It is for reading alone, and gives way to a tag.
    assert get(filled, ("If-Modified-Since", value), ("If-None-Match", '"x"')) == 200
    assert put(filled, ("If-Modified-Since", value)) == 204


@pytest.mark.parametrize(
    ("value", "status"),
    [(MODIFIED, 200), (FUTURE, 200), (PAST, 412), ("nonsense", 200)],
)
def test_if_unmodified_since(filled: Box, value: str, status: int) -> None:
    header = ("If-Unmodified-Since", value)
    assert get(filled, header) == status
    assert get(filled, header, ("If-Match", "*")) == 200
    assert put(filled, header) == (204 if status == 200 else 412)


def test_a_condition_that_fails_leaves_all_as_it_was(filled: Box) -> None:
    headers = [("If-Match", '"x"'), ("Expect", "100-continue"), ("Content-Length", "3")]
    answer = filled.lane.send("PUT", filled.at("a.txt"), headers=headers)
    assert (answer.status, answer.interim) == (412, ())
    assert filled.lane.delete(filled.at("a.txt"), headers=headers[:1]).status == 412
    assert (filled.disk / "a.txt").read_bytes() == b"old"
