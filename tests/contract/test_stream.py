"""The stream flag: never obeyed, never a reason to refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.answers import answer_of, assert_error, assert_json
from tests.support.raw_http import RawResponse, exchange, request
from tests.support.service import TOKEN, Service, binding, image, running, stub, user

req = pytest.mark.req

GOOD = user("Reply with exactly: pong")
SSE = {"Accept": "text/event-stream"}
BOTH = {"Accept": "text/event-stream, application/json"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("stream")
    engine = stub(root, ["obey"])
    broken = stub(root, ["exit", 3], name="broken")
    bindings = {
        "agent": binding(engine, name="agent"),
        "second": binding(engine, name="second", prompt="stdin"),
        "broken": binding(broken, name="broken"),
    }
    with running(root, bindings=bindings) as running_service:
        yield running_service


def without_id(response: Any) -> Any:
    body = assert_json(response)
    del body["id"]
    return body


@req("C-STREAM-01")
@pytest.mark.parametrize("accept", ["application/json", *SSE.values(), *BOTH.values()])
def test_a_stream_is_answered_with_the_ordinary_body(
    service: Service, accept: str
) -> None:
    headers = {"Accept": accept}
    body = {"messages": [GOOD]}
    streamed = service.post(body | {"stream": True}, headers=headers)
    ordinary = service.post(body | {"stream": False})
    assert answer_of(streamed) == "pong"
    assert without_id(streamed) == without_id(ordinary)


def raw_turn(service: Service, body: bytes, *headers: tuple[str, str]) -> RawResponse:
    data = request(
        "POST", "/v1/chat/completions", token=TOKEN, headers=headers, body=body
    )
    return exchange(service.port, data)


@req("C-STREAM-02")
@pytest.mark.parametrize("options", [b"", b',"stream_options":{"include_usage":true}'])
def test_no_events_are_ever_sent(service: Service, options: bytes) -> None:
    message = b'{"role":"user","content":"Reply with exactly: data: x"}'
    body = b'{"stream":true,"messages":[%b]%b}' % (message, options)
    response = raw_turn(service, body, *SSE.items())
    assert response.status == 200
    assert response.values("Content-Type") == ["application/json"]
    assert response.rest == b""
    lines = response.body.split(b"\n")
    assert not [line for line in lines if line.startswith((b"data:", b"event:"))]
    assert len(lines) == 1


@req("C-STREAM-03")
def test_no_model_refuses_the_flag(service: Service) -> None:
    for entry in service.models().json()["data"]:
        if entry["id"] != "broken":
            response = service.turn(GOOD, stream=True, model=entry["id"])
            assert answer_of(response) == "pong"
    assert answer_of(service.turn(GOOD, stream=True)) == "pong"


@req("C-STREAM-04")
@pytest.mark.parametrize("headers", [{}, SSE, BOTH])
def test_errors_are_the_same_under_the_flag(
    service: Service, headers: dict[str, str]
) -> None:
    def refused(status: int, code: str | None, **body: Any) -> None:
        streamed = service.post(body | {"stream": True}, headers=headers)
        assert_error(streamed, status, code)
        assert streamed.content == service.post(body).content

    refused(400, None, messages=[])
    refused(400, "model_not_found", messages=[GOOD], model="nope")
    refused(400, "image_unsupported", messages=[user([image()])])
    refused(502, "upstream_failure", messages=[GOOD], model="broken")
    wrong = {"Authorization": "Bearer wrong"} | headers
    assert_error(service.post({"messages": [GOOD], "stream": True}, headers=wrong), 401)


@req("C-STREAM-07")
@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/1.0"])
@pytest.mark.parametrize("flag", [b"true", b"false"])
def test_the_answer_declares_its_length(
    service: Service, version: str, flag: bytes
) -> None:
    content = "Reply with exactly: h\u00e9llo \N{GRINNING FACE}".encode()
    body = b'{"stream":%b,"messages":[{"role":"user","content":"%b"}]}'
    data = request(
        "POST",
        "/v1/chat/completions",
        token=TOKEN,
        body=body % (flag, content),
        version=version,
    )
    response = exchange(service.port, data)
    assert response.status == 200
    assert response.values("Transfer-Encoding") == []
    assert response.values("Content-Length") == [str(len(response.body))]
    assert response.rest == b""
