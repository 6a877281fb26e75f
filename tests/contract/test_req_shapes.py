"""Bodies that are no chat request: 400, no engine, and a service that goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.answers import answer_of, assert_error
from tests.support.service import (
    Service,
    Stub,
    assistant,
    image,
    running,
    stub,
    text,
    user,
)

req = pytest.mark.req
case = pytest.param

GOOD = user("hello")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Stub:
    return stub(tmp_path_factory.mktemp("shapes"), ["obey"])


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, engine: Stub) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("shapes-service")
    # The engine takes images, so that a refused image is refused for its shape.
    with running(root, engine, images={"mode": "file"}) as service:
        yield service


@pytest.fixture
def service(daemon: Service, engine: Stub) -> Service:
    engine.clear()
    return daemon


def refused(service: Service, engine: Stub, body: Any) -> str:
    """Send a malformed body; return the message of its refusal."""
    message = assert_error(service.post(body), 400)
    assert engine.records == []
    return message


@pytest.mark.parametrize(
    "body",
    [
        case(b'{"messages": [', marks=req("C-REQ-02")),
        case(b'{"messages": [}', marks=req("C-REQ-02")),
        case(b"messages=hello", marks=req("C-REQ-02")),
        case(b"{'messages': []}", marks=req("C-REQ-02")),
        case(b'{"messages":[{"role":"user","content":"x"}]} x', marks=req("C-REQ-02")),
        case(b'{"messages":[{"role":"user","content":"x"}],}', marks=req("C-REQ-02")),
        case(
            b'{"x":NaN,"messages":[{"role":"user","content":"x"}]}',
            marks=req("C-REQ-02"),
        ),
        case(b'{"messages":[{"role":"user","content":"\n"}]}', marks=req("C-REQ-02")),
        case({"messages": []}, marks=req("C-REQ-03")),
        case({}, marks=req("C-REQ-04")),
        case({"model": "agent", "stream": False}, marks=req("C-REQ-04")),
        case({"Messages": [GOOD]}, marks=req("C-REQ-04")),
        case({"messages": "hi"}, marks=req("C-REQ-05")),
        case({"messages": {"0": GOOD}}, marks=req("C-REQ-05")),
        case({"messages": None}, marks=req("C-REQ-05")),
        case({"messages": 1}, marks=req("C-REQ-05")),
        case([], marks=req("C-REQ-06")),
        case([GOOD], marks=req("C-REQ-06")),
        case("x", marks=req("C-REQ-06")),
        case(1, marks=req("C-REQ-06")),
        case(None, marks=req("C-REQ-06")),
        case(True, marks=req("C-REQ-06")),
        case({"messages": [assistant("x")]}, marks=req("C-REQ-07")),
        case({"messages": [GOOD, assistant("x")]}, marks=req("C-REQ-07")),
    ],
)
def test_a_body_that_is_no_request_is_400(
    service: Service, engine: Stub, body: Any
) -> None:
    refused(service, engine, body)


@pytest.mark.parametrize(
    "message",
    [
        *[
            case({"role": role, "content": "x"}, marks=req("C-REQ-08"))
            for role in ("system", "tool", "developer", "function", "User", "", "user ")
        ],
        case(1, marks=req("C-REQ-09")),
        case("hello", marks=req("C-REQ-09")),
        case(None, marks=req("C-REQ-09")),
        case([GOOD], marks=req("C-REQ-09")),
        case({"content": "x"}, marks=req("C-REQ-10")),
        case({"role": 1, "content": "x"}, marks=req("C-REQ-11")),
        case({"role": None, "content": "x"}, marks=req("C-REQ-11")),
        case({"role": ["user"], "content": "x"}, marks=req("C-REQ-11")),
        case({"role": True, "content": "x"}, marks=req("C-REQ-11")),
        case({"role": "user"}, marks=req("C-REQ-12")),
        case({"role": "user", "content": None}, marks=req("C-REQ-13")),
        case({"role": "user", "content": 5}, marks=req("C-REQ-14")),
        case({"role": "user", "content": 0.5}, marks=req("C-REQ-14")),
        case({"role": "user", "content": True}, marks=req("C-REQ-14")),
        case({"role": "user", "content": False}, marks=req("C-REQ-14")),
        case({"role": "user", "content": {}}, marks=req("C-REQ-15")),
        case({"role": "user", "content": text("x")}, marks=req("C-REQ-15")),
    ],
)
@pytest.mark.parametrize("is_newest", [True, False])
def test_a_message_that_is_none_is_400(
    service: Service, engine: Stub, message: Any, is_newest: bool
) -> None:
    messages = [GOOD, message] if is_newest else [message, GOOD]
    place = f"messages/{int(is_newest)}"
    assert place in refused(service, engine, {"messages": messages})


IMAGE_URL = {"type": "image_url"}


@pytest.mark.parametrize(
    "part",
    [
        case({"type": "text"}, marks=req("C-REQ-16")),
        case({"type": "text", "text": 5}, marks=req("C-REQ-16")),
        case({"type": "text", "text": None}, marks=req("C-REQ-16")),
        case({"type": "text", "text": ["x"]}, marks=req("C-REQ-16")),
        case({"type": "text", "content": "x"}, marks=req("C-REQ-16")),
        case(IMAGE_URL, marks=req("C-REQ-17")),
        case(IMAGE_URL | {"image_url": "x"}, marks=req("C-REQ-17")),
        case(
            IMAGE_URL | {"image_url": image()["image_url"]["url"]},
            marks=req("C-REQ-17"),
        ),
        case(IMAGE_URL | {"image_url": {"url": 5}}, marks=req("C-REQ-17")),
        case(IMAGE_URL | {"image_url": {"url": None}}, marks=req("C-REQ-17")),
        case(IMAGE_URL | {"image_url": {}}, marks=req("C-REQ-17")),
        case(IMAGE_URL | {"image_url": None}, marks=req("C-REQ-17")),
        case(IMAGE_URL | {"url": image()["image_url"]["url"]}, marks=req("C-REQ-17")),
        "hello",
        None,
        ["text"],
    ],
)
def test_a_part_that_is_none_is_400(service: Service, engine: Stub, part: Any) -> None:
    message = refused(service, engine, {"messages": [user([text("a"), part])]})
    assert "messages/0/content/1" in message


@req("C-REQ-24")
@pytest.mark.parametrize(
    "data", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf", "é".encode("utf-16")]
)
def test_a_body_that_is_not_utf8_is_400(
    service: Service, engine: Stub, data: bytes
) -> None:
    body = b'{"messages":[{"role":"user","content":"a' + data + b'b"}]}'
    refused(service, engine, body)


@req("C-REQ-24")
def test_a_body_in_another_encoding_is_400(service: Service, engine: Stub) -> None:
    whole = json.dumps({"messages": [GOOD]})
    for encoding in ("utf-16", "utf-16-le", "utf-32", "utf-8-sig"):
        refused(service, engine, whole.encode(encoding))


@req("C-REQ-25")
@pytest.mark.parametrize(
    "escape", [rb"\ud800", rb"\udc00", rb"\ud83d", rb"\ude00\ud83d"]
)
@pytest.mark.parametrize(
    "content", [b'"a%b"', b'[{"type":"text","text":"a%b"}]'], ids=["string", "parts"]
)
@pytest.mark.parametrize("is_newest", [True, False])
def test_half_a_surrogate_pair_is_400(
    service: Service, engine: Stub, escape: bytes, content: bytes, is_newest: bool
) -> None:
    half = b'{"role":"user","content":%b}' % content.replace(b"%b", escape)
    good = json.dumps(GOOD).encode()
    messages = b",".join([good, half] if is_newest else [half, good])
    refused(service, engine, b'{"messages":[%b]}' % messages)


@req("C-REQ-25")
def test_a_whole_surrogate_pair_is_one_character(
    service: Service, engine: Stub
) -> None:
    body = rb'{"messages":[{"role":"user","content":"\ud83d\ude00"}]}'
    assert service.post(body).status_code == 200
    assert engine.only["stdin"] == "\N{GRINNING FACE}"


@req("C-REQ-26")
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"messages":' + b"[" * 100_000,
        b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b',"messages":[]}',
    ],
    ids=["arrays", "objects", "messages", "ignored"],
)
def test_nesting_without_end_is_400(
    service: Service, engine: Stub, body: bytes
) -> None:
    refused(service, engine, body)
    assert answer_of(service.turn(GOOD)) == "ok"


@req("C-REQ-27")
@pytest.mark.parametrize(
    "body",
    [
        '{"messages":[GOOD],"messages":[GOOD]}',
        '{"messages":[GOOD],"model":"a","model":"a"}',
        '{"messages":[GOOD],"x":{"y":1,"y":2}}',
        '{"messages":[GOOD],"message\\u0073":[GOOD]}',
        '{"messages":[{"role":"user","role":"user","content":"x"}]}',
        '{"messages":[{"role":"user","content":"x","content":"y"}]}',
        '{"messages":[{"role":"user","content":[{"type":"text","text":"a","text":"b"}]}]}',
        '{"messages":[{"role":"user","content":[{"type":"image_url","image_url":'
        '{"url":"data:image/png;base64,AAAA","url":"data:image/png;base64,AAAA"}}]}]}',
    ],
)
def test_the_same_key_twice_is_400(service: Service, engine: Stub, body: str) -> None:
    data = body.replace("GOOD", json.dumps(GOOD)).encode()
    assert "twice" in refused(service, engine, data)


@req("C-REQ-28")
def test_only_an_earlier_message_may_have_no_parts(
    service: Service, engine: Stub
) -> None:
    refused(service, engine, {"messages": [user([])]})
    refused(service, engine, {"messages": [GOOD, user([])]})
    assert answer_of(service.turn(user("one"), assistant([]), GOOD)) == "ok"
    prompt = engine.only["stdin"]
    assert "User:\none\n\nAssistant:\n\n\n" in prompt
    assert prompt.endswith("hello")


@req("C-REQ-31")
def test_an_empty_body_is_400(service: Service, engine: Stub) -> None:
    response = service.post(b"")
    assert response.request.headers["Content-Length"] == "0"
    assert_error(response, 400)
    assert engine.records == []
    refused(service, engine, b"  \r\n")
