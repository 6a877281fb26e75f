"""Nothing is ever read behind a request: no leftover becomes the next one."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.documents import document
from tests.support.raw_http import (
    RawResponse,
    chunked,
    connect,
    exchange,
    parse,
    read_to_end,
    request,
)
from tests.support.service import (
    TOKEN,
    Service,
    binding,
    free_port,
    prepared,
    running,
    stub,
    user,
    wait_until,
)

CHAT = "/v1/chat/completions"
CAP = 52_428_800
FOLLOW_UP = request("GET", "/v1/models", token=TOKEN)
SMUGGLED = FOLLOW_UP * 20
"""A body that spells requests, and as such is unread when the answer comes."""

TURN = request(
    "POST", CHAT, token=TOKEN, body=json.dumps({"messages": [user("hi")]}).encode()
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("reuse")
    engine = stub(root, ["obey"])
    with running(root, engine, chat={"max_body_bytes": CAP}) as service:
        yield service


def answered(service: Service) -> int:
    """Return how many requests the daemon has answered, by its log."""
    return service.log.count(" request answered ")


def probe(service: Service, data: bytes, listed: int = 200) -> RawResponse:
    """Send a request with more behind it; one answer and the end must come.

    A request that is read after all would be answered, or stand in the log.
    """
    before = answered(service)
    with connect(service.port) as sock:
        sock.sendall(data)
        # Behind the request, and again when its answer is on the way.
        sock.sendall(FOLLOW_UP)
        beginning = sock.recv(1)
        with contextlib.suppress(OSError):
            sock.sendall(FOLLOW_UP)
        response = parse(beginning + read_to_end(sock))
    assert response.rest == b""
    assert response.values("Connection") == ["close"]
    wait_until(lambda: answered(service) > before)
    follow_up = exchange(service.port, FOLLOW_UP)
    assert follow_up.status == listed
    wait_until(lambda: answered(service) > before + 1)
    assert answered(service) == before + 2
    return response


def post(*headers: tuple[str, str], token: str = TOKEN, path: str = CHAT) -> bytes:
    return request("POST", path, token=token, headers=headers, body=SMUGGLED)


@pytest.mark.req("C-CONN-01", "C-CONN-16")
def test_after_a_401_no_further_request_is_read(service: Service) -> None:
    assert probe(service, post(token="wrong")).status == 401


@pytest.mark.req("C-CONN-02", "C-CONN-16")
def test_after_a_404_no_further_request_is_read(service: Service) -> None:
    assert probe(service, post(path="/nope")).status == 404


@pytest.mark.req("C-CONN-03", "C-CONN-16")
@pytest.mark.parametrize("method", ["PUT", "GET", "DELETE", "OPTIONS"])
def test_after_a_405_no_further_request_is_read(service: Service, method: str) -> None:
    data = request(method, CHAT, token=TOKEN, body=SMUGGLED)
    assert probe(service, data).status == 405


@pytest.mark.req("C-CONN-04", "C-CONN-16")
def test_after_a_413_no_further_request_is_read(service: Service) -> None:
    assert probe(service, post(("Content-Length", str(CAP + 1)))).status == 413


@pytest.mark.req("C-CONN-05", "C-CONN-16")
@pytest.mark.parametrize(
    "headers",
    [
        [("Content-Length", "abc")],
        [("Content-Length", "10"), ("Transfer-Encoding", "chunked")],
        [("Transfer-Encoding", "gzip")],
        [("Content-Length", "10"), ("Bad Name", "x")],
        [("Content-Length", "10"), ("Host", "another")],
    ],
)
def test_after_an_early_400_no_further_request_is_read(
    service: Service, headers: list[tuple[str, str]]
) -> None:
    assert probe(service, post(*headers)).status == 400


@pytest.mark.req("C-CONN-05", "C-CONN-16")
def test_after_a_request_line_that_is_none_no_further_request_is_read(
    service: Service,
) -> None:
    assert probe(service, b"GARBAGE\r\n\r\n").status == 400


@pytest.mark.req("C-CONN-06", "C-CONN-16")
def test_after_a_429_no_further_request_is_read(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["wait_for", str(tmp_path / "release")])
    with (
        running(
            tmp_path, engine, chat={"queue_depth": 0}, settings={"concurrency": 1}
        ) as service,
        connect(service.port) as held,
    ):
        held.sendall(TURN)
        wait_until(lambda: engine.records)
        assert probe(service, post()).status == 429


@pytest.mark.req("C-CONN-06", "C-CONN-16")
def test_after_a_503_no_further_request_is_read(tmp_path: Path) -> None:
    config = document({"agent": binding(stub(tmp_path, ["obey"]))}, free_port())
    config["scopes"][0]["enabled"] = False
    service = prepared(tmp_path, config)
    service.start()
    try:
        # Switched off, the list of models is refused too.
        assert probe(service, post(), listed=503).status == 503
    finally:
        service.stop()


@pytest.mark.req("C-CONN-07", "C-CONN-16")
@pytest.mark.parametrize(
    ("token", "path", "status"),
    [("wrong", CHAT, 401), (TOKEN, "/nope", 404), (TOKEN, "/v1/models", 405)],
)
def test_after_a_refused_chunked_request_no_further_request_is_read(
    service: Service, token: str, path: str, status: int
) -> None:
    data = request(
        "POST",
        path,
        token=token,
        headers=[("Transfer-Encoding", "chunked")],
        body=chunked(SMUGGLED),
    )
    assert probe(service, data).status == status


@pytest.mark.req("C-CONN-09")
@pytest.mark.parametrize(
    ("data", "status"),
    [
        (FOLLOW_UP, 200),
        (TURN, 200),
        (request("GET", "/v1/models", token=TOKEN, version="HTTP/1.0"), 200),
        (
            request(
                "GET", "/v1/models", token=TOKEN, headers=[("Connection", "keep-alive")]
            ),
            200,
        ),
        (request("GET", "/v1/models"), 401),
        (request("GET", "/nope", token=TOKEN), 404),
        (request("GET", CHAT, token=TOKEN), 405),
        (request("POST", CHAT, token=TOKEN, body=b"{"), 400),
    ],
)
def test_a_second_pipelined_request_gets_no_answer(
    service: Service, data: bytes, status: int
) -> None:
    assert probe(service, data).status == status


BODY = json.dumps({"messages": [user("hi")]}).encode()
SIZE = str(len(BODY))
CHUNKS = chunked(BODY)


@pytest.mark.req("C-CONN-14", "C-CONN-16")
@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (
            [("Content-Length", str(len(CHUNKS))), ("Transfer-Encoding", "chunked")],
            CHUNKS,
        ),
        ([("Transfer-Encoding", "chunked"), ("Content-Length", "0")], CHUNKS),
        ([("Content-Length", SIZE), ("Content-Length", str(len(BODY) + 1))], BODY),
        ([("Content-Length", str(len(BODY) - 1)), ("Content-Length", SIZE)], BODY),
        ([("Content-Length", f"{SIZE}, {len(BODY) + 1}")], BODY),
        ([("Content-Length", f"-{SIZE}")], BODY),
    ],
)
def test_a_body_without_one_certain_length_is_400_and_the_end(
    service: Service, headers: list[tuple[str, str]], body: bytes
) -> None:
    """Each is a good turn to a server that takes one of the two lengths for true."""
    data = request("POST", CHAT, token=TOKEN, headers=headers, body=body)
    assert probe(service, data).status == 400


@pytest.mark.parametrize(
    ("headers", "body"),
    [([("Transfer-Encoding", "chunked")], CHUNKS), ([("Content-Length", SIZE)], BODY)],
)
def test_the_same_bodies_with_one_length_are_turns(
    service: Service, headers: list[tuple[str, str]], body: bytes
) -> None:
    data = request("POST", CHAT, token=TOKEN, headers=headers, body=body)
    assert probe(service, data).status == 200
