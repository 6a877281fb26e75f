"""Peers that take no answer, or send their bodies late, cost nobody else anything."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from conduck_service.files.transfers import ARRIVALS, WORKERS
from conduck_service.serving import loop
from tests.support.lane import Lane, serving_files
from tests.support.lane_faults import Box
from tests.support.raw_http import connect, read_response, request

ALLPROP = b'<D:propfind xmlns:D="DAV:"><D:allprop/></D:propfind>'


@contextmanager
def unread(lane: Lane, data: bytes) -> Iterator[socket.socket]:
    """Send requests over a connection whose answers are never read."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(20)
        sock.connect(("127.0.0.1", lane.port))
        sock.sendall(data)
        yield sock


@pytest.mark.req("F-NET-03")
def test_unread_answers_do_not_take_all_workers(box: Box) -> None:
    box.write("a.bin", b"x" * 65_536)
    head = request("GET", box.at("a.bin"), headers=box.lane.credentials)
    with ExitStack() as held:
        for _ in range(WORKERS + 5):
            held.enter_context(unread(box.lane, head * 150))
        for _ in range(3):
            assert box.lane.propfind(box.path, "0").status == 207
            assert box.lane.put(box.at("b.txt"), b"new").status in (201, 204)


def test_short_bodies_may_come_a_moment_after_their_heads(box: Box) -> None:
    headers = [
        ("Connection", "close"),
        *box.lane.credentials,
        ("Depth", "0"),
        ("Content-Length", str(len(ALLPROP))),
    ]
    head = request("PROPFIND", box.path, headers=headers)
    with ExitStack() as held:
        socks = [
            held.enter_context(connect(box.lane.port)) for _ in range(ARRIVALS + 4)
        ]
        for sock in socks:
            sock.sendall(head)
        for sock in socks:
            sock.sendall(ALLPROP)
        assert [read_response(sock).status for sock in socks] == [207] * len(socks)


@pytest.mark.req("F-NET-05")
def test_an_upload_that_stalls_is_told_so(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    files = {"idle_seconds": 1}
    with serving_files(tmp_path_factory.mktemp("stall"), files=files) as service:
        lane = Lane.of(service)
        for framing in (("Content-Length", "10"), ("Transfer-Encoding", "chunked")):
            head = request("PUT", "/a.txt", headers=[*lane.credentials, framing])
            with connect(lane.port) as sock:
                sock.sendall(head + b"3\r\nabc")
                answer = read_response(sock)
            assert answer.status == 408
            assert answer.body.startswith(b"body_stalled: ")
            assert answer.values("Connection") == ["close"]
        assert list(lane.folder.iterdir()) == []


@pytest.mark.parametrize("method", ["PUT", "GET", "DELETE", "MKCOL", "PROPFIND"])
def test_an_asterisk_is_a_target_of_options_only(lane: Lane, method: str) -> None:
    body = b"x" if method == "PUT" else None
    assert lane.send(method, "*", body).status == 400
    assert lane.send("OPTIONS", "*").status == 200
    assert not (lane.folder / "*").exists()


@pytest.mark.parametrize(
    ("soft", "limit"), [(128, 16), (1024, 128), (8192, 512), (-1, 512), (10, 8)]
)
def test_few_descriptors_leave_half_for_everything_else(
    monkeypatch: pytest.MonkeyPatch, soft: int, limit: int
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _: (soft, soft))
    assert loop.guest_limit() == limit
