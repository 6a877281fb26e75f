"""PUT: what is stored is what was sent, whole, and only then."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.lane import Lane
from tests.support.lane_faults import (
    CONTINUE,
    IS_LINUX,
    IS_ROOT,
    Box,
    again_and_again,
    has_unnamed_files,
    uploading,
)
from tests.support.raw_http import chunked, connect, parse, read_head, request
from tests.support.service import Service

SIZES = (0, 1, 65_535, 65_537, 131_073, 1_048_577, 3_145_729)
CHUNKED = ("Transfer-Encoding", "chunked")


def made_up(size: int) -> bytes:
    """Return bytes that repeat nothing, so that no piece may be left out or moved."""
    return hashlib.shake_128(str(size).encode()).digest(size)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.req("F-IN-06", "F-METH-01", "F-ROOT-06")
def test_the_bytes_are_stored_as_they_came(box: Box, size: int) -> None:
    body = made_up(size)
    assert box.lane.put(box.at("a.bin"), body).status == 201
    assert (box.disk / "a.bin").read_bytes() == body
    answer = box.lane.get(box.at("a.bin"))
    assert (answer.status, answer.body) == (200, body)
    assert answer.values("Content-Length") == [str(size)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("chunk", [1000, 70_000])
@pytest.mark.req("F-IN-06")
def test_chunks_are_put_together(box: Box, size: int, chunk: int) -> None:
    body = made_up(size)
    pieces = [body[start : start + chunk] for start in range(0, size, chunk)]
    with uploading(box.lane, box.at("a.bin")) as upload:
        upload.send(chunked(*pieces))
        assert upload.finish().status == 201
    assert (box.disk / "a.bin").read_bytes() == body
    assert box.on_disk() == ["a.bin"]


@pytest.mark.skipif(not IS_LINUX, reason="peak memory is read from /proc")
@pytest.mark.req("F-IN-06", "F-IN-11")
def test_a_large_file_does_not_pass_through_memory(box: Box, service: Service) -> None:
    def peak_kib() -> int:
        status = Path(f"/proc/{service.process.pid}/status").read_text()
        return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0])

    piece = made_up(1_048_576)
    before = peak_kib()
    with uploading(box.lane, box.at("big.bin"), 100 * len(piece)) as upload:
        for _ in range(100):
            upload.send(piece)
        assert upload.finish().status == 201
    assert peak_kib() - before < 64 * 1024
    digest = hashlib.sha256()
    for _ in range(100):
        digest.update(piece)
    with (box.disk / "big.bin").open("rb") as stored:
        assert hashlib.file_digest(stored, "sha256").digest() == digest.digest()
    (box.disk / "big.bin").unlink()


@pytest.mark.req("F-IN-06")
def test_a_put_without_any_body_makes_an_empty_file(box: Box) -> None:
    assert box.lane.put(box.at("empty.txt"), b"").status == 201
    assert box.lane.send("PUT", box.at("bare.txt")).status == 201
    assert box.size_listed("bare.txt") == box.size_listed("empty.txt") == 0


@pytest.mark.req("F-IN-09")
def test_a_put_over_a_file_replaces_it(box: Box) -> None:
    assert box.lane.put(box.at("a.txt"), b"a long old text").status == 201
    assert box.lane.put(box.at("a.txt"), b"new").status == 204
    assert box.lane.get(box.at("a.txt")).body == b"new"
    assert box.on_disk() == ["a.txt"]


@pytest.mark.req("F-IN-01", "F-IN-02", "F-IN-12")
def test_the_folder_of_a_conversation_is_made_and_filled(box: Box) -> None:
    conversation = box.at("E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
    file = f"{conversation}/0a1b2c3d__report.pdf"
    assert box.lane.put(file, b"x").status == 409
    assert box.lane.mkcol(conversation).status == 201
    assert box.lane.mkcol(conversation).status == 405
    assert box.lane.put(file, b"%PDF").status == 201
    assert box.lane.put("/0a1b2c3d__report.pdf", b"flat").status == 201
    assert box.lane.get(file).body == b"%PDF"
    assert box.lane.get("/0a1b2c3d__report.pdf").body == b"flat"


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("", 405),
        ("/", 405),
        ("/folder", 405),
        ("/folder/", 405),
        ("/none/a.txt", 409),
        ("/none/more/a.txt", 409),
        ("/file/below.txt", 409),
        ("/new.txt/", 409),
        ("/file/", 409),
    ],
)
@pytest.mark.parametrize("expect", [False, True])
@pytest.mark.req("F-IN-08", "F-METH-04")
def test_what_cannot_hold_a_file_is_refused_before_the_body(
    box: Box, target: str, status: int, expect: bool
) -> None:
    (box.disk / "folder").mkdir()
    box.write("file")
    before = box.on_disk()
    headers = [CONTINUE] if expect else []
    body = None if expect else b"body"
    if expect:
        headers.append(("Content-Length", "4"))
    answer = box.lane.send("PUT", box.path + target, body, headers=headers)
    assert (answer.status, answer.interim) == (status, ())
    assert box.on_disk() == before
    assert (box.disk / "file").read_bytes() == b"old"


def test_the_root_is_no_place_for_a_file(lane: Lane) -> None:
    assert lane.put("/", b"x").status == 405


@pytest.mark.req("F-USER-04")
def test_a_body_is_asked_for_only_after_the_password(box: Box) -> None:
    stranger = Lane(box.lane.port, box.lane.folder, user=None)
    headers = [CONTINUE, ("Content-Length", "4")]
    answer = stranger.send("PUT", box.at("a.txt"), headers=headers)
    assert (answer.status, answer.interim) == (401, ())
    with uploading(box.lane, box.at("a.txt"), 4) as upload:
        upload.send(b"body")
        assert upload.finish().status == 201


@pytest.mark.parametrize("name", ["a" * 196 + ".txt", "é" * 125 + ".dat", "日" * 85])
@pytest.mark.req("F-IN-07", "F-IN-10")
def test_long_names_survive(box: Box, name: str) -> None:
    assert len(os.fsencode(name)) in (200, 254, 255)
    for status in (201, 204):
        with uploading(box.lane, box.at(name), 4) as upload:
            upload.send(b"body")
            assert upload.finish().status == status
    assert box.lane.names(box.path) == [name]
    assert box.lane.get(box.at(name)).body == b"body"


NAMES = (
    "a b.txt", "100%.txt", "%41.txt", "a#b?c&d+e;f.txt", "it's \"quoted\".txt",
    "trailing.", " spaces ", "😀.txt", ".hidden", "-rf", "~x", "ä.txt", "a\u0308.txt",
    "a\\b", "(1) [2] {3} <4>.txt", "a:b@c=d,e!f$g*h.txt", "a|b^c`d.txt",
)  # fmt: skip


@pytest.mark.skipif(sys.platform == "darwin", reason="its disks normalise names")
@pytest.mark.req("F-IN-07", "F-PROP-12")
def test_names_are_kept_as_given(box: Box) -> None:
    for name in NAMES:
        assert box.lane.put(box.at(name), name.encode()).status == 201, name
    assert box.on_disk() == sorted(NAMES)
    rows = box.lane.rows(box.path)[1:]
    assert sorted(row.name for row in rows) == sorted(NAMES)
    for row in rows:
        assert box.lane.send("GET", row.href).body == row.name.encode()


@pytest.mark.req("F-IN-10", "F-METH-10")
def test_an_upload_is_seen_only_when_it_is_whole(box: Box) -> None:
    with uploading(box.lane, box.at("new.bin"), 200_000) as upload:
        upload.send(b"x" * 150_000)
        assert upload.is_held()
        if has_unnamed_files(box.disk):
            assert box.on_disk() == []
        assert box.lane.names(box.path) == []
        assert box.lane.get(box.at("new.bin")).status == 404
        assert box.lane.propfind(box.at("new.bin"), "0").status == 404
        upload.send(b"x" * 50_000)
        assert upload.finish().status == 201
    assert box.on_disk() == ["new.bin"]
    assert box.size_listed("new.bin") == 200_000


@pytest.mark.req("F-IN-09", "F-IN-10")
def test_the_old_file_is_served_until_the_new_one_is_whole(box: Box) -> None:
    box.write("a.bin", b"old" * 1000)
    etag = box.etag("a.bin")
    with uploading(box.lane, box.at("a.bin"), 400_000) as upload:
        upload.send(b"n" * 399_999)
        for _ in range(2):
            assert box.lane.get(box.at("a.bin")).body == b"old" * 1000
            assert box.size_listed("a.bin") == 3000
            assert box.etag("a.bin") == etag
        upload.send(b"n")
        assert upload.finish().status == 204
    assert box.lane.get(box.at("a.bin")).body == b"n" * 400_000
    assert box.size_listed("a.bin") == 400_000
    assert box.etag("a.bin") != etag


@pytest.mark.req("F-IN-09")
def test_readers_never_see_a_mix(box: Box) -> None:
    size = 300_000

    def put(letter: bytes) -> None:
        assert box.lane.put(box.at("a.bin"), letter * size).status in (201, 204)

    put(b"0")
    letters = iter(range(10_000))
    with again_and_again(lambda: put(b"%d" % (next(letters) % 10))):
        for _ in range(30):
            body = box.lane.get(box.at("a.bin")).body
            assert len(body) == size
            assert body == body[:1] * size
            assert box.size_listed("a.bin") == size
    assert box.on_disk() == ["a.bin"]


@pytest.mark.req("F-IN-09", "F-IN-10")
def test_of_two_uploads_of_one_name_the_one_that_ends_last_is_whole(box: Box) -> None:
    name = box.at("a.bin")
    with (
        uploading(box.lane, name, 200_000) as one,
        uploading(box.lane, name, 300_000) as other,
    ):
        other.send(b"2" * 150_000)
        one.send(b"1" * 100_000)
        other.send(b"2" * 150_000)
        assert other.finish().status == 201
        assert box.lane.get(name).body == b"2" * 300_000
        one.send(b"1" * 100_000)
        assert one.finish().status in (201, 204)
    assert box.lane.get(name).body == b"1" * 200_000
    assert box.on_disk() == ["a.bin"]


@pytest.mark.req("F-IN-09")
def test_of_many_uploads_at_once_one_is_whole(box: Box) -> None:
    bodies = [b"%d" % number * 100_000 for number in range(8)]

    def put(body: bytes) -> int:
        return box.lane.put(box.at("a.bin"), body).status

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(put, bodies))
    assert set(statuses) <= {201, 204}
    assert 201 in statuses
    assert (box.disk / "a.bin").read_bytes() in bodies
    assert box.on_disk() == ["a.bin"]


def test_a_move_over_the_name_as_the_last_step_replaces_in_one_step(box: Box) -> None:
    assert box.lane.put(box.at("a.txt"), b"0" * 1000).status == 201

    def replace() -> None:
        assert box.lane.put(box.at("a.txt.part"), b"1" * 1000).status == 201
        assert box.lane.move(box.at("a.txt.part"), box.at("a.txt")).status == 204

    with again_and_again(replace):
        for _ in range(40):
            answer = box.lane.get(box.at("a.txt"))
            assert answer.status == 200
            assert answer.body in (b"0" * 1000, b"1" * 1000)
    assert box.on_disk() == ["a.txt"]


@pytest.mark.req("F-METH-10")
def test_names_of_the_service_are_no_targets_and_never_shown(box: Box) -> None:
    name = ".conduck-" + "0" * 32
    for method in ("PUT", "MKCOL"):
        assert box.lane.send(method, box.at(name)).status == 403
    assert box.on_disk() == []
    box.write(name)
    box.write(name + "0")
    for method in ("GET", "HEAD", "DELETE"):
        assert box.lane.send(method, box.at(name)).status in (403, 404)
    assert box.lane.propfind(box.at(name), "0").status == 404
    assert box.lane.names(box.path) == [name + "0"]
    assert box.on_disk() == [name, name + "0"]


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate, gzip", "x"])
def test_coded_bytes_are_not_stored_under_a_plain_name(box: Box, coding: str) -> None:
    headers = [("Content-Encoding", coding)]
    answer = box.lane.put(box.at("a.txt"), b"\x1f\x8b", headers=headers)
    assert answer.status == 415
    assert box.on_disk() == []


def test_no_coding_is_no_coding(box: Box) -> None:
    headers = [("Content-Encoding", "identity")]
    assert box.lane.put(box.at("a.txt"), b"x", headers=headers).status == 201


def test_a_part_of_a_file_is_not_stored_as_the_file(box: Box) -> None:
    box.write("a.txt")
    headers = [("Content-Range", "bytes 0-1/3")]
    assert box.lane.put(box.at("a.txt"), b"ne", headers=headers).status == 400
    assert (box.disk / "a.txt").read_bytes() == b"old"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("1600000000", 1_600_000_000),
        ("1600000000.5", 1_600_000_000),
        ("0", 0),
        ("99999999999", None),
    ],
)
def test_the_time_that_a_sync_client_gives_is_kept(
    box: Box, sent: str, kept: int | None
) -> None:
    headers = [("X-OC-Mtime", sent)]
    answer = box.lane.put(box.at("a.txt"), b"x", headers=headers)
    # Not every disk holds every time; the file is stored all the same.
    assert answer.status == 201
    assert answer.values("X-OC-Mtime") in (["accepted"], [])
    if kept is not None:
        assert answer.values("X-OC-Mtime") == ["accepted"]
        assert (box.disk / "a.txt").stat().st_mtime == kept


@pytest.mark.root
@pytest.mark.skipif(not IS_ROOT, reason="only root can give files away")
@pytest.mark.req("F-PERM-03")
def test_a_file_of_somebody_else_is_replaced_by_one_of_ours(box: Box) -> None:
    theirs = box.write("a.txt")
    theirs.chmod(0o444)
    os.chown(theirs, 1, 1)
    headers = [("X-OC-Mtime", "1600000000")]
    assert box.lane.put(box.at("a.txt"), b"new", headers=headers).status == 204
    found = theirs.stat()
    assert (found.st_uid, theirs.read_bytes()) == (os.geteuid(), b"new")
    assert stat.S_IMODE(found.st_mode) == 0o600


def test_a_connection_is_good_for_more_after_an_upload(box: Box) -> None:
    lane = box.lane
    path = quote(box.at("a.bin"))
    body = made_up(300_000)
    with connect(lane.port) as sock:
        for framing, data, status in (
            ([("Content-Length", "300000")], body, 201),
            ([CHUNKED], chunked(body), 204),
            ([("Content-Length", "0")], b"", 204),
            ([("Content-Length", "3")], b"end", 204),
        ):
            headers = [*lane.credentials, *framing]
            sock.sendall(request("PUT", path, headers=headers) + data)
            head = read_head(sock)
            assert f" {status} ".encode() in head
            assert b"Connection: close" not in head
        sock.sendall(lane.head("GET", path))
        data = b""
        while piece := sock.recv(65536):
            data += piece
    assert parse(data).body == b"end"
    assert box.on_disk() == ["a.bin"]
