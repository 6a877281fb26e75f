"""F-NET: one port on the loopback address, and nobody who holds it up."""

from __future__ import annotations

import socket
import ssl
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from conduck_service.files.settings import FILES_SPEC
from tests.contract.test_net import listeners, other_addresses
from tests.support.lane import Lane, new_outbound, serving_files
from tests.support.raw_http import (
    RawResponse,
    connect,
    read_head,
    read_response,
    read_to_end,
    request,
)
from tests.support.service import Service

req = pytest.mark.req
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

MIB = 1024 * 1024
LIMIT = 3 * MIB
IDLE = {"idle_seconds": 1}
CHUNKED = [("Transfer-Encoding", "chunked")]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("net")
    with serving_files(root, files={"max_upload_bytes": LIMIT}) as running_service:
        yield running_service


@pytest.fixture(scope="module")
def lane(service: Service) -> Lane:
    return Lane.of(service)


@req("F-NET-01")
@on_linux
def test_the_lane_is_open_at_the_loopback_address_only(
    service: Service, lane: Lane
) -> None:
    assert lane.port != service.port
    assert listeners(lane.port) == ["0100007F"]
    for address in other_addresses():
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address, lane.port), 5)


@req("F-NET-01")
def test_the_two_ports_serve_nothing_of_each_other(
    service: Service, lane: Lane
) -> None:
    assert lane.send("GET", "/v1/models").status == 404
    chat = replace(lane, port=service.port)
    assert chat.propfind("/", "0").status == 401


@req("F-NET-02")
def test_the_lane_speaks_no_tls(lane: Lane) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with connect(lane.port) as sock, pytest.raises(ssl.SSLError):
        context.wrap_socket(sock)
    assert lane.propfind("/", "0").status == 207


@req("F-NET-02")
def test_no_setting_is_about_tls() -> None:
    words = ("tls", "ssl", "cert", "key", "https")
    names = [field.name for field in FILES_SPEC.fields]
    assert "port" in names
    assert [name for name in names if any(word in name for word in words)] == []


@req("F-NET-03")
def test_stalled_uploads_delay_nobody(service: Service, lane: Lane) -> None:
    folder = lane.own_folder()
    path = f"/{new_outbound()}"
    with ExitStack() as stack:
        stalled = [
            stack.enter_context(lane.begin_put(f"{folder}/{number}", 2 * MIB, b"x"))
            for number in range(16)
        ]
        half = [stack.enter_context(connect(lane.port)) for _ in range(64)]
        for sock in half:
            sock.sendall(b"PROPFIND / HTTP/1.1\r\nHost: x\r\n")
        # None of them can end before they are given the rest below.
        assert service.models().status_code == 200
        assert service.chat("Reply with exactly: pong") == "pong"
        assert lane.propfind(path, "0").status == 404
        assert lane.put(f"{folder}/short", b"x").status == 201
        assert lane.names(folder) == ["short"]
        for sock in stalled:
            sock.sendall(b"x" * (2 * MIB - 1))
            assert read_response(sock).status == 201
        for sock in half:
            fields = lane.head("PROPFIND", "/", headers=[("Depth", "0")])
            sock.sendall(fields.partition(b"\r\nHost: test\r\n")[2])
            assert read_response(sock).status == 207
    assert len(lane.names(folder)) == 17


@req("F-NET-03")
def test_stalled_downloads_delay_nobody(service: Service, lane: Lane) -> None:
    folder = lane.own_folder()
    with (lane.at(folder) / "big").open("wb") as file:
        file.truncate(64 * MIB)
    with ExitStack() as stack:
        for _ in range(16):
            sock = stack.enter_context(connect(lane.port))
            sock.sendall(lane.head("GET", f"{folder}/big"))
            assert b" 200 " in read_head(sock)  # and then reads no more
        assert service.models().status_code == 200
        assert lane.names(folder) == ["big"]
        assert lane.get(f"{folder}/big", headers=[("Range", "bytes=0-9")]).status == 206


@req("F-NET-05")
def test_a_stalled_upload_is_disconnected(tmp_path: Path) -> None:
    with serving_files(tmp_path, files=IDLE) as service:
        lane = Lane.of(service)
        lane.put("/old", b"old")
        socks = [lane.begin_put("/new", MIB, b"x"), lane.begin_put("/old", MIB, b"x")]
        head = lane.head("PUT", "/new", headers=CHUNKED)
        socks.append(connect(lane.port))
        socks[-1].sendall(head + b"5\r\nhel")
        for sock in socks:
            with sock:
                # Whether or not it is told, it is over: the limit of the test
                # bounds the wait.
                assert not read_to_end(sock).startswith(b"HTTP/1.1 2")
        assert lane.names("/") == ["old"]
        assert lane.get("/old").body == b"old"
        assert [path.name for path in lane.folder.iterdir()] == ["old"]


@req("F-NET-05")
@pytest.mark.slow
def test_a_stalled_head_is_disconnected(lane: Lane) -> None:
    with (
        connect(lane.port, timeout=40) as silent,
        connect(lane.port, timeout=40) as sock,
    ):
        sock.sendall(b"PUT /x HTTP/1.1\r\nHost: x\r\nContent-")
        for one in (sock, silent):
            assert b" 2" not in read_to_end(one)[:12]


@req("F-NET-06")
@pytest.mark.parametrize("old", [None, b"the old one"])
def test_an_upload_over_the_limit_leaves_nothing(lane: Lane, old: bytes | None) -> None:
    folder = lane.own_folder()
    path = f"{folder}/a"
    if old is not None:
        lane.put(path, old)
    declared = [("Content-Length", str(LIMIT + 1))]
    with connect(lane.port) as sock:
        sock.sendall(lane.head("PUT", path, headers=declared))
        assert read_response(sock).status == 413  # without a byte of the body
    assert send_chunks(lane, path, LIMIT + 1).status == 413
    huge = [("Content-Length", "9" * 18)]
    with connect(lane.port) as sock:
        sock.sendall(lane.head("PUT", path, headers=huge))
        assert read_response(sock).status == 413
    assert [item.name for item in lane.at(folder).iterdir()] == ["a"] * bool(old)
    if old is not None:
        assert lane.get(path).body == old
    assert lane.put(path, b"x" * LIMIT).status == (204 if old else 201)
    assert send_chunks(lane, path, LIMIT).status == 204


def send_chunks(lane: Lane, path: str, size: int) -> RawResponse:
    """PUT so many bytes in chunks; the answer may come before their end."""
    with connect(lane.port) as sock:
        sock.sendall(lane.head("PUT", path, headers=CHUNKED))
        try:
            for start in range(0, size, 65536):
                length = min(65536, size - start)
                sock.sendall(b"%x\r\n%b\r\n" % (length, b"x" * length))
            sock.sendall(b"0\r\n\r\n")
        except BrokenPipeError:
            pass
        return read_response(sock)


REFUSALS = [
    (None, "/x", 401, 1),
    (None, "/x", 401, 70_000),
    (None, "/x", 401, 1_900_000),
    ("conduck", "/none/x", 409, 70_000),
    ("conduck", "/none/x", 409, 1_900_000),
    ("conduck", "/", 405, 70_000),
]
"""User, path, status, and bytes of a body; shorter ones are dropped after an answer
to the right user, and their connection is kept."""


@req("F-NET-07")
@pytest.mark.parametrize("missing", [0, 10])
@pytest.mark.parametrize("case", REFUSALS)
def test_a_refused_upload_ends_with_its_answer_and_the_connection(
    lane: Lane, case: tuple[str | None, str, int, int], missing: int
) -> None:
    user, path, status, size = case
    caller = replace(lane, user=user)
    smuggled = request("DELETE", "/x", headers=lane.credentials)
    body = smuggled + b"x" * size
    headers = [*caller.credentials, ("Content-Length", str(len(body) + missing))]
    with connect(lane.port) as sock:
        sock.sendall(request("PUT", path, headers=headers) + body)
        response = read_response(sock)
    assert response.status == status
    assert response.rest == b""  # the body was not taken for a request
    assert response.values("Connection") == ["close"]


@req("F-NET-07")
def test_a_body_that_is_not_wanted_is_not_asked_for(lane: Lane) -> None:
    nobody = replace(lane, user=None)
    headers = [("Expect", "100-continue"), ("Content-Length", "5")]
    for caller, path, status in ((nobody, "/x", 401), (lane, "/none/x", 409)):
        answer = caller.send("PUT", path, headers=headers)
        assert (answer.status, answer.interim) == (status, ())
