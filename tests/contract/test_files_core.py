"""F-CORE: how the lane ends."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.support.lane import Lane, serving_files
from tests.support.raw_http import connect, parse, read_head, read_response, read_to_end
from tests.support.service import Service, wait_until

req = pytest.mark.req

MIB = 1024 * 1024


def refuses(port: int) -> bool:
    """Say whether nobody listens at a port any more."""
    try:
        connect(port).close()
    except ConnectionRefusedError:
        return True
    return False


def begin_stop(service: Service) -> None:
    """Send SIGTERM and wait until the lane takes no more connections."""
    service.process.terminate()
    port = service.files_port
    wait_until(lambda: refuses(port))


@req("F-CORE-03")
def test_transfers_under_way_are_given_the_time_to_end(tmp_path: Path) -> None:
    with serving_files(tmp_path) as service:
        lane = Lane.of(service)
        big = lane.at("/big")
        with big.open("wb") as file:
            file.truncate(64 * MIB)
        with lane.begin_put("/up", 2 * MIB, b"x") as up, connect(lane.port) as down:
            down.sendall(lane.head("GET", "/big"))
            head = read_head(down)
            begin_stop(service)
            up.sendall(b"x" * (2 * MIB - 1))
            assert read_response(up).status == 201
            answer = parse(head + read_to_end(down))
            assert (answer.status, len(answer.body)) == (200, 64 * MIB)
        assert service.process.wait(30) == 0
        assert lane.at("/up").stat().st_size == 2 * MIB


@req("F-CORE-03")
def test_a_transfer_that_does_not_end_is_cut_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    with serving_files(tmp_path) as service:
        lane = Lane.of(service)
        lane.put("/old", b"old")
        with (
            lane.begin_put("/new", MIB, b"x" * 1000) as new,
            lane.begin_put("/old", MIB, b"x" * 1000) as old,
            connect(lane.port) as kept,
        ):
            begin_stop(service)
            assert service.process.wait(40) == 0
            for sock in (new, old, kept):
                assert not is_success(sock)
        assert [path.name for path in lane.folder.iterdir()] == ["old"]
        assert lane.at("/old").read_bytes() == b"old"
        assert "Traceback" not in service.log


@req("F-CORE-03")
def test_a_second_signal_waits_for_no_transfer(tmp_path: Path) -> None:
    with serving_files(tmp_path) as service:
        lane = Lane.of(service)
        with lane.begin_put("/new", MIB, b"x" * 1000):
            begin_stop(service)
            service.process.terminate()
            assert service.process.wait(30) == 0
        assert list(lane.folder.iterdir()) == []


@req("F-CORE-03")
def test_a_crash_in_an_upload_leaves_nothing_under_its_name(tmp_path: Path) -> None:
    with serving_files(tmp_path) as service:
        lane = Lane.of(service)
        lane.put("/old", b"old")
        socks = [lane.begin_put(path, MIB, b"x" * 1000) for path in ("/new", "/old")]
        service.process.kill()
        service.process.wait(20)
        for sock in socks:
            sock.close()
        service.start()
        assert lane.names("/") == ["old"]
        assert lane.get("/old").body == b"old"
        assert lane.put("/new", b"again").status == 201


def is_success(sock: socket.socket) -> bool:
    try:
        return read_to_end(sock).startswith(b"HTTP/1.1 2")
    except ConnectionResetError:
        return False
