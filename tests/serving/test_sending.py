"""Ranges of files arrive as promised, or are seen to be broken."""

from __future__ import annotations

import errno
import functools
import os
import socket
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conduck_service.serving.sending import SMALL, FileCut, FileRange
from conduck_service.serving.server import Server
from tests.serving.app import TOKEN, App
from tests.serving.conftest import Serve
from tests.serving.kept import read_one
from tests.support.raw_http import connect, exchange, read_to_end, request

MIB = 1024 * 1024
SIZE = 3 * MIB + 7


@functools.lru_cache(maxsize=8)
def content(size: int) -> bytes:
    return b"".join(struct.pack(">I", n) for n in range(size // 4 + 1))[:size]


@pytest.fixture
def keeping(serve: Serve, app: App, tmp_path: Path) -> Server:
    app.file = tmp_path / "file"
    app.file.write_bytes(content(SIZE))
    return serve(keep_seconds=60, idle_seconds=5)


def get(offset: int, size: int, *, length: int = -1, method: str = "GET") -> bytes:
    query = f"{offset},{size},{size if length < 0 else length}"
    return request(method, f"/file?{query}", token=TOKEN)


@pytest.mark.parametrize(
    ("offset", "size"),
    [
        (0, SIZE),
        (0, 0),
        (0, 1),
        (SIZE - 1, 1),
        (SIZE, 0),
        (5, SMALL),
        (5, SMALL + 1),
        (MIB, 2 * MIB),
    ],
)
def test_a_range_arrives_and_the_connection_goes_on(
    keeping: Server, app: App, offset: int, size: int
) -> None:
    expected = content(SIZE)[offset : offset + size]
    with connect(keeping.port) as sock:
        for _ in range(3):
            sock.sendall(get(offset, size))
            response = read_one(sock)
            assert response.status == 200
            assert response.values("Content-Length") == [str(size)]
            assert response.body == expected
            assert app.closed.wait(5)
            app.closed.clear()


@pytest.mark.parametrize("size", [0, 10, SIZE])
def test_head_sends_no_byte_of_it(keeping: Server, app: App, size: int) -> None:
    with connect(keeping.port) as sock:
        sock.sendall(get(0, size, method="HEAD"))
        response = read_one(sock, is_head=True)
        assert response.values("Content-Length") == [str(size)]
        assert app.closed.wait(5)
        sock.sendall(request("GET", "/ok", token=TOKEN))
        assert read_one(sock).body == b'"ok"'


@pytest.mark.parametrize("size", [SMALL, SIZE])
def test_a_file_that_has_become_shorter_ends_the_connection(
    keeping: Server, app: App, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    os.truncate(app.file, size - 1000)
    with connect(keeping.port) as sock:
        sock.sendall(get(0, size))
        data = read_to_end(sock)
    head, _, body = data.partition(b"\r\n\r\n")
    assert f"Content-Length: {size}".encode() in head
    assert body == content(size - 1000)
    assert app.closed.wait(5)
    assert "defect" not in caplog.text
    assert not [record for record in caplog.records if record.exc_info]


def test_a_file_that_shrinks_meanwhile_ends_the_connection(
    serve: Serve, app: App, tmp_path: Path
) -> None:
    app.file = tmp_path / "large"
    size = 64 * MIB
    with app.file.open("wb") as file:
        file.truncate(size)
    with connect(serve(keep_seconds=60).port) as sock:
        sock.sendall(get(0, size))
        received = len(sock.recv(1000))  # the rest does not fit into the buffers
        os.truncate(app.file, MIB)
        received += len(read_to_end(sock))
    assert received < size
    assert app.closed.wait(5)


def test_a_range_of_another_size_than_promised_is_a_defect(
    keeping: Server, app: App
) -> None:
    for length in (9, 11):
        app.closed.clear()
        assert exchange(keeping.port, get(0, 10, length=length)).status == 500
        assert app.closed.wait(5)


def test_a_slow_reader_gets_everything(serve: Serve, app: App, tmp_path: Path) -> None:
    app.file = tmp_path / "large"
    app.file.write_bytes(bytes(32 * MIB))
    port = serve(idle_seconds=0.5).port
    with connect(port) as slow:
        slow.sendall(get(0, 32 * MIB))
        received = 0
        while piece := slow.recv(2 * MIB):
            received += len(piece)
            time.sleep(0.01)  # a peer that is slow, though never idle
    assert received > 32 * MIB


@pytest.mark.parametrize("way", ["deaf", "close", "reset"])
def test_a_peer_that_takes_nothing_any_more_is_given_up(
    serve: Serve, app: App, tmp_path: Path, way: str
) -> None:
    app.file = tmp_path / "large"
    with app.file.open("wb") as file:
        file.truncate(64 * MIB)
    port = serve(workers=1, idle_seconds=0.2 if way == "deaf" else 60).port
    sock = connect(port)
    sock.sendall(get(0, 64 * MIB))
    sock.recv(1000)
    if way == "reset":
        linger = struct.pack("ii", 1, 0)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    if way != "deaf":
        sock.close()
    assert app.closed.wait(10)
    assert exchange(port, request("GET", "/ok", token=TOKEN)).status == 200
    sock.close()


def refuse_sendfile(*_: int) -> int:
    raise OSError(errno.EINVAL, "this file system does not do it")


def test_a_file_system_that_cannot_is_read_instead(
    keeping: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sendfile", refuse_sendfile)
    with connect(keeping.port) as sock:
        for _ in range(2):
            sock.sendall(get(3, 2 * MIB))
            assert read_one(sock).body == content(SIZE)[3 : 3 + 2 * MIB]


Opened = Callable[[int, int], FileRange]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    path = tmp_path / "some"
    path.write_bytes(content(1000))
    return lambda offset, size: FileRange(os.open(path, os.O_RDONLY), offset, size)


def test_a_range_can_be_read_without_a_server(opened: Opened) -> None:
    part = opened(10, 500)
    assert b"".join(part) == content(1000)[10:510]
    part.close()
    beyond = opened(900, 200)
    with pytest.raises(FileCut):
        list(beyond)
    beyond.close()


def test_closing_is_told_once(opened: Opened) -> None:
    part = opened(0, 1)
    told: list[int] = []
    part.on_close(lambda: told.append(1))
    part.on_close(lambda: told.append(2))
    part.close()
    part.close()
    assert sorted(told) == [1, 2]
    with pytest.raises(OSError, match=r"."):
        part.read()
