"""A peer that leaves is noticed while its request is worked on."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from conduck_service.serving import peer
from conduck_service.serving.peer import PeerLeft, Writer, has_left
from tests.serving.app import TOKEN, App
from tests.support.raw_http import connect, read_response, request


def pair() -> tuple[socket.socket, socket.socket]:
    """Return both ends of a TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        theirs = socket.create_connection(listener.getsockname())
        ours, _ = listener.accept()
    ours.settimeout(5)
    return ours, theirs


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = pair()
    yield ours, theirs
    ours.close()
    theirs.close()


def reset(sock: socket.socket) -> None:
    """Close it so that the other end sees a reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def soon(ours: socket.socket) -> bool:
    """Say whether the peer is seen to have left within a moment."""
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        if has_left(ours):
            return True
        time.sleep(0.005)
    return False


@pytest.mark.parametrize("unread", [b"", b"bytes that wait"])
@pytest.mark.parametrize("way", ["close", "half-close", "reset"])
def test_a_peer_that_leaves_is_seen(
    ends: tuple[socket.socket, socket.socket], way: str, unread: bytes
) -> None:
    ours, theirs = ends
    theirs.sendall(unread)
    time.sleep(0.01)
    assert not has_left(ours)
    if way == "close":
        theirs.close()
    elif way == "half-close":
        theirs.shutdown(socket.SHUT_WR)
    else:
        reset(theirs)
    assert soon(ours)


def test_looking_takes_no_time_and_no_bytes(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = ends
    theirs.sendall(b"hello")
    began = time.monotonic()
    for _ in range(1000):
        assert not has_left(ours)
    assert time.monotonic() - began < 1
    assert ours.recv(10) == b"hello"
    ours.close()
    assert has_left(ours)


def test_writing_to_a_peer_that_left_or_is_deaf_ends(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = ends
    ours.settimeout(0.1)
    with pytest.raises(PeerLeft):
        Writer(ours).write(bytes(64 * 1024 * 1024))
    theirs.close()
    with pytest.raises(PeerLeft):
        Writer(ours).write(bytes(64 * 1024 * 1024))


@pytest.mark.parametrize("way", ["close", "half-close", "reset", "more"])
def test_an_application_can_see_that_its_peer_left(
    port: int, app: App, way: str
) -> None:
    data = request("POST", "/wait", token=TOKEN, body=b"a body that nobody reads")
    with connect(port) as sock:
        sock.sendall(data)
        deadline = time.monotonic() + 5
        while not app.running and time.monotonic() < deadline:
            time.sleep(0.005)
        if way == "more":
            sock.sendall(b"more bytes")
            assert not app.left.wait(0.1)
            app.go.set()
            assert read_response(sock).status == 200
            return
        assert not app.left.is_set()
        if way == "close":
            sock.close()
        elif way == "half-close":
            sock.shutdown(socket.SHUT_WR)
            assert read_response(sock).status == 200
        else:
            reset(sock)
        assert app.left.wait(5)


def test_a_reader_in_another_thread_is_not_disturbed(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    ours, theirs = ends
    got = []
    reader = threading.Thread(target=lambda: got.append(ours.recv(10)))
    reader.start()
    assert not has_left(ours)
    theirs.sendall(b"x")
    reader.join()
    assert got == [b"x"]


def fill(ours: socket.socket) -> None:
    """Send until the buffers on the way are full."""
    ours.setblocking(False)
    try:
        while True:
            ours.send(bytes(65536))
    except BlockingIOError:
        ours.settimeout(0.05)


def test_what_a_peer_has_not_taken_is_known(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    ours, _ = ends
    assert peer._count_unsent(ours) == 0
    fill(ours)
    assert peer._count_unsent(ours) > 0


def test_a_peer_that_takes_a_little_now_and_then_is_waited_for(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, _ = ends
    fill(ours)
    unsent = iter([900, 800, 700, 700])
    monkeypatch.setattr(peer, "_count_unsent", lambda _sock: next(unsent))
    with pytest.raises(PeerLeft):
        Writer(ours).wait_for_room()
    assert not list(unsent)
