"""Every answer ends its connection, and reaches its peer before that."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from tests.serving.app import TOKEN
from tests.serving.conftest import Serve
from tests.support.raw_http import (
    RawResponse,
    chunked,
    connect,
    exchange,
    parse,
    read_response,
    request,
)

SMUGGLED = request("GET", "/ok", token=TOKEN)
CHUNKED = [("Transfer-Encoding", "chunked")]
MIB = 1024 * 1024


@pytest.mark.req("C-CONN-01", "C-CONN-07")
@pytest.mark.parametrize(
    "probe",
    [
        request("POST", "/body", token="wrong", body=SMUGGLED),  # C-CONN-01
        request("POST", "/body", token="wrong", body=b"x") + SMUGGLED,  # C-CONN-01
        request("POST", "/body", token="wrong", headers=CHUNKED)
        + chunked(b"hello")
        + SMUGGLED,  # C-CONN-07
    ],
)
def test_after_a_401_nothing_more_is_read_as_a_request(port: int, probe: bytes) -> None:
    with connect(port) as sock:
        sock.sendall(probe)
        time.sleep(0.05)
        sock.sendall(SMUGGLED)
        response = read_response(sock)
    assert response.status == 401  # C-CONN-01, C-CONN-07
    assert response.rest == b""  # C-CONN-01, C-CONN-07


@pytest.mark.req("C-CONN-08", "C-CONN-09")
@pytest.mark.parametrize(
    ("data", "status"),
    [
        (request("GET", "/ok", token=TOKEN), 200),
        (request("HEAD", "/ok", token=TOKEN), 200),
        (request("GET", "/stream", token=TOKEN), 200),
        (request("GET", "/keep", token=TOKEN), 200),
        (request("GET", "/closing", token=TOKEN), 200),
        (request("GET", "/ok", token=TOKEN, version="HTTP/1.0"), 200),
        (request("POST", "/body", token=TOKEN, body=b"x"), 200),
        (request("GET", "/none", token=TOKEN), 204),
        (request("GET", "/nope", token=TOKEN), 404),
        (request("POST", "/body?1", token=TOKEN, body=b"xx"), 413),
        (request("GET", "/fail", token=TOKEN), 500),
        (request("GET", "/ok"), 401),
        (b"GARBAGE\r\n\r\n", 400),
        (
            request("GET", "/ok", token=TOKEN, headers=[("Connection", "keep-alive")]),
            200,
        ),
    ],
)
def test_every_answer_says_close_once_and_means_it(
    port: int, data: bytes, status: int
) -> None:
    response = exchange(port, data + SMUGGLED)
    assert response.status == status
    assert response.values("Connection") == ["close"]  # C-CONN-08
    assert response.values("Keep-Alive") == []
    assert response.rest == b""  # C-CONN-09


@pytest.mark.req("C-CONN-10")
def test_a_peer_that_writes_before_it_reads_gets_the_answer(port: int) -> None:
    data = request("POST", "/body", token="wrong", body=bytes(MIB))
    for _ in range(50):
        assert write_then_read(port, data).status == 401


@pytest.mark.req("C-CONN-10")
def test_a_refusal_by_the_application_reaches_its_peer_too(port: int) -> None:
    data = request("POST", "/body?1000", token=TOKEN, body=bytes(MIB))
    for _ in range(50):
        assert write_then_read(port, data).status == 413


def write_then_read(port: int, data: bytes) -> RawResponse:
    """Write in pieces, so that most of it meets a server that has answered."""
    with connect(port) as sock:
        for start in range(0, len(data), 64 * 1024):
            sock.sendall(data[start : start + 64 * 1024])
            time.sleep(0.0005)
        return read_response(sock)


@pytest.mark.req("C-CONN-11")
def test_a_large_refused_body_is_not_drained(port: int) -> None:
    length = ("Content-Length", str(200 * MIB))
    data = request("POST", "/body", token="wrong", headers=[length])
    began = time.monotonic()
    sent = 0
    with connect(port) as sock:
        sock.sendall(data)
        try:
            for _ in range(200):
                sock.sendall(bytes(MIB))
                sent += MIB
        except OSError:
            pass
    assert time.monotonic() - began < 2
    # What the kernel buffers on the way counts as sent here.
    assert sent < 40 * MIB


def test_a_proxy_can_send_a_whole_body_behind_a_refusal(port: int) -> None:
    body = bytes(20 * MIB)
    data = request("PUT", "/nowhere", token=TOKEN, body=body)
    for _ in range(3):
        with connect(port) as sock:
            sock.sendall(data)  # raises when the connection is cut meanwhile
            assert read_response(sock).status == 404


@pytest.mark.req("C-CONN-11")
def test_a_peer_that_neither_sends_nor_closes_is_let_go(port: int) -> None:
    length = ("Content-Length", str(200 * MIB))
    with connect(port) as sock:
        sock.sendall(request("POST", "/body", token="wrong", headers=[length]))
        began = time.monotonic()
        assert read_response(sock).status == 401
        assert time.monotonic() - began < 0.5
        deadline = began + 2
        while time.monotonic() < deadline:
            try:
                sock.send(b"x")
            except OSError:
                return
            time.sleep(0.02)
    pytest.fail("the connection was still open after two seconds")


def test_lingering_peers_cost_no_worker(serve: Serve) -> None:
    port = serve(workers=1).port
    peers = [connect(port) for _ in range(20)]
    length = ("Content-Length", "1000")
    for peer in peers:
        peer.sendall(request("POST", "/body", token="wrong", headers=[length]))
    began = time.monotonic()
    assert exchange(port, SMUGGLED).status == 200
    assert time.monotonic() - began < 0.9
    for peer in peers:
        assert read_response(peer).status == 401
        peer.close()


def test_a_peer_that_does_not_read_is_given_up(serve: Serve) -> None:
    port = serve(workers=1, idle_seconds=0.3).port
    with connect(port) as deaf:
        deaf.sendall(request("GET", "/large", token=TOKEN))
        assert exchange(port, SMUGGLED).status == 200


def test_a_slow_reader_gets_everything(serve: Serve) -> None:
    port = serve(idle_seconds=0.5).port
    with connect(port) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        slow.sendall(request("GET", "/large", token=TOKEN, version="HTTP/1.0"))
        pieces = []
        while piece := slow.recv(4 * MIB):
            pieces.append(piece)
            if len(pieces) % 8 == 0:
                time.sleep(0.05)
    assert len(parse(b"".join(pieces)).body) == 32 * MIB


def test_many_at_once_are_all_answered(port: int) -> None:
    statuses: list[int] = []

    def ask() -> None:
        statuses.extend(exchange(port, SMUGGLED).status for _ in range(10))

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 160
