"""Uploads and heads that come slowly, or not at all."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.support.raw_http import connect, read_response, read_to_end, request
from tests.support.service import TOKEN, Service, running, stub, user

CHAT = "/v1/chat/completions"
BODY_IDLE = 1.0
HEADER = 1.0
SIZE = 52_428_800


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("uploads")
    chat = {"body_idle_seconds": BODY_IDLE, "header_seconds": HEADER}
    with running(root, stub(root, ["obey"]), chat=chat) as service:
        yield service


def seconds_until_closed(sock: socket.socket) -> float:
    began = time.monotonic()
    read_to_end(sock)
    return time.monotonic() - began


def half_an_upload() -> bytes:
    return request(
        "POST", CHAT, token=TOKEN, headers=[("Content-Length", "1000")], body=b"x" * 500
    )


def half_a_chunk() -> bytes:
    return request(
        "POST",
        CHAT,
        token=TOKEN,
        headers=[("Transfer-Encoding", "chunked")],
        body=b"10\r\nxxx",
    )


@pytest.mark.req("C-TIME-09")
@pytest.mark.parametrize("data", [half_an_upload(), half_a_chunk()])
def test_a_stalled_upload_is_closed_after_its_idle_time(
    service: Service, data: bytes
) -> None:
    with connect(service.port) as sock:
        sock.sendall(data)
        assert BODY_IDLE - 0.2 < seconds_until_closed(sock) < BODY_IDLE + 3


@pytest.mark.req("C-TIME-10")
def test_a_slow_upload_of_50_mib_that_makes_progress_is_not_cut(
    service: Service,
) -> None:
    message = json.dumps(user("Reply with exactly: pong")).encode()
    start = b'{"messages": [' + message + b'], "pad": "'
    body = start + b"x" * (SIZE - len(start) - 2) + b'"}'
    assert len(body) == SIZE
    data = request("POST", CHAT, token=TOKEN, body=body)
    piece = len(data) // 8 + 1
    began = time.monotonic()
    with connect(service.port) as sock:
        for at in range(0, len(data), piece):
            sock.sendall(data[at : at + piece])
            time.sleep(BODY_IDLE / 3)
        assert time.monotonic() - began > 2 * BODY_IDLE
        response = read_response(sock)
    assert response.status == 200
    assert json.loads(response.body)["choices"][0]["message"]["content"] == "pong"


@pytest.mark.req("C-TIME-11")
def test_stalled_uploads_block_nobody(service: Service) -> None:
    with ExitStack() as stack:
        stalled = [stack.enter_context(connect(service.port)) for _ in range(12)]
        for sock in stalled:
            sock.sendall(half_an_upload())
        models = service.models()
        assert models.status_code == 200
        assert models.elapsed.total_seconds() < BODY_IDLE
        assert service.chat("Reply with exactly: pong") == "pong"


@pytest.mark.req("C-TIME-11")
def test_heads_that_never_end_block_nobody(service: Service) -> None:
    with ExitStack() as stack:
        for _ in range(200):
            sock = stack.enter_context(connect(service.port))
            sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n")
        assert service.models().status_code == 200
        assert service.chat("Reply with exactly: pong") == "pong"


@pytest.mark.req("C-TIME-12")
@pytest.mark.parametrize(
    "data",
    [b"", b"GET /v1/mod", b"GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthoriz"],
)
def test_a_stalled_head_is_closed_after_its_time(service: Service, data: bytes) -> None:
    with connect(service.port) as sock:
        sock.sendall(data)
        assert HEADER - 0.2 < seconds_until_closed(sock) < HEADER + 3


@pytest.mark.req("C-TIME-12")
def test_a_head_that_dribbles_is_closed_after_its_time_all_the_same(
    service: Service,
) -> None:
    began = time.monotonic()
    with connect(service.port) as sock:
        sock.sendall(b"GET /v1/models HTTP/1.1\r\nX: ")
        with pytest.raises(OSError, match=r"reset|Broken pipe"):
            while time.monotonic() - began < 10:
                sock.send(b"x")
                time.sleep(0.05)
    assert time.monotonic() - began < HEADER + 3
