"""Uploads that fail: nothing is stored, the old content stays, and no litter."""

from __future__ import annotations

import signal
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.lane import Lane, serving_files
from tests.support.lane_faults import (
    CONTINUE,
    CRAMPED,
    IS_LINUX,
    IS_ROOT,
    Box,
    has_unnamed_files,
    lane_lines,
    new_box,
    serving_through,
    tiny_disk,
    uploading,
)
from tests.support.raw_http import (
    RawResponse,
    chunked,
    connect,
    exchange,
    read_to_end,
)
from tests.support.service import Service, wait_until

CHUNKED = ("Transfer-Encoding", "chunked")
MAX_BYTES = 1_000_000
FILE_BYTES = 262_144

RESET = struct.pack("ii", 1, 0)
"""To linger for no time: closing then resets the connection."""


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A daemon that is impatient and takes no large files."""
    root = tmp_path_factory.mktemp("strict")
    limits = {"idle_seconds": 1, "max_upload_bytes": MAX_BYTES}
    with serving_files(root, files=limits) as running:
        yield running


@pytest.fixture
def strict_box(strict: Service) -> Box:
    return new_box(strict)


@pytest.fixture(scope="module")
def cramped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A daemon that cannot write a file larger than FILE_BYTES."""
    root = tmp_path_factory.mktemp("cramped")
    with serving_through(root, CRAMPED, str(FILE_BYTES)) as running:
        yield running


@contextmanager
def serving_small_disk(root: Path, files: int) -> Iterator[Service]:
    """Run a daemon whose shared folder is a disk of its own, with an old file."""
    if not (IS_ROOT and IS_LINUX):
        pytest.skip("only root on Linux can mount a small disk")
    (root / "folder").mkdir()
    with tiny_disk(root / "folder", "64k", files), serving_files(root) as running:
        (running.folder / "old.txt").write_bytes(b"old")
        yield running


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A daemon whose shared folder has no room for a byte more."""
    with serving_small_disk(tmp_path_factory.mktemp("full"), 16) as running:
        with (
            pytest.raises(OSError, match="space"),
            (running.folder / "filler").open("wb", buffering=0) as filler,
        ):
            while filler.write(bytes(4096)):
                pass
        yield running


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A daemon whose shared folder has no room for a file or folder more."""
    with serving_small_disk(tmp_path_factory.mktemp("crowded"), 3) as running:
        (running.folder / "last").touch()
        yield running


def check_unchanged(box: Box, names: tuple[str, ...] = ("old.txt",)) -> None:
    """The old file is there as it was, and nothing else is."""
    assert box.on_disk() == list(names)
    for name in names:
        assert box.lane.get(box.at(name)).body == b"old"
        assert box.size_listed(name) == 3
    assert box.lane.names(box.path) == list(names)


def is_closed_by_server(answer: RawResponse) -> bool:
    return answer.values("Connection") == ["close"]


@pytest.mark.parametrize("length", [200_000, 2_000_000, None])
@pytest.mark.parametrize("name", ["old.txt", "new.txt"])
@pytest.mark.req("F-IN-10", "F-METH-10")
def test_a_short_upload_is_answered_with_400(
    box: Box, name: str, length: int | None
) -> None:
    box.write("old.txt")
    with uploading(box.lane, box.at(name), length) as upload:
        upload.send(b"ffff\r\n" + b"x" * 60_000 if length is None else b"x" * 150_000)
        assert upload.leave().status == 400
    check_unchanged(box)


@pytest.mark.parametrize("name", ["old.txt", "new.txt"])
@pytest.mark.parametrize("linger", [b"", RESET], ids=["closed", "reset"])
@pytest.mark.req("F-IN-10", "F-METH-10")
def test_a_peer_that_goes_away_leaves_nothing(
    box: Box, service: Service, name: str, linger: bytes
) -> None:
    box.write("old.txt")
    before = lane_lines(service, "PUT", 400)
    with uploading(box.lane, box.at(name), 200_000) as upload:
        upload.send(b"x" * 150_000)
        if linger:
            upload.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    wait_until(lambda: lane_lines(service, "PUT", 400) == before + 1)
    check_unchanged(box)


@pytest.mark.parametrize("length", [200_000, None])
@pytest.mark.req("F-IN-10", "F-NET-05", "F-METH-10")
def test_a_stalled_upload_is_cut_after_its_idle_limit(
    strict_box: Box, length: int | None
) -> None:
    strict_box.write("old.txt")
    with uploading(strict_box.lane, strict_box.at("old.txt"), length) as upload:
        upload.send(b"ffff\r\nxxxx" if length is None else b"x" * 150_000)
        read_to_end(upload.sock)  # which the server brings about
    check_unchanged(strict_box)


@pytest.mark.req("F-IN-10")
def test_what_comes_behind_the_declared_length_is_not_stored(box: Box) -> None:
    with uploading(box.lane, box.at("a.txt"), 4) as upload:
        upload.send(b"bodyand more of it")
        assert upload.finish().status == 201
    assert (box.disk / "a.txt").read_bytes() == b"body"
    assert box.on_disk() == ["a.txt"]


@pytest.mark.parametrize("expect", [False, True])
@pytest.mark.req("F-NET-06", "F-NET-07")
def test_a_declared_length_over_the_limit_is_413(strict_box: Box, expect: bool) -> None:
    strict_box.write("old.txt")
    headers = [("Content-Length", str(MAX_BYTES + 1))] + [CONTINUE] * expect
    for name in ("old.txt", "new.txt"):
        answer = strict_box.lane.send("PUT", strict_box.at(name), headers=headers)
        assert (answer.status, answer.interim) == (413, ())
        assert is_closed_by_server(answer)
    check_unchanged(strict_box)


@pytest.mark.req("F-NET-06")
def test_chunks_beyond_the_limit_are_413(strict_box: Box) -> None:
    strict_box.write("old.txt")
    piece = b"x" * 250_000
    with uploading(strict_box.lane, strict_box.at("old.txt")) as upload:
        upload.send(chunked(piece, piece, piece, piece))
        assert upload.finish().status == 204
    strict_box.write("old.txt")
    with uploading(strict_box.lane, strict_box.at("old.txt")) as upload:
        upload.send(chunked(piece, piece, piece, piece, b"x"))
        answer = upload.finish()
    assert answer.status == 413
    assert is_closed_by_server(answer)
    check_unchanged(strict_box)


BROKEN_CHUNKS = {
    "not a number": b"zz\r\nx\r\n0\r\n\r\n",
    "negative": b"-1\r\nx\r\n0\r\n\r\n",
    "prefixed": b"0x1\r\nx\r\n0\r\n\r\n",
    "underscore": b"1_0\r\n0123456789abcdef\r\n0\r\n\r\n",
    "signed": b"+1\r\nx\r\n0\r\n\r\n",
    "blank before": b" 1\r\nx\r\n0\r\n\r\n",
    "empty size": b"\r\nx\r\n0\r\n\r\n",
    "longer than said": b"1\r\nxyz\r\n0\r\n\r\n",
    "bare line feeds": b"1\nx\n0\n\n",
    "huge number": b"f" * 40 + b"\r\nx\r\n0\r\n\r\n",
    "late": b"3\r\nnew\r\n3\r\nnew\r\nq\r\n",
    "after much": b"30d40\r\n" + b"x" * 200_000 + b"\r\n-1\r\n",
}


@pytest.mark.parametrize("body", BROKEN_CHUNKS.values(), ids=BROKEN_CHUNKS)
@pytest.mark.req("F-IN-10")
def test_broken_chunks_are_400_and_the_end_of_the_connection(
    box: Box, body: bytes
) -> None:
    box.write("old.txt")
    for name in ("old.txt", "new.txt"):
        answer = box.lane.send("PUT", box.at(name), body, headers=[CHUNKED])
        assert answer.status == 400
        assert answer.rest == b""
        assert is_closed_by_server(answer)
    check_unchanged(box)


LENGTHS = (
    "-5",
    "+5",
    "1_0",
    "5 5",
    "5,5",
    "0x5",
    "five",
    "",
    "5.0",
    "9" * 40,
    "\uff15",
)


@pytest.mark.parametrize("length", LENGTHS)
def test_a_length_that_is_no_plain_number_is_400(box: Box, length: str) -> None:
    box.write("old.txt")
    value = length.encode().decode("latin-1")
    for name in ("old.txt", "new.txt"):
        head = box.lane.head("PUT", box.at(name), headers=[("Content-Length", value)])
        answer = exchange(box.lane.port, head + b"01234567890")
        assert answer.status == 400
        assert answer.rest == b""
    check_unchanged(box)


@pytest.mark.parametrize(
    "headers",
    [
        [("Content-Length", "3"), ("Content-Length", "3")],
        [("Content-Length", "3"), ("Content-Length", "4")],
        [("Content-Length", "3"), CHUNKED],
        [("Transfer-Encoding", "gzip, chunked")],
        [CHUNKED, CHUNKED],
        [("Transfer-Encoding", "identity")],
    ],
)
def test_a_body_that_is_framed_in_two_ways_is_400(
    box: Box, headers: list[tuple[str, str]]
) -> None:
    box.write("old.txt")
    head = box.lane.head("PUT", box.at("old.txt"), headers=headers)
    assert exchange(box.lane.port, head + b"0\r\n\r\n").status == 400
    check_unchanged(box)


@pytest.mark.parametrize("length", [FILE_BYTES + 1, 900_000, None])
@pytest.mark.req("F-IN-10", "F-METH-10")
def test_a_disk_that_takes_no_more_is_507(cramped: Service, length: int | None) -> None:
    box = new_box(cramped)
    box.write("old.txt")
    for name in ("old.txt", "new.txt"):
        with uploading(box.lane, box.at(name), length) as upload:
            body = b"x" * (length or 900_000)
            upload.send(body if length else chunked(body))
            assert upload.finish().status == 507
    check_unchanged(box)
    assert box.lane.put(box.at("old.txt"), b"x" * FILE_BYTES).status == 204


@pytest.mark.parametrize("disk", ["full", "crowded"])
@pytest.mark.parametrize("body", [b"12345", b"x" * 100_000, b"x" * 300_000])
@pytest.mark.req("F-IN-10", "F-METH-10")
def test_a_full_disk_is_507_however_small_the_file(
    request: pytest.FixtureRequest, disk: str, body: bytes
) -> None:
    service: Service = request.getfixturevalue(disk)
    lane = Lane.of(service)
    before = sorted(path.name for path in service.folder.iterdir())
    for name in ("/old.txt", "/new.txt"):
        assert lane.put(name, body).status == 507
    if disk == "crowded":
        assert lane.mkcol("/folder").status == 507
    assert sorted(path.name for path in service.folder.iterdir()) == before
    assert lane.get("/old.txt").body == b"old"


@pytest.mark.req("F-IN-10")
def test_what_cannot_fit_is_refused_before_it_is_sent(full: Service) -> None:
    headers = [CONTINUE, ("Content-Length", "2000000")]
    answer = Lane.of(full).send("PUT", "/old.txt", headers=headers)
    assert (answer.status, answer.interim) == (507, ())


@pytest.mark.req("F-IN-10", "F-METH-10")
def test_a_killed_service_leaves_no_partial_file(tmp_path: Path) -> None:
    with serving_files(tmp_path) as service:
        box = new_box(service)
        box.write("old.txt")
        with (
            uploading(box.lane, box.at("old.txt"), 200_000) as one,
            uploading(box.lane, box.at("new.txt"), 200_000) as other,
        ):
            for upload in (one, other):
                upload.send(b"x" * 150_000)
                assert upload.is_held()
            service.stop(signal.SIGKILL)
        service.start()
        assert box.lane.names(box.path) == ["old.txt"]
        assert box.lane.get(box.at("new.txt")).status == 404
        assert box.lane.get(box.at("old.txt")).body == b"old"
        if has_unnamed_files(box.disk):
            check_unchanged(box)
        assert box.lane.put(box.at("new.txt"), b"old").status == 201
        assert box.lane.get(box.at("new.txt")).body == b"old"


@pytest.mark.req("F-CORE-03", "F-IN-10")
def test_a_stop_waits_for_uploads_and_leaves_no_partial_file(tmp_path: Path) -> None:
    with serving_files(tmp_path) as service:
        box = new_box(service)
        box.write("old.txt")
        with (
            uploading(box.lane, box.at("old.txt"), 200_000) as cut,
            uploading(box.lane, box.at("new.txt"), 200_000) as whole,
        ):
            for upload in (cut, whole):
                upload.send(b"x" * 150_000)
            service.process.terminate()
            wait_until(lambda: not is_listening(box.lane.port))
            whole.send(b"x" * 50_000)
            assert whole.finish().status == 201
            assert cut.is_held()
            assert service.stop() == 0  # the second signal ends the grace
        assert box.on_disk() == ["new.txt", "old.txt"]
        assert (box.disk / "new.txt").read_bytes() == b"x" * 200_000
        assert (box.disk / "old.txt").read_bytes() == b"old"


def is_listening(port: int) -> bool:
    try:
        connect(port).close()
    except ConnectionRefusedError:
        return False
    return True
