"""Clients that are slow, or stand still, cost nobody else anything."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.support.lane import CONVERSATION, OUTBOUND
from tests.support.lane_faults import CONTINUE, Box, Upload, is_open, uploading
from tests.support.raw_http import connect
from tests.support.service import Service, wait_until

UPLOADS = 16
IDLE = 32
HALF_HEADS = 32
TRANSFERS = 32
ROUNDS = 3
SIZE = 100_000


@contextmanager
def dribbling(box: Box, count: int) -> Iterator[list[Upload]]:
    """Hold uploads that the server has begun to take."""
    with ExitStack() as stack:
        uploads = [
            stack.enter_context(uploading(box.lane, box.at(f"slow-{number}"), SIZE))
            for number in range(count)
        ]
        dribble(uploads)
        yield uploads


def dribble(uploads: list[Upload]) -> None:
    """Send one more byte of each."""
    for upload in uploads:
        upload.send(b"x")


@contextmanager
def standing(port: int, head: bytes) -> Iterator[list[socket.socket]]:
    """Hold connections that never get beyond the beginning of a head."""
    with ExitStack() as stack:
        socks = [stack.enter_context(connect(port)) for _ in range(IDLE)]
        for sock in socks:
            sock.sendall(head)
        yield socks


@pytest.mark.req("F-NET-03")
def test_slow_clients_cost_neither_the_lane_nor_the_chat(
    box: Box, service: Service
) -> None:
    for number in range(1000):
        (box.disk / f"file-{number:04}").touch()
    half = box.lane.head("PUT", box.at("half"))[:-2]
    with (
        dribbling(box, UPLOADS) as uploads,
        standing(box.lane.port, b"") as idle,
        standing(box.lane.port, half) as half_heads,
    ):
        for _ in range(ROUNDS):
            dribble(uploads)
            # The check before a turn, a listing, a small upload, and the chat.
            assert box.lane.propfind(f"/{OUTBOUND}", "0").status == 404
            assert len(box.lane.names(box.path)) >= 1000
            assert box.lane.mkcol(f"/{CONVERSATION}").status in (201, 405)
            file = f"/{CONVERSATION}/0a1b2c3d__a.txt"
            assert box.lane.put(file, b"small").status in (201, 204)
            assert box.lane.get(file).body == b"small"
            assert service.models().status_code == 200
        assert service.chat("Reply with exactly: pong") == "pong"
        # All of them were in the way all the time.
        assert all(upload.is_held() for upload in uploads)
        assert all(is_open(sock) for sock in (*idle, *half_heads))
        assert len(idle) + len(half_heads) == 64
        for upload in uploads:
            upload.send(b"x" * (SIZE - 1 - ROUNDS))
        assert [upload.finish().status for upload in uploads] == [201] * UPLOADS
    assert all((box.disk / f"slow-{n}").stat().st_size == SIZE for n in range(UPLOADS))


@pytest.mark.req("F-NET-03")
def test_more_transfers_than_there_are_places_are_refused_at_once(
    box: Box, service: Service
) -> None:
    box.write("a.txt")
    box.write("large.bin", bytes(1_000_000))
    headers = [CONTINUE, ("Content-Length", str(SIZE))]
    with dribbling(box, TRANSFERS) as uploads:
        refused = [
            box.lane.put(box.at("b.txt"), b"", headers=headers),
            box.lane.get(box.at("large.bin")),
            box.lane.copy(box.at("large.bin"), box.at("c.bin")),
        ]
        for answer in refused:
            assert (answer.status, answer.interim) == (503, ())
            assert answer.values("Retry-After") == ["5"]
        # What takes no time goes on.
        assert box.lane.names(box.path) == ["a.txt", "large.bin"]
        assert box.lane.propfind(f"/{OUTBOUND}", "0").status == 404
        assert box.lane.get(box.at("a.txt")).body == b"old"
        assert box.lane.mkcol(box.at("made")).status == 201
        assert service.models().status_code == 200
        # Who is there is not sent away for it.
        assert all(upload.is_held() for upload in uploads)
        uploads[0].send(b"x" * (SIZE - 1))
        assert uploads[0].finish().status == 201
        wait_until(lambda: box.lane.get(box.at("large.bin")).status == 200)
    wait_until(lambda: box.lane.copy(box.at("a.txt"), box.at("c.txt")).status == 201)
    assert box.on_disk() == ["a.txt", "c.txt", "large.bin", "made", "slow-0"]


@pytest.mark.req("F-NET-03")
def test_transfers_that_fail_take_no_place(box: Box) -> None:
    box.write("large.bin", bytes(1_000_000))
    headers = [CONTINUE, ("Content-Length", str(SIZE))]
    unmatched = [("If-Match", '"x"')]
    for _ in range(TRANSFERS + 8):
        answer = box.lane.send("PUT", box.at("none/a.txt"), headers=headers)
        assert answer.status == 409
        assert box.lane.copy(box.at("none"), box.at("b")).status == 404
        answer = box.lane.get(box.at("large.bin"), headers=unmatched)
        assert answer.status == 412
        with uploading(box.lane, box.at("a.txt"), SIZE) as upload:
            upload.send(b"x")
            assert upload.leave().status == 400
    assert box.lane.get(box.at("large.bin")).status == 200
    assert box.on_disk() == ["large.bin"]


@pytest.mark.req("F-NET-03")
def test_many_silent_connections_keep_nobody_out(box: Box) -> None:
    with ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(standing(box.lane.port, b"G"))
        for _ in range(10):
            assert box.lane.propfind(box.path, "0").status == 207
