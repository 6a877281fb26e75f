"""Bodies that are refused in flight, and bodies whose length is not declared."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator

import pytest

from tests.support.raw_http import (
    RawResponse,
    chunked,
    connect,
    exchange,
    read_head,
    read_response,
    request,
)
from tests.support.service import TOKEN, Service, running, stub, user

CHAT = "/v1/chat/completions"
CAP = 52_428_800
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("bodies")
    engine = stub(root, ["obey"])
    with running(root, engine, chat={"max_body_bytes": CAP}) as service:
        yield service
        assert service.models().status_code == 200


def head(length: int, token: str = TOKEN) -> bytes:
    return request("POST", CHAT, token=token, headers=[("Content-Length", str(length))])


def in_chunks(*chunks: bytes) -> bytes:
    coding = [("Transfer-Encoding", "chunked")]
    return request("POST", CHAT, token=TOKEN, headers=coding, body=chunked(*chunks))


@pytest.mark.req("C-CONN-10", "C-CONN-16")
@pytest.mark.parametrize(
    ("data", "status"), [(head(MIB, "wrong"), 401), (head(CAP + 1), 413)]
)
def test_a_peer_that_writes_before_it_reads_sees_the_status(
    service: Service, data: bytes, status: int
) -> None:
    for _ in range(50):
        with connect(service.port) as sock:
            # The body must not fit into the buffer of the system.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 128 * 1024)
            sock.sendall(data + bytes(MIB))  # C-CONN-10
            response = read_response(sock)
        assert response.status == status  # C-CONN-10
    assert service.models().status_code == 200  # C-CONN-16


def push(sock: socket.socket, size: int) -> int:
    """Send zeros until the peer takes no more; return how many bytes it took."""
    sent, piece = 0, bytes(64 * 1024)
    try:
        while sent < size:
            sent += sock.send(piece)
    except OSError:
        return sent
    return sent


@pytest.mark.req("C-CONN-11", "C-CONN-16")
@pytest.mark.parametrize("token", ["wrong", TOKEN])
def test_what_is_read_of_a_refused_body_is_bounded(
    service: Service, token: str
) -> None:
    size = 200 * MIB
    began = time.monotonic()
    with connect(service.port) as sock:
        sock.sendall(head(size, token))
        sent = push(sock, size)
    assert time.monotonic() - began < 2  # C-CONN-11
    # Beside the 2 MiB that are read, the system's buffers take some.
    assert sent < 32 * MIB  # C-CONN-11
    assert service.models().status_code == 200  # C-CONN-16


@pytest.mark.req("C-CONN-11")
@pytest.mark.parametrize("token", ["wrong", TOKEN])
def test_a_peer_that_dribbles_after_its_refusal_is_cut(
    service: Service, token: str
) -> None:
    began = time.monotonic()
    with connect(service.port) as sock:
        sock.sendall(head(200 * MIB, token))
        status = read_response(sock).status
        assert status == (401 if token == "wrong" else 413)
        with pytest.raises(OSError, match=r"reset|Broken pipe"):
            while time.monotonic() - began < 10:
                sock.send(b"x")
                time.sleep(0.02)
    assert time.monotonic() - began < 3


@pytest.mark.req("C-CONN-13")
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_body_in_many_small_chunks_is_a_turn(service: Service, size: int) -> None:
    body = json.dumps({"messages": [user("Reply with exactly: pong")], "x": "y" * 5000})
    data = body.encode()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    response = exchange(service.port, in_chunks(*pieces))
    assert response.status == 200
    assert json.loads(response.body)["choices"][0]["message"]["content"] == "pong"


@pytest.mark.req("C-CONN-13")
def test_a_body_in_one_chunk_of_20_mb_is_a_turn(service: Service) -> None:
    body = {"pad": "x" * 20_000_000, "messages": [user("Reply with exactly: pong")]}
    response = exchange(service.port, in_chunks(json.dumps(body).encode()))
    assert response.status == 200
    assert json.loads(response.body)["choices"][0]["message"]["content"] == "pong"


def send_chunks(service: Service, *chunks: bytes) -> RawResponse:
    """Send chunks one by one, without the last empty one, and read the answer."""
    start = request(
        "POST", CHAT, token=TOKEN, headers=[("Transfer-Encoding", "chunked")]
    )
    with connect(service.port) as sock:
        sock.sendall(start)
        for chunk in chunks:
            sock.sendall(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        return read_response(sock)


@pytest.mark.req("C-CONN-13", "C-CONN-16")
def test_chunks_beyond_the_cap_are_413_and_the_end(service: Service) -> None:
    quarter = bytes(CAP // 4)
    response = send_chunks(service, quarter, quarter, quarter, quarter, b"x")
    assert response.status == 413
    assert json.loads(response.body)["error"]["code"] == "body_too_large"
    assert response.rest == b""
    assert response.values("Connection") == ["close"]


@pytest.mark.req("C-CONN-13")
def test_chunks_up_to_the_cap_are_no_413(service: Service) -> None:
    quarter = b"x" * (CAP // 4)
    first, last = b'{"pad":"' + quarter[8:], quarter[2:] + b'"}'
    response = exchange(service.port, in_chunks(first, quarter, quarter, last))
    # The cap lets it through; what it says is no chat request.
    assert response.status == 400


@pytest.mark.req("C-CONN-15", "C-CONN-16")
def test_a_body_is_not_invited_from_a_stranger(service: Service) -> None:
    expecting = [("Content-Length", "100"), ("Expect", "100-continue")]
    with connect(service.port) as sock:
        sock.sendall(request("POST", CHAT, token="wrong", headers=expecting))
        response = read_response(sock)
    assert response.status == 401
    assert response.interim == ()


def test_a_body_is_invited_from_a_friend(service: Service) -> None:
    body = json.dumps({"messages": [user("Reply with exactly: pong")]}).encode()
    expecting = [("Content-Length", str(len(body))), ("Expect", "100-continue")]
    with connect(service.port) as sock:
        sock.sendall(request("POST", CHAT, token=TOKEN, headers=expecting))
        assert read_head(sock).startswith(b"HTTP/1.1 100 ")
        sock.sendall(body)
        assert read_response(sock).status == 200
