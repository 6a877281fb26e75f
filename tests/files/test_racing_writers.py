"""Writers that meet: of each pair one wins, and nobody loses what was answered."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.files.test_copy_move import put, tree
from tests.support.lane_faults import Box, Upload, exchange, uploading
from tests.support.lane_races import reserved_in, strong_etag, together

KEEP = ("Overwrite", "F")
ROUNDS = 12
MANY_ROUNDS = 100
REMOVERS = 5
LONG_AGO = 1_500_000_000


def linger(times: int, folder: Path) -> None:
    """Do a little that changes nothing, so that rounds meet at other moments."""
    for _ in range(times):
        folder.stat()


def put_if_match(box: Box, body: bytes, tag: str) -> int:
    """Put the file ``a`` in one piece if it still has the tag."""
    answer = box.lane.put(box.at("a"), body, headers=[("If-Match", tag)])
    return answer.status


def end(upload: Upload, rest: bytes) -> int:
    """Send the rest of an upload and return what is answered."""
    upload.send(rest)
    return upload.finish().status


def race(box: Box, one: Callable[[], int], other: Callable[[], int]) -> None:
    """Let two replace the file ``a``; just the one that is told so may have."""
    answers = together(one, other)
    assert sorted(answers) == [204, 412]
    winner = b"one!" if answers[0] == 204 else b"two!"
    assert (box.disk / "a").read_bytes() == winner


def test_of_two_short_uploads_with_one_tag_one_is_stored(box: Box) -> None:
    box.write("a")
    for _ in range(ROUNDS):
        tag = strong_etag(box, "a")
        race(
            box,
            partial(put_if_match, box, b"one!", tag),
            partial(put_if_match, box, b"two!", tag),
        )
    assert box.on_disk() == ["a"]


def test_of_two_long_uploads_with_one_tag_one_is_stored(box: Box) -> None:
    """Both were begun while the tag held; the first to end changes it."""
    box.write("a")
    for _ in range(ROUNDS):
        headers = [("If-Match", strong_etag(box, "a"))]
        with (
            uploading(box.lane, box.at("a"), 4, headers=headers) as one,
            uploading(box.lane, box.at("a"), 4, headers=headers) as other,
        ):
            one.send(b"on")
            other.send(b"tw")
            race(box, partial(end, one, b"e!"), partial(end, other, b"o!"))
    assert box.on_disk() == ["a"]


def test_of_several_that_want_to_be_first_one_is(box: Box) -> None:
    star = [("If-None-Match", "*")]
    for number in range(ROUNDS):
        name = f"new-{number}"

        first = partial(box.lane.put, box.at(name), headers=star)
        answers = [
            answer.status
            for answer in together(*(partial(first, b"%d" % one) for one in range(3)))
        ]
        assert sorted(answers) == [201, 412, 412]
        assert (box.disk / name).read_bytes() == b"%d" % answers.index(201)


def remove(box: Box, tag: str, wait: int) -> int:
    """Remove the file ``a`` a little later, if it still has the tag."""
    linger(wait, box.disk)
    return box.lane.delete(box.at("a"), headers=[("If-Match", tag)]).status


def store(box: Box) -> int:
    """Put the file ``a`` in one piece, whatever is there."""
    return box.lane.put(box.at("a"), b"new!").status


def check_removed(box: Box, stored: int, removed: list[int]) -> None:
    """Look whether an upload is there that met removals of what was before."""
    assert (box.disk / "a").read_bytes() == b"new!"
    assert stored in (201, 204)
    assert set(removed) <= {204, 404, 412}
    assert removed.count(204) <= 1
    assert stored == 204 or 204 in removed


def test_a_removal_with_a_tag_removes_nothing_newer(box: Box) -> None:
    """Whichever comes first, what an upload was answered for is there."""
    for number in range(5 * ROUNDS):
        box.write("a")
        tag = strong_etag(box, "a")
        waits = [one * 500 + number * 10 for one in range(REMOVERS)]
        removals = [partial(remove, box, tag, wait) for wait in waits]
        stored, *removed = together(partial(store, box), *removals)
        check_removed(box, stored, removed)


def test_a_removal_with_a_tag_meets_the_end_of_an_upload(box: Box) -> None:
    for number in range(5 * ROUNDS):
        box.write("a")
        tag = strong_etag(box, "a")
        waits = [one * 500 + number * 10 for one in range(REMOVERS)]
        removals = [partial(remove, box, tag, wait) for wait in waits]
        with uploading(box.lane, box.at("a"), 4) as upload:
            upload.send(b"ne")
            stored, *removed = together(partial(end, upload, b"w!"), *removals)
        check_removed(box, stored, removed)


def test_uploads_of_one_size_and_time_have_tags_of_their_own(box: Box) -> None:
    headers = [("X-OC-Mtime", str(LONG_AGO))]
    bodies = {}
    for number in range(10, 20):
        body = b"%d" % number
        answer = box.lane.put(box.at("a"), body, headers=headers)
        assert answer.values("X-OC-Mtime") == ["accepted"]
        bodies[strong_etag(box, "a")] = body
    assert list(bodies.values()) == [b"%d" % number for number in range(10, 20)]
    old, *_ = bodies
    for condition in (("If-None-Match", old), ("If-Range", old)):
        ranged = [condition, ("Range", "bytes=1-")]
        answer = box.lane.get(box.at("a"), headers=ranged)
        assert (answer.status, answer.body) in ((200, b"19"), (206, b"9"))
        assert (answer.status == 206) is (condition[0] == "If-None-Match")
    assert put_if_match(box, b"xx", old) == 412


def rewrite(path: Path, body: bytes) -> None:
    """Write in a file, and give it the time back that it had."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write(body)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_rewrite_that_hides_has_a_tag_of_its_own(box: Box) -> None:
    path = box.write("a", b"0000")
    tags = [strong_etag(box, "a")]
    for number in range(1, 6):
        rewrite(path, b"%04d" % number)
        answer = box.lane.get(box.at("a"), headers=[("If-None-Match", tags[-1])])
        assert (answer.status, answer.body) == (200, b"%04d" % number)
        assert (
            box.lane.put(box.at("a"), b"", headers=[("If-Match", tags[-1])]).status
            == 412
        )
        tags.append(strong_etag(box, "a"))
    assert len(set(tags)) == 6


def test_another_file_with_the_same_numbers_has_a_tag_of_its_own(box: Box) -> None:
    """Such as one that a tool put back from a copy, with its time."""
    one, other = box.write("a", b"one!"), box.write("b", b"two!")
    tag = strong_etag(box, "a")
    exchange(one, other)
    assert strong_etag(box, "a") != tag


def create(path: Path, kind: str, number: int) -> bool:
    """Make something new as an engine does, and say whether the name was free."""
    linger(number % 40 * 10, path.parent)
    with contextlib.suppress(FileExistsError):
        if kind == "folder":
            path.mkdir()
        else:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        return True
    return False


def replace(path: Path, number: int, new: Path) -> None:
    """Put a file in place of another as an engine does."""
    linger(number % 40 * 10, path.parent)
    new.rename(path)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_overwrite_f_never_replaces_what_came_into_being(box: Box, kind: str) -> None:
    """Each round one of two has the name; the other is told, and loses nothing."""
    for number in range(MANY_ROUNDS):
        source, to = box.disk / f"a-{number}", box.disk / f"to-{number}"
        if kind == "folder":
            source.mkdir()
            (source / "inside").write_bytes(b"mine")
        else:
            source.write_bytes(b"mine")

        move = partial(put, box, "MOVE", source.name, to.name, KEEP)
        answer, is_theirs = together(move, partial(create, to, kind, number))
        moved = answer.status
        assert (moved, is_theirs) in ((201, False), (412, True))
        mine = source if is_theirs else to
        assert source.exists() is is_theirs
        assert (mine / "inside" if kind == "folder" else mine).read_bytes() == b"mine"
        if is_theirs:
            assert tree(to) == {} if kind == "folder" else not to.read_bytes()
    assert reserved_in(box.disk) == []


def test_overwrite_f_never_loses_what_replaced_the_source(box: Box) -> None:
    for number in range(MANY_ROUNDS):
        source = box.write(f"a-{number}")
        new = box.write("new", b"new")

        move = partial(put, box, "MOVE", source.name, f"to-{number}", KEEP)
        answer, _ = together(move, partial(replace, source, number, new))
        assert answer.status == 201
        found = [box.disk / f"{name}-{number}" for name in ("a", "to")]
        bodies = [path.read_bytes() for path in found if path.exists()]
        assert bodies in ([b"new"], [b"new", b"old"])
