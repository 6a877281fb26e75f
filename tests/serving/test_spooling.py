"""Bodies go into files whole, in constant memory, or not to their end."""

from __future__ import annotations

import errno
import functools
import json
import os
import resource
import socket
import struct
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from conduck_service.serving.body import (
    Body,
    BodyCut,
    BodyMalformed,
    BodyStalled,
    BodyTooLarge,
)
from conduck_service.serving.intake import Intake
from tests.serving.app import TOKEN
from tests.serving.conftest import Serve
from tests.serving.kept import read_one
from tests.support.raw_http import chunked, connect, exchange, read_head, request
from tests.support.service import wait_until

MIB = 1024 * 1024
SIZES = [0, 5, 100_000, 3 * MIB + 1]
LARGE = 4 * MIB


@functools.lru_cache(maxsize=8)
def content(size: int) -> bytes:
    """Return bytes that show when some of them are lost or swapped."""
    return (b"".join(struct.pack(">I", n) for n in range(size // 4 + 1)))[:size]


class Sender:
    """A peer that sends some bytes in the background."""

    def __init__(self, data: bytes, end: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self._theirs = socket.create_connection(listener.getsockname())
            self.ours, _ = listener.accept()
        self.ours.settimeout(10 if end else 0.05)
        self._thread = threading.Thread(target=self._send, args=(data, end))
        self._thread.start()

    def _send(self, data: bytes, end: str) -> None:
        try:
            self._theirs.sendall(data)
            if end == "half-close":
                self._theirs.shutdown(socket.SHUT_WR)
            elif end == "reset":
                linger = struct.pack("ii", 1, 0)
                self._theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self._theirs.close()
        except OSError:
            pass

    def join(self) -> None:
        self._thread.join()

    def stop(self) -> None:
        self.ours.close()
        self._thread.join()
        self._theirs.close()


@pytest.fixture
def senders() -> Iterator[list[Sender]]:
    made: list[Sender] = []
    yield made
    for sender in made:
        sender.stop()


@pytest.fixture(params=["splice", "copy"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run with what the kernel can do, and as if it could not."""
    if request.param == "copy":
        monkeypatch.delattr(os, "splice", raising=False)
    return str(request.param)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    yield descriptor
    os.close(descriptor)


def stored(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def body_of(
    senders: list[Sender],
    data: bytes,
    *,
    early: bytes = b"",
    length: int | None = None,
    end: str = "open",
) -> Body:
    """Return a body that begins with the early bytes and comes from a peer."""
    sender = Sender(data, end)
    senders.append(sender)
    if end == "reset":
        sender.join()
    return Body(Intake(sender.ours, early), length=length, chunked=length is None)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("early", [0, 3, 200_000])
@pytest.mark.parametrize("size", SIZES)
def test_a_body_of_known_length_is_stored(
    senders: list[Sender], file: int, size: int, early: int
) -> None:
    data = content(size) + b"next"
    body = body_of(senders, data[early:], early=data[:early], length=size)
    os.write(file, b"ahead ")
    assert body.read_to(file, size) == size
    assert (body.complete, body.received) == (True, size)
    assert stored(file) == b"ahead " + content(size)
    if early >= len(data):
        assert body.leftover == b"next"
    elif early <= size:
        assert body.leftover == b""


@pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="takes no advice")
@pytest.mark.usefixtures("way")
def test_the_disk_begins_to_write_before_the_end(
    senders: list[Sender], file: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []

    def advise(descriptor: int, start: int, size: int, advice: int) -> None:
        assert (descriptor, advice) == (file, os.POSIX_FADV_DONTNEED)
        assert os.fstat(file).st_size == start + size
        asked.append((start, size))
        raise OSError(errno.EINVAL, "this disk takes no advice")

    monkeypatch.setattr(os, "posix_fadvise", advise)
    body = body_of(senders, content(40 * MIB), length=40 * MIB)
    os.write(file, b"ahead ")
    assert body.read_to(file, 40 * MIB) == 40 * MIB
    assert asked[0][0] == len(b"ahead ")
    assert asked[1][0] == sum(asked[0])
    assert 32 * MIB <= sum(size for _, size in asked) <= 40 * MIB
    assert stored(file) == b"ahead " + content(40 * MIB)


@pytest.mark.parametrize("pieces", [1, 2, 700])
@pytest.mark.parametrize("size", SIZES)
def test_a_body_in_chunks_is_stored(
    senders: list[Sender], file: int, size: int, pieces: int
) -> None:
    data = content(size)
    step = max(1, size // pieces)
    chunks = [data[start : start + step] for start in range(0, size, step)]
    sent = chunked(*chunks) + b"next"
    body = body_of(senders, sent[100:], early=sent[:100])
    assert body.read_to(file, size) == size
    assert stored(file) == data
    assert b"next".startswith(body.leftover)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("end", ["half-close", "reset"])
@pytest.mark.parametrize("length", [1000, LARGE, None])
def test_a_peer_that_leaves_early_is_noticed(
    senders: list[Sender], file: int, length: int | None, end: str
) -> None:
    data = b"half" if length else b"ffff\r\nhalf"
    body = body_of(senders, data, length=length, end=end)
    with pytest.raises(BodyCut):
        body.read_to(file, LARGE)
    assert not body.complete
    assert not body.is_reading
    assert not body.skip(LARGE)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("length", [1000, LARGE, None])
def test_a_peer_that_falls_silent_is_noticed(
    senders: list[Sender], file: int, length: int | None
) -> None:
    body = body_of(senders, b"9\r\nhalf", length=length, end="")
    with pytest.raises(BodyStalled):
        body.read_to(file, LARGE)
    assert not body.complete


def test_a_body_over_the_limit_is_refused(senders: list[Sender], file: int) -> None:
    known = body_of(senders, b"", early=b"x" * 11, length=11)
    with pytest.raises(BodyTooLarge):
        known.read_to(file, 10)
    assert (known.received, stored(file)) == (0, b"")
    counted = body_of(senders, chunked(b"x" * 6, b"x" * 5))
    with pytest.raises(BodyTooLarge):
        counted.read_to(file, 10)


def test_broken_chunks_are_refused(senders: list[Sender], file: int) -> None:
    body = body_of(senders, b"0x5\r\nhello\r\n0\r\n\r\n")
    with pytest.raises(BodyMalformed):
        body.read_to(file, 100)


def full_disk(senders: list[Sender], descriptor: int, length: int | None) -> OSError:
    data = content(length or LARGE)
    body = body_of(senders, data if length else chunked(data), length=length)
    with pytest.raises(OSError, match=r".") as caught:
        body.read_to(descriptor, LARGE)
    assert not body.complete
    assert not body.is_reading
    assert not body.is_skippable(LARGE)
    return caught.value


@pytest.mark.usefixtures("way")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
@pytest.mark.parametrize("length", [5, LARGE, None])
def test_a_full_disk_is_no_fault_of_the_peer(
    senders: list[Sender], length: int | None
) -> None:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    try:
        assert full_disk(senders, descriptor, length).errno == errno.ENOSPC
    finally:
        os.close(descriptor)


@pytest.fixture
def _small_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MIB, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("way", "_small_files")
@pytest.mark.parametrize("length", [LARGE, None])
def test_a_file_that_may_not_grow_says_so_and_nothing_leaks(
    senders: list[Sender], file: int, length: int | None
) -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    assert full_disk(senders, file, length).errno == errno.EFBIG
    senders.pop().stop()
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_a_file_that_takes_no_pages_is_written(
    senders: list[Sender], tmp_path: Path
) -> None:
    path = tmp_path / "log"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        body = body_of(senders, content(LARGE), length=LARGE)
        assert body.read_to(descriptor, LARGE) == LARGE
    finally:
        os.close(descriptor)
    assert path.read_bytes() == content(LARGE)


def refuse_splice(*_: object, **__: object) -> int:
    raise OSError(errno.EINVAL, "this kernel does not do it")


def test_a_kernel_that_moves_no_pages_copies(
    senders: list[Sender], file: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "splice", refuse_splice, raising=False)
    monkeypatch.setattr(os, "SPLICE_F_MOVE", 0, raising=False)
    monkeypatch.setattr(os, "SPLICE_F_NONBLOCK", 0, raising=False)
    body = body_of(senders, content(LARGE), length=LARGE)
    assert body.read_to(file, LARGE) == LARGE
    assert stored(file) == content(LARGE)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("length", [48 * MIB, None])
def test_memory_does_not_grow_with_the_body(
    senders: list[Sender], file: int, length: int | None
) -> None:
    data = bytes(48 * MIB)
    body = body_of(senders, data if length else chunked(data), length=length)
    tracemalloc.start()
    try:
        assert body.read_to(file, 48 * MIB) == 48 * MIB
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MIB


def test_a_small_rest_is_dropped(senders: list[Sender]) -> None:
    body = body_of(senders, b"cdef", early=b"ab", length=6)
    assert not body.skip(5)
    wait_until(lambda: body.skip(6))
    assert (body.complete, body.received) == (True, 6)
    assert body.skip(0)


def test_what_may_never_come_is_not_waited_for(senders: list[Sender]) -> None:
    assert not body_of(senders, b"ab", length=6).skip(6)
    assert not body_of(senders, b"ab", length=6, end="half-close").skip(6)
    assert not body_of(senders, chunked(b"ab")).skip(6)


@pytest.mark.parametrize("keep_seconds", [0, 60])
def test_the_body_of_a_request_is_stored(serve: Serve, keep_seconds: float) -> None:
    port = serve(keep_seconds=keep_seconds).port
    for size in SIZES:
        data = request("PUT", "/spool", token=TOKEN, body=bytes(size))
        response = exchange(port, data.replace(b"Host", b"Connection: close\r\nHost"))
        assert json.loads(response.body) == {"length": size, "stored": size}


def test_a_body_that_is_held_back_is_asked_for(serve: Serve) -> None:
    expect = [("Expect", "100-continue"), ("Content-Length", "5")]
    with connect(serve(keep_seconds=60).port) as sock:
        for _ in range(2):
            sock.sendall(request("PUT", "/spool", token=TOKEN, headers=expect))
            assert read_head(sock) == b"HTTP/1.1 100 Continue\r\n\r\n"
            sock.sendall(b"hello")
            assert json.loads(read_one(sock).body)["stored"] == 5
