"""A kept connection serves request after request, and ends after any doubt."""

from __future__ import annotations

import json
import logging

import pytest

from conduck_service.serving.server import Server
from tests.serving.app import TOKEN, App
from tests.serving.conftest import Serve
from tests.serving.kept import read_one
from tests.support.raw_http import (
    chunked,
    connect,
    parse,
    read_response,
    read_to_end,
    request,
)
from tests.support.service import wait_until

OK = request("GET", "/ok", token=TOKEN)
NOPE = request("GET", "/nope", token=TOKEN)
CHUNKED = [("Transfer-Encoding", "chunked")]
KIB = 1024
LOGGER = "conduck_service.serving.access"


@pytest.fixture
def keeping(serve: Serve) -> Server:
    return serve(keep_seconds=60)


def post(body: bytes, path: str = "/body", **fields: str) -> bytes:
    headers = [(name.replace("_", "-"), value) for name, value in fields.items()]
    return request("POST", path, token=TOKEN, headers=headers, body=body)


def test_one_connection_serves_many_requests(keeping: Server) -> None:
    with connect(keeping.port) as sock:
        for data, status in ((OK, 200), (NOPE, 404), (post(b"xyz"), 200), (OK, 200)):
            sock.sendall(data)
            response = read_one(sock)
            assert response.status == status
            assert response.values("Connection") == []
            assert response.values("Keep-Alive") == []


def test_a_connection_that_rests_costs_no_worker(serve: Serve) -> None:
    server = serve(keep_seconds=60, workers=1)
    peers = [connect(server.port) for _ in range(4)]
    for _ in range(3):
        for peer in peers:
            peer.sendall(OK)
            assert read_one(peer).status == 200
        wait_until(lambda: not server._exchanges)
    for peer in peers:
        peer.close()


KEPT = {
    "plain": OK,
    "asked for": request("GET", "/ok", token=TOKEN, headers=[("Connection", "x")]),
    "HEAD": request("HEAD", "/ok", token=TOKEN),
    "no body": request("GET", "/none", token=TOKEN),
    "in chunks": request("GET", "/stream", token=TOKEN),
    "not by the application": request("GET", "/keep", token=TOKEN),
    "one of unknown length": request("GET", "/unmeasured", token=TOKEN),
    "nothing of unknown length": request("GET", "/nothing", token=TOKEN),
    "body": post(b"x" * 100 * KIB),
    "empty body": post(b""),
    "chunked body": request("POST", "/body", token=TOKEN, headers=CHUNKED)
    + chunked(b"abc", b"def"),
    "small unread body": post(OK, path="/ok"),
    "unread body of 64 KiB": post(b"x" * 64 * KIB, path="/nope"),
}


@pytest.mark.parametrize("kind", KEPT)
def test_a_whole_exchange_leaves_the_connection_open(
    keeping: Server, kind: str
) -> None:
    with connect(keeping.port) as sock:
        sock.sendall(KEPT[kind])
        first = read_one(sock, is_head=kind == "HEAD")
        assert first.values("Connection") == []
        sock.sendall(NOPE)
        assert read_one(sock).status == 404


@pytest.mark.parametrize("path", ["/unmeasured", "/nothing"])
def test_a_body_of_one_piece_is_measured(keeping: Server, path: str) -> None:
    with connect(keeping.port) as sock:
        sock.sendall(request("GET", path, token=TOKEN))
        response = read_one(sock)
    assert response.values("Content-Length") == [str(len(response.body))]
    assert response.values("Transfer-Encoding") == []


def with_connection(value: str) -> bytes:
    return request("GET", "/ok", token=TOKEN, headers=[("Connection", value)])


ENDED = {
    "close": (with_connection("close"), 200),
    "close in capitals": (with_connection("CLOSE"), 200),
    "close in a list": (with_connection("keep-alive , Close,x"), 200),
    "close in a second header": (
        with_connection("x").replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"),
        200,
    ),
    "HTTP/1.0": (request("GET", "/ok", token=TOKEN, version="HTTP/1.0"), 200),
    "HTTP/1.0 that wants more": (
        request(
            "GET",
            "/ok",
            token=TOKEN,
            version="HTTP/1.0",
            headers=[("Connection", "keep-alive")],
        ),
        200,
    ),
    "CONNECT": (request("CONNECT", "/x", token=TOKEN), 404),
    "the application says so": (request("GET", "/closing", token=TOKEN), 200),
    "a defect": (request("GET", "/fail", token=TOKEN), 500),
    "a stranger": (request("GET", "/ok"), 401),
    "a fault": (request("GET", "/ok", token=TOKEN, headers=[("X ", "y")]), 400),
    "no head": (b"GARBAGE\r\n\r\n", 400),
    "a body over the limit": (post(b"xx", path="/body?1"), 413),
    "a large unread body": (post(b"x" * 65 * KIB, path="/nope"), 404),
    "an unread body in chunks": (
        request("POST", "/nope", token=TOKEN, headers=CHUNKED) + chunked(b"abc"),
        404,
    ),
    "a broken body": (
        request("POST", "/body", token=TOKEN, headers=CHUNKED) + b"0x1\r\na\r\n",
        400,
    ),
    "a body that was not asked for": (
        request(
            "POST",
            "/nope",
            token=TOKEN,
            headers=[("Expect", "100-continue"), ("Content-Length", "3")],
        ),
        404,
    ),
}


@pytest.mark.parametrize("why", ENDED)
def test_after_any_doubt_the_connection_ends(keeping: Server, why: str) -> None:
    data, status = ENDED[why]
    with connect(keeping.port) as sock:
        sock.sendall(OK)
        assert read_one(sock).status == 200
        sock.sendall(data + OK)
        response = read_response(sock)
    assert response.status == status
    assert response.values("Connection") == ["close"]
    assert response.rest == b""


def test_an_answer_that_breaks_off_ends_the_connection(keeping: Server) -> None:
    for path in ("/late", "/short"):
        with connect(keeping.port) as sock:
            sock.sendall(request("GET", path, token=TOKEN) + OK)
            assert b"HTTP/1.1" not in read_to_end(sock)[8:]


def test_requests_may_come_before_their_answers(keeping: Server) -> None:
    in_chunks = request("POST", "/body", token=TOKEN, headers=CHUNKED)
    data = [OK, post(b"ab"), in_chunks + chunked(b"x" * 70 * KIB, b"y"), NOPE, OK]
    with connect(keeping.port) as sock:
        sock.sendall(b"".join(data))
        responses = [read_one(sock) for _ in data]
    assert [response.status for response in responses] == [200, 200, 200, 404, 200]
    assert json.loads(responses[1].body)["length"] == 2
    assert json.loads(responses[2].body)["length"] == 70 * KIB + 1


def test_half_a_request_behind_another_waits_for_its_other_half(
    keeping: Server,
) -> None:
    with connect(keeping.port) as sock:
        sock.sendall(OK + NOPE[:30])
        assert read_one(sock).status == 200
        wait_until(lambda: not keeping._exchanges)
        sock.sendall(NOPE[30:])
        assert read_one(sock).status == 404


def test_pipelined_requests_do_not_keep_others_waiting(
    serve: Serve, app: App, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    server = serve(keep_seconds=60, workers=1)
    with connect(server.port) as greedy, connect(server.port) as modest:
        greedy.sendall(request("GET", "/hold", token=TOKEN) + OK * 50)
        wait_until(lambda: app.running == 1)
        modest.sendall(NOPE)
        wait_until(lambda: len(server._exchanges) == 2)
        app.go.set()
        assert read_one(modest).status == 404
        for _ in range(51):
            assert read_one(greedy).status == 200
    statuses = [vars(r)["status"] for r in caplog.records if r.name == LOGGER]
    assert statuses[:3] == [200, 404, 200]


HEADERS = [("Content-Length", "3"), ("Transfer-Encoding", "chunked")]
SMUGGLING = {
    "two framings": request("POST", "/body", token=TOKEN, headers=HEADERS),
    "two lengths": request("POST", "/body", token=TOKEN, headers=[HEADERS[0]] * 2),
    "a list of lengths": post(b"abc", Content_Length="3, 3"),
    "a signed length": post(b"abc", Content_Length="+3"),
    "an unknown coding": post(b"abc", Transfer_Encoding="xchunked"),
    "a hidden coding": post(b"abc", Transfer_Encoding="\x0bchunked"),
    "a blank before the colon": request(
        "POST", "/body", token=TOKEN, headers=[("Content-Length ", "3")]
    ),
    "a folded header": OK[:-2] + b"X: y\r\n Content-Length: 3\r\n\r\n",
    "a bare line feed": OK[:-2] + b"X: y\nContent-Length: 3\r\n\r\n",
    "a lone carriage return": OK[:-2] + b"X: y\rContent-Length: 3\r\n\r\n",
    "a chunk size in another notation": request(
        "POST", "/body", token=TOKEN, headers=CHUNKED
    )
    + b"0x3\r\nabc\r\n0\r\n\r\n",
    "a chunk that is too long": request("POST", "/body", token=TOKEN, headers=CHUNKED)
    + b"3\r\nabcd\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("how", SMUGGLING)
def test_nothing_can_be_smuggled_behind_a_request(keeping: Server, how: str) -> None:
    with connect(keeping.port) as sock:
        sock.sendall(OK)
        assert read_one(sock).status == 200
        sock.sendall(SMUGGLING[how] + b"abc" + NOPE + OK)
        response = parse(read_to_end(sock))
    assert (response.status, response.rest) == (400, b"")


def test_a_body_is_never_read_as_a_request(keeping: Server) -> None:
    with connect(keeping.port) as sock:
        for path in ("/ok", "/body", "/ok", "/spool"):
            sock.sendall(post(NOPE * 3, path=path))
            assert read_one(sock).status == 200
