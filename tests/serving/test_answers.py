"""What an application answers arrives whole, or visibly broken, or as a 500."""

from __future__ import annotations

import json

import pytest

from conduck_service.base.logs import LineFormatter
from conduck_service.base.redaction import Redactor
from tests.serving.app import TOKEN
from tests.support.raw_http import connect, exchange, read_to_end, request


def ask(
    port: int, path: str, *, method: str = "GET", version: str = "HTTP/1.1"
) -> bytes:
    """Return everything that comes back."""
    with connect(port) as sock:
        sock.sendall(request(method, path, token=TOKEN, version=version))
        return read_to_end(sock)


def test_head_and_204_have_no_body(port: int) -> None:
    head = exchange(port, request("HEAD", "/ok", token=TOKEN))
    assert (head.status, head.body, head.values("Content-Length")) == (200, b"", ["4"])
    none = exchange(port, request("GET", "/none", token=TOKEN))
    assert (none.status, none.body, none.values("Content-Length")) == (204, b"", [])
    refused = exchange(port, request("HEAD", "/ok"))
    assert (refused.status, refused.body) == (401, b"")


def test_a_body_of_unknown_length_is_sent_in_chunks_or_until_the_end(
    port: int,
) -> None:
    new = exchange(port, request("GET", "/stream", token=TOKEN))
    old = exchange(port, request("GET", "/stream", token=TOKEN, version="HTTP/1.0"))
    assert new.body == old.body == b"one two three"
    assert new.values("Transfer-Encoding") == ["chunked"]
    assert old.values("Transfer-Encoding") == []


@pytest.mark.parametrize(
    "path",
    [
        "/fail?canary",
        "/exit",
        "/early",
        "/long",
        "/silent",
        "/inject",
        "/inject-name",
        "/inject-status",
    ],
)
def test_an_application_that_fails_is_a_500_in_the_servers_words(
    port: int, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    response = exchange(port, request("GET", path, token=TOKEN))
    assert response.status == 500
    assert json.loads(response.body)["error"] == "internal"
    assert response.values("X-Forged") == []
    assert response.rest == b""
    assert exchange(port, request("GET", "/ok", token=TOKEN)).status == 200
    formatter = LineFormatter(Redactor())
    text = "".join(formatter.format(record) for record in caplog.records)
    assert " defect " in text
    assert "gateway.py" in text
    assert "canary" not in text


@pytest.mark.parametrize("path", ["/late", "/short"])
def test_an_answer_that_breaks_off_is_seen_to_be_broken(port: int, path: str) -> None:
    head, _, body = ask(port, path).partition(b"\r\n\r\n")
    length = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
    assert len(body) < length
    assert b"HTTP/1.1" not in body


def test_nothing_tells_which_server_this_is_in_detail(port: int) -> None:
    for path in ("/ok", "/nope", "/fail"):
        assert b"cheroot" not in ask(port, path).lower()
