"""Kept connections that rest cost little, and go when they are in the way."""

from __future__ import annotations

import gc
import socket
from pathlib import Path

import pytest

from conduck_service.serving import loop
from conduck_service.serving.server import Server
from tests.serving.app import TOKEN, App
from tests.serving.conftest import Serve
from tests.serving.kept import read_one
from tests.support.raw_http import connect, exchange, read_response, read_to_end
from tests.support.raw_http import request as request_of
from tests.support.service import wait_until

OK = request_of("GET", "/ok", token=TOKEN)
HOLD = request_of("GET", "/hold", token=TOKEN)
LAST = request_of("GET", "/ok", token=TOKEN, headers=[("Connection", "close")])


def resting(server: Server, count: int) -> list[socket.socket]:
    """Return connections that have had one answer each, and rest now."""
    peers = []
    for _ in range(count):
        peers.append(connect(server.port))
        peers[-1].sendall(OK)
        assert read_one(peers[-1]).status == 200
    wait_until(lambda: not server._exchanges)
    return peers


def close_all(peers: list[socket.socket]) -> None:
    for peer in peers:
        peer.close()


def is_open(peer: socket.socket) -> bool:
    """Say whether one more request is answered."""
    try:
        peer.sendall(OK)
        return read_one(peer).status == 200
    except (OSError, IndexError, ValueError):
        return False


def test_a_connection_that_rests_too_long_is_closed(serve: Serve) -> None:
    # The socket of the test waits shorter than a head may take.
    server = serve(keep_seconds=0.2, head_seconds=60)
    (peer,) = resting(server, 1)
    with peer:
        assert read_to_end(peer) == b""


def test_a_head_that_has_begun_has_a_time_of_its_own(serve: Serve) -> None:
    server = serve(keep_seconds=600, head_seconds=0.2)
    (peer,) = resting(server, 1)
    with peer:
        peer.sendall(OK[:20])
        assert read_to_end(peer) == b""


def test_a_peer_that_comes_back_in_time_is_served(serve: Serve) -> None:
    server = serve(keep_seconds=600)
    (peer,) = resting(server, 1)
    with peer:
        for byte in OK:
            peer.send(bytes([byte]))
        assert read_one(peer).status == 200


@pytest.mark.parametrize("way", ["at once", "later", "half"])
def test_a_peer_that_goes_leaves_nothing_behind(serve: Serve, way: str) -> None:
    server = serve(keep_seconds=600)
    before = descriptors()
    for _ in range(20):
        peer = connect(server.port)
        peer.sendall(OK)
        assert read_one(peer).status == 200
        if way == "later":
            wait_until(lambda: not server._exchanges)
        if way == "half":
            peer.shutdown(socket.SHUT_WR)
            assert read_to_end(peer) == b""
        peer.close()
    assert exchange(server.port, LAST).status == 200
    wait_until(lambda: not server._exchanges)
    gc.collect()
    wait_until(lambda: descriptors() == before)


def descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


@pytest.mark.usefixtures("_many_descriptors")
def test_resting_connections_keep_no_new_one_out(serve: Serve) -> None:
    server = serve(keep_seconds=600, head_seconds=600)
    with connect(server.port) as begun:
        begun.sendall(OK[:20])
        peers = resting(server, loop.GUEST_LIMIT + 20)
        for _ in range(3):
            assert exchange(server.port, LAST).status == 200
        assert not is_open(peers[0])
        assert is_open(peers[-1])
        # A head that has begun outlives those that rest.
        begun.sendall(OK[20:])
        assert read_one(begun).status == 200
    close_all(peers)


@pytest.fixture
def _short_linger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "LINGER_SECONDS", 0.2)


def test_closed_doors_end_what_rests_and_let_the_rest_end(
    serve: Serve, app: App
) -> None:
    server = serve(keep_seconds=600)
    peers = resting(server, 3)
    with connect(server.port) as running:
        running.sendall(HOLD)
        wait_until(lambda: app.running == 1)
        server.close_doors()
        for peer in peers:
            assert read_to_end(peer) == b""
        app.go.set()
        response = read_response(running)
    assert response.status == 200
    assert response.values("Connection") == ["close"]
    close_all(peers)


@pytest.mark.usefixtures("_short_linger")
def test_stopping_ends_what_rests(serve: Serve) -> None:
    server = serve(keep_seconds=600)
    peers = resting(server, 3)
    server.stop()
    for peer in peers:
        assert read_to_end(peer) == b""
    close_all(peers)
