"""Peers that are idle, slow or too many hold nobody up, and stopping ends."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conduck_service.serving.loop import GUEST_LIMIT, ConnectionLoop
from conduck_service.serving.server import Server
from tests.serving.app import TOKEN, App
from tests.serving.conftest import Serve
from tests.support.raw_http import (
    RawResponse,
    connect,
    exchange,
    read_response,
    read_to_end,
    request,
)

OK = request("GET", "/ok", token=TOKEN)
HOLD = request("GET", "/hold", token=TOKEN)
HALF = request("POST", "/body", token=TOKEN, headers=[("Content-Length", "99")])


def wait_until(condition: Callable[[], bool], seconds: float = 5) -> None:
    """Wait for a condition, or fail."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.005)


@pytest.fixture
def open_many(app: App) -> Iterator[Callable[[int, int, bytes], list[socket.socket]]]:
    """Open connections that send something; all are closed in the end."""
    peers = []

    def start(port: int, count: int, data: bytes) -> list[socket.socket]:
        new = [connect(port) for _ in range(count)]
        peers.extend(new)
        for peer in new:
            peer.sendall(data)
        return new

    yield start
    app.go.set()
    for peer in peers:
        peer.close()


OpenMany = Callable[[int, int, bytes], list[socket.socket]]


@pytest.mark.req("C-TIME-11")
def test_idle_and_dribbling_peers_hold_nobody_up(
    serve: Serve, open_many: OpenMany
) -> None:
    port = serve(workers=24).port
    open_many(port, 32, b"")
    open_many(port, 32, OK[:20])
    dribbling = open_many(port, 16, HALF)
    began = time.monotonic()
    for turn in range(20):
        for peer in dribbling:
            peer.send(b"x")
        assert exchange(port, OK).status == 200, turn
    assert time.monotonic() - began < 5


@pytest.mark.req("C-TIME-12")
@pytest.mark.parametrize("data", [b"", b"GET /ok HT", OK[:-2]])
def test_a_head_that_does_not_come_is_waited_for_only_so_long(
    serve: Serve, data: bytes
) -> None:
    port = serve(head_seconds=0.3).port
    began = time.monotonic()
    with connect(port) as sock:
        sock.sendall(data)
        assert read_to_end(sock) == b""
    assert 0.2 < time.monotonic() - began < 3


@pytest.mark.req("C-TIME-12")
def test_a_byte_now_and_then_does_not_move_the_deadline(serve: Serve) -> None:
    port = serve(head_seconds=0.3).port
    began = time.monotonic()
    with connect(port) as sock, pytest.raises(OSError):
        sock.sendall(b"GET /ok HTTP/1.1\r\nX-Endless: ")
        while time.monotonic() - began < 3:
            sock.send(b"x")
            time.sleep(0.02)


def test_a_head_may_come_byte_by_byte(port: int) -> None:
    with connect(port) as sock:
        for byte in OK:
            sock.send(bytes([byte]))
        assert read_response(sock).status == 200


def test_the_oldest_idle_connection_makes_room_for_new_ones(
    serve: Serve, open_many: OpenMany, _many_descriptors: None
) -> None:
    port = serve(head_seconds=60).port  # longer than the sockets of the test wait
    first = open_many(port, 1, b"")[0]
    open_many(port, GUEST_LIMIT - 1, b"")
    assert exchange(port, OK).status == 200
    assert read_to_end(first) == b""
    assert exchange(port, OK).status == 200


class Starved(socket.socket):
    """A listener whose process is out of descriptors as long as it is told so."""

    tries = 0

    def __init__(self, is_starved: Callable[[], bool]) -> None:
        super().__init__(socket.AF_INET, socket.SOCK_STREAM)
        self._is_starved = is_starved
        self.bind(("127.0.0.1", 0))
        self.listen()

    def accept(self) -> tuple[socket.socket, tuple[str, int]]:
        self.tries += 1
        if self._is_starved():
            raise OSError(errno.EMFILE, "too many open files")
        return super().accept()


@contextlib.contextmanager
def looping(listener: socket.socket) -> Iterator[list[socket.socket]]:
    """Run a loop on the listener; gives the list of what it hands on."""
    delivered: list[socket.socket] = []
    loop = ConnectionLoop(
        listener,
        name="test",
        head_seconds=60,
        deliver=lambda sock, _received: delivered.append(sock),
    )
    loop.start()
    try:
        yield delivered
    finally:
        loop.finish()
        for sock in delivered:
            sock.close()


def test_out_of_descriptors_accepting_pauses_and_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    until = time.monotonic() + 0.6
    listener = Starved(lambda: time.monotonic() < until)
    port = listener.getsockname()[1]
    with looping(listener) as delivered, connect(port) as sock:
        sock.sendall(OK)
        wait_until(lambda: bool(delivered))
    assert listener.tries < 10
    assert len([r for r in caplog.records if "descriptors" in r.getMessage()]) == 1


def test_out_of_descriptors_the_oldest_arrival_makes_room() -> None:
    outcomes = iter([False, True, False])
    listener = Starved(lambda: next(outcomes, False))
    port = listener.getsockname()[1]
    with looping(listener) as delivered, connect(port) as idle:
        idle.sendall(b"GET")
        wait_until(lambda: listener.tries == 1)
        with connect(port) as sock:
            sock.sendall(OK)
            assert read_to_end(idle) == b""
            wait_until(lambda: bool(delivered))


def test_a_peer_that_gives_up_before_its_head_is_whole_is_let_go(serve: Serve) -> None:
    port = serve(head_seconds=60).port  # longer than the socket of the test waits
    with connect(port) as sock:
        sock.sendall(OK[:20])
        sock.shutdown(socket.SHUT_WR)
        assert read_to_end(sock) == b""


def test_starting_on_a_taken_port_fails_at_once(serve: Serve) -> None:
    port = serve().port
    threads = threading.active_count()
    with pytest.raises(OSError, match=r".") as caught:
        serve(port=port)
    assert caught.value.errno == errno.EADDRINUSE
    assert threading.active_count() == threads


@pytest.mark.req("C-NET-05")
def test_the_port_can_be_chosen_and_had_again(serve: Serve) -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
    for _ in range(2):
        server = serve(port=port)
        assert server.port == port
        assert exchange(port, OK).status == 200
        server.stop()


def test_socket_activation_meant_for_others_is_ignored(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LISTEN_PID", str(os.getpid()))
    monkeypatch.setenv("LISTEN_FDS", "1")
    first, second = serve(), serve()
    assert first.port != second.port
    assert exchange(first.port, OK).status == 200
    assert exchange(second.port, OK).status == 200


def stopped_within(server: Server) -> float:
    """Stop the server and return how long that took, in seconds."""
    began = time.monotonic()
    server.stop()
    return time.monotonic() - began


def test_closed_doors_let_running_requests_end(
    serve: Serve, app: App, open_many: OpenMany
) -> None:
    server = serve()
    running = open_many(server.port, 2, HOLD)
    wait_until(lambda: app.running == 2)
    server.close_doors()
    with pytest.raises(ConnectionRefusedError):
        connect(server.port).close()
    app.go.set()
    for peer in running:
        assert read_response(peer).status == 200


@pytest.fixture
def _short_linger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conduck_service.serving.loop.LINGER_SECONDS", 0.3)


@pytest.mark.usefixtures("_short_linger")
def test_stopping_does_not_wait_for_idle_half_sent_and_lingering_peers(
    serve: Serve, app: App, open_many: OpenMany
) -> None:
    server = serve()
    idle = open_many(server.port, 10, b"") + open_many(server.port, 10, OK[:30])
    half = open_many(server.port, 4, HALF + b"x")
    wait_until(lambda: app.running == 4)
    lingering = open_many(server.port, 4, HALF.replace(TOKEN.encode(), b"wrong"))
    for peer in lingering:
        assert read_response(peer).status == 401
    # The lingering ones take their time, everything else ends at once.
    assert stopped_within(server) < 3
    for peer in idle:
        assert read_to_end(peer) == b""
    for peer in half:
        assert read_response(peer).status == 400
    assert stopped_within(server) < 0.1


@pytest.mark.usefixtures("_short_linger")
def test_stopping_waits_for_answers_under_way(
    serve: Serve, app: App, open_many: OpenMany
) -> None:
    server = serve(workers=1)
    peers = open_many(server.port, 3, HOLD)  # one runs, two wait for the worker
    wait_until(lambda: app.running == 1)
    wait_until(lambda: len(server._exchanges) == 3)
    threading.Timer(0.2, app.go.set).start()
    assert stopped_within(server) < 3
    for peer in peers:
        assert read_response(peer).status == 200


@pytest.mark.usefixtures("_short_linger")
def test_stopping_ends_even_when_peers_and_applications_do_not(
    serve: Serve,
    app: App,
    open_many: OpenMany,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("conduck_service.serving.server.STOP_SECONDS", 0.2)
    server = serve()
    deaf = open_many(server.port, 1, request("GET", "/large", token=TOKEN))
    wait_until(lambda: len(server._exchanges) == 1 and not app.running)
    assert stopped_within(server) < 2
    assert not caplog.records
    deaf[0].close()
    stuck = serve()
    open_many(stuck.port, 1, HOLD)
    wait_until(lambda: app.running == 1)
    assert stopped_within(stuck) < 2
    assert "still being worked on" in caplog.text


def test_requests_beyond_the_queue_are_turned_away(
    serve: Serve, app: App, open_many: OpenMany, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conduck_service.serving.server.QUEUE_LIMIT", 2)
    server = serve(workers=1)
    held = open_many(server.port, 3, HOLD)
    wait_until(lambda: len(server._exchanges) == 3)
    with connect(server.port) as sock:
        sock.sendall(OK)
        with pytest.raises((ConnectionError, ValueError)):
            read_response(sock)
    app.go.set()
    for peer in held:
        assert read_response(peer).status == 200


def descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_nothing_is_left_behind(serve: Serve) -> None:
    threads, before = threading.active_count(), descriptors()
    server = serve()

    def ask(data: bytes) -> RawResponse:
        return exchange(server.port, data)

    kinds = (OK, b"GARBAGE\r\n\r\n", HALF[:-2] + b"X: y\r\n\r\n" + b"x" * 99, HOLD[:-2])
    for number in range(200):
        data = kinds[number % 3]
        assert ask(data).status in (200, 400)
    with connect(server.port) as sock:
        sock.sendall(kinds[3])
    running = threading.active_count()
    assert running == threads + 9
    wait_until(lambda: not server._exchanges)
    server.stop()
    assert threading.active_count() == threads
    gc.collect()
    assert descriptors() == before
