"""Bodies are read when they are wanted, within a limit, and strictly."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable

import pytest

from conduck_service.serving.body import (
    Body,
    BodyCut,
    BodyMalformed,
    BodyStalled,
    BodyTooLarge,
)
from conduck_service.serving.intake import Intake
from tests.serving.app import TOKEN, App
from tests.serving.conftest import Serve
from tests.support.raw_http import (
    chunked,
    connect,
    exchange,
    read_head,
    read_response,
    request,
)

MIB = 1024 * 1024
CHUNKED = [("Transfer-Encoding", "chunked")]


def read(data: bytes, *, length: int | None = None, limit: int = 100) -> bytes:
    """Return what a body reads when these bytes come and then the end."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(10)
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        body = Body(Intake(ours, b""), length=length, chunked=length is None)
        return bytes(body.read_all(limit))


def send_in_background(data: bytes) -> tuple[socket.socket, Callable[[], None]]:
    """Return a socket on which these bytes come, and what to call at the end."""
    ours, theirs = socket.socketpair()
    ours.settimeout(20)

    def send() -> None:
        with contextlib.suppress(OSError):
            theirs.sendall(data)

    thread = threading.Thread(target=send)
    thread.start()

    def end() -> None:
        ours.close()
        thread.join()
        theirs.close()

    return ours, end


def test_a_body_that_came_with_the_head_is_read_first() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"second, and more")
        body = Body(Intake(ours, b"first, "), length=13, chunked=False)
        assert (body.framed, body.complete, body.received) == (True, False, 0)
        assert body.read_all(13) == b"first, second"
        assert (body.complete, body.received) == (True, 13)


def test_without_framing_there_is_no_body() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        body = Body(Intake(ours, b"not ours"), length=None, chunked=False)
        assert (body.framed, body.complete) == (False, True)
        assert body.read_all(0) == b""
        empty = Body(Intake(ours, b""), length=0, chunked=False)
        assert (empty.framed, empty.complete) == (True, True)


def test_a_declared_length_over_the_limit_is_refused_unread() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        body = Body(Intake(ours, b"x" * 11), length=11, chunked=False)
        with pytest.raises(BodyTooLarge):
            body.read_all(10)
        assert body.received == 0


@pytest.mark.parametrize(
    ("data", "content"),
    [
        (b"0\r\n\r\n", b""),
        (b"5\r\nhello\r\n0\r\n\r\n", b"hello"),
        (b"1\r\na\r\n00002\r\nbc\r\n0\r\n\r\n", b"abc"),
        (b"A\r\n0123456789\r\n0\r\n\r\n", b"0123456789"),
        (b"a;name=value\r\n0123456789\r\n0;x\r\n\r\n", b"0123456789"),
        (b"1 ; x=y\r\na\r\n0\r\n\r\n", b"a"),
        (b"2\r\n\r\n\r\n0\r\n\r\n", b"\r\n"),
        (b"1\r\na\r\n0\r\nTrailer: x\r\nOther: y\r\n\r\n", b"a"),
    ],
)
def test_chunks_are_put_together(data: bytes, content: bytes) -> None:
    assert read(data) == content


@pytest.mark.parametrize(
    "data",
    [
        b"0x5\r\nhello\r\n0\r\n\r\n",
        b"+5\r\nhello\r\n0\r\n\r\n",
        b"-5\r\nhello\r\n0\r\n\r\n",
        b"1_0\r\n0123456789abcdef\r\n0\r\n\r\n",
        b" 5\r\nhello\r\n0\r\n\r\n",
        b"5 \r\nhello\r\n0\r\n\r\n",
        b"\r\nhello\r\n0\r\n\r\n",
        b";x\r\nhello\r\n0\r\n\r\n",
        b"g\r\nhello\r\n0\r\n\r\n",
        b"\xb5\r\nhello\r\n0\r\n\r\n",
        b"5\nhello\r\n0\r\n\r\n",
        b"5\r\nhello\n0\r\n\r\n",
        b"5\r\nhelloo\r\n0\r\n\r\n",
        b"5\r\nhell\r\n0\r\n\r\n\r\n",
        b"5;a\rb\r\nhello\r\n0\r\n\r\n",
        b"0000000000000005\r\nhello\r\n0\r\n\r\n",
        b"5;" + b"x" * 5000 + b"\r\nhello\r\n0\r\n\r\n",
        (b"1;" + b"x" * 4000 + b"\r\na\r\n") * 20 + b"0\r\n\r\n",
        b"0\r\n" + b"Trailer: x\r\n" * 20_000 + b"\r\n",
        b"0\r\nTrailer: " + b"x" * 5000 + b"\r\n\r\n",
        b"0\r\nTrailer: x\n\r\n",
    ],
)
def test_broken_chunks_are_refused(data: bytes) -> None:
    ours, end = send_in_background(data)
    body = Body(Intake(ours, b""), length=None, chunked=True)
    with pytest.raises(BodyMalformed):
        body.read_all(100)
    assert not body.complete
    end()


def test_a_body_in_crumbs_is_cut_before_it_costs_minutes() -> None:
    ours, finish = send_in_background(b"1\r\nx\r\n" * 400_000)
    with ours, pytest.raises(BodyMalformed):
        Body(Intake(ours, b""), length=None, chunked=True).read_all(10**8)
    finish()


@pytest.mark.parametrize(
    "data", [b"", b"5", b"5\r\n", b"5\r\nhel", b"5\r\nhello\r\n", b"0\r\n"]
)
def test_a_peer_that_leaves_early_is_noticed(data: bytes) -> None:
    with pytest.raises(BodyCut):
        read(data)
    with pytest.raises(BodyCut):
        read(data, length=50)


def test_a_chunked_body_is_counted_while_it_comes() -> None:
    with pytest.raises(BodyTooLarge):
        read(chunked(b"x" * 60, b"x" * 41))
    with pytest.raises(BodyTooLarge):
        read(b"fffffffffffffff\r\n")
    assert len(read(chunked(b"x" * 60, b"x" * 40))) == 100


@pytest.mark.req("C-CONN-13")
def test_chunked_bodies_are_taken_whole_or_refused_over_the_cap(
    port: int, app: App
) -> None:
    for chunks in ([b"x" * 20 * 1000 * 1000], [b"x" * 100] * 20_000):
        data = request("POST", "/body", token=TOKEN, headers=CHUNKED)
        response = exchange(port, data + chunked(*chunks))
        assert response.status == 200
        assert json.loads(response.body)["length"] == sum(map(len, chunks))
    beyond = request("POST", "/body?1000", token=TOKEN, headers=CHUNKED)
    response = exchange(port, beyond + chunked(b"x" * 600, b"x" * 401))
    assert response.status == 413
    assert response.values("Connection") == ["close"]


def test_growth_is_announced_before_it_happens_and_can_be_refused() -> None:
    ours, end = send_in_background(chunked(*[b"x" * 50_000] * 40))
    body = Body(Intake(ours, b""), length=None, chunked=True)
    sizes: list[int] = []

    def account(size: int) -> None:
        assert body.received <= size
        sizes.append(size)
        if size > MIB:
            raise MemoryError

    with pytest.raises(MemoryError):
        body.read_all(10 * MIB, on_growth=account)
    assert sizes == sorted(sizes)
    assert body.received <= MIB
    end()


@pytest.mark.parametrize("length", [40 * MIB, None])
def test_reading_takes_about_the_memory_of_the_body(length: int | None) -> None:
    content = bytes(40 * MIB)
    data = content if length else chunked(content)
    ours, end = send_in_background(data)
    body = Body(Intake(ours, b""), length=length, chunked=length is None)
    tracemalloc.start()
    try:
        assert len(body.read_all(50 * MIB)) == 40 * MIB
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        end()
    assert peak < 60 * MIB


@pytest.mark.req("C-TIME-09")
def test_a_stalled_body_ends_the_connection(serve: Serve) -> None:
    port = serve(idle_seconds=0.3).port
    data = request("POST", "/body", token=TOKEN, headers=[("Content-Length", "10")])
    began = time.monotonic()
    with connect(port) as sock:
        sock.sendall(data + b"half")
        response = read_response(sock)
    assert json.loads(response.body) == {"body": "BodyStalled"}
    assert 0.25 < time.monotonic() - began < 5


@pytest.mark.req("C-TIME-10")
def test_a_slow_body_that_makes_progress_is_not_cut(serve: Serve) -> None:
    port = serve(idle_seconds=0.5).port
    data = request("POST", "/body", token=TOKEN, headers=[("Content-Length", "10")])
    with connect(port) as sock:
        sock.sendall(data)
        for _ in range(10):
            time.sleep(0.1)  # 1 s in all, twice the idle limit
            sock.sendall(b"x")
        assert json.loads(read_response(sock).body)["length"] == 10


def test_a_peer_that_expects_it_is_told_to_continue_when_the_body_is_read(
    port: int,
) -> None:
    expect = [("Expect", "100-continue"), ("Content-Length", "5")]
    with connect(port) as sock:
        sock.sendall(request("POST", "/body", token=TOKEN, headers=expect))
        assert read_head(sock) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"hello")
        response = read_response(sock)
    assert (response.status, response.interim) == (200, ())


@pytest.mark.parametrize(
    ("path", "version", "early"),
    [("/ok", "HTTP/1.1", b""), ("/body", "HTTP/1.0", b""), ("/body", "HTTP/1.1", b"x")],
)
def test_nobody_is_told_to_continue_without_need(
    port: int, path: str, version: str, early: bytes
) -> None:
    headers = [("Expect", "100-continue"), ("Content-Length", "5")]
    data = request("POST", path, token=TOKEN, headers=headers, version=version)
    with connect(port) as sock:
        sock.sendall(data + early)
        sock.sendall(b"hello"[len(early) :])
        response = read_response(sock)
    assert (response.status, response.interim) == (200, ())


def test_a_body_is_read_and_reported(port: int) -> None:
    content = bytes(range(256)) * 4096
    response = exchange(port, request("POST", "/body", token=TOKEN, body=content))
    assert json.loads(response.body) == {
        "length": len(content),
        "sum": sum(content[:1000]),
        "framed": True,
        "complete": True,
        "received": len(content),
    }


def test_broken_chunks_reach_the_application_as_an_error(port: int) -> None:
    data = request("POST", "/body", token=TOKEN, headers=CHUNKED)
    response = exchange(port, data + b"0x5\r\nhello\r\n0\r\n\r\n")
    assert json.loads(response.body) == {"body": "BodyMalformed"}


def test_a_socket_that_stays_silent_stalls() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(0.05)
        with pytest.raises(BodyStalled):
            Body(Intake(ours, b""), length=1, chunked=False).read_all(1)
