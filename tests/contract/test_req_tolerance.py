"""Requests that are a little unusual and still have to work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.answers import answer_of, assert_error, assert_json, strict
from tests.support.raw_http import exchange, request
from tests.support.service import (
    PIXEL,
    TOKEN,
    Service,
    Stub,
    assistant,
    binding,
    image,
    running,
    stub,
    text,
    user,
)

req = pytest.mark.req

GOOD = user("hello")
ODD: tuple[Any, ...] = (None, True, 0, -1.5, "x", [], [[1]], {}, {"a": {"b": None}})


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Stub]:
    root = tmp_path_factory.mktemp("tolerance")
    return {
        "plain": stub(root, ["obey"], name="plain"),
        "seeing": stub(root, ["obey"], name="seeing"),
    }


@pytest.fixture(scope="module")
def daemon(
    tmp_path_factory: pytest.TempPathFactory, engines: dict[str, Stub]
) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("tolerance-service")
    images = {"mode": "argument", "flag": "--image"}
    bindings = {
        "agent": binding(engines["plain"], name="plain"),
        "seeing": binding(engines["seeing"], name="seeing", images=images),
    }
    with running(root, bindings=bindings) as service:
        yield service


@pytest.fixture
def service(daemon: Service, engines: dict[str, Stub]) -> Service:
    for engine in engines.values():
        engine.clear()
    return daemon


@req("C-REQ-01")
def test_the_canonical_request_is_answered(
    service: Service, engines: dict[str, Stub]
) -> None:
    messages = [user("one"), assistant("two"), user("three")]
    response = service.turn(*messages, stream=False, model="agent")
    assert answer_of(response) == "ok"
    prompt = engines["plain"].only["stdin"]
    assert prompt.index("one") < prompt.index("two") < prompt.index("three")


@req("C-REQ-18")
def test_unknown_keys_of_the_body_are_ignored(
    service: Service, engines: dict[str, Stub]
) -> None:
    known = {"temperature": 0.5, "tools": [{"type": "function"}], "user": "u"}
    assert answer_of(service.turn(GOOD, **known, metadata={"a": 1})) == "ok"
    for value in ODD:
        assert answer_of(service.turn(GOOD, x_extra=value)) == "ok"
    runs = engines["plain"].records
    assert [run["stdin"] for run in runs] == ["hello"] * (len(ODD) + 1)


@req("C-REQ-19")
def test_unknown_keys_of_a_message_are_ignored(
    service: Service, engines: dict[str, Stub]
) -> None:
    extra = {"name": "bob", "x_extra": list(ODD), "tool_calls": None, "url": "data:x"}
    messages = [user("one") | extra, assistant("two") | extra, GOOD | extra]
    assert answer_of(service.turn(*messages)) == "ok"
    assert answer_of(service.turn(*(user("one"), assistant("two"), GOOD))) == "ok"
    with_extra, without = engines["plain"].records
    assert with_extra["stdin"] == without["stdin"]


@req("C-REQ-20")
def test_unknown_keys_of_a_part_are_ignored(
    service: Service, engines: dict[str, Stub]
) -> None:
    extra = {"cache_control": {"type": "ephemeral"}, "x": list(ODD), "url": "data:y"}
    parts = [text("a") | extra, text("b") | extra | {"image_url": {"url": "z"}}]
    assert answer_of(service.turn(user(parts))) == "ok"
    assert engines["plain"].only["stdin"] == "a\nb"


@req("C-REQ-21")
def test_unknown_keys_of_an_image_are_ignored(
    service: Service, engines: dict[str, Stub]
) -> None:
    url = f"data:image/png;base64,{PIXEL}"
    picture = {"detail": "high", "x": list(ODD), "url": url, "data": "data:z"}
    part = {"type": "image_url", "image_url": picture, "text": "not a text part"}
    assert answer_of(service.turn(user([part]), model="seeing")) == "ok"
    assert answer_of(service.turn(user([image()]), model="seeing")) == "ok"
    odd, plain = engines["seeing"].records
    assert odd["stdin"] == plain["stdin"] == ""
    assert [file["sha256"] for file in odd["files"]] == [
        file["sha256"] for file in plain["files"]
    ]


@req("C-REQ-22")
@pytest.mark.parametrize(
    "accept", ["text/event-stream", "text/plain", "image/png", "application/xml", ""]
)
def test_accept_is_never_looked_at(service: Service, accept: str) -> None:
    headers = {"Accept": accept}
    turn = service.post({"messages": [GOOD]}, headers=headers)
    assert answer_of(turn) == "ok"
    listed = service.models(headers=service.headers | headers)
    assert listed.status_code == 200
    assert_json(listed)
    assert_error(service.post({"messages": []}, headers=headers), 400)


@req("C-REQ-23")
@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/json; charset=latin-1",
        "",
    ],
)
def test_the_content_type_is_not_policed(
    service: Service, engines: dict[str, Stub], content_type: str | None
) -> None:
    body = '{"messages":[{"role":"user","content":"h\u00e9"}]}'.encode()
    headers = [] if content_type is None else [("Content-Type", content_type)]
    data = request(
        "POST", "/v1/chat/completions", token=TOKEN, headers=headers, body=body
    )
    response = exchange(service.port, data)
    assert response.status == 200
    assert strict(response.body)["choices"][0]["message"]["content"] == "ok"
    assert engines["plain"].only["stdin"] == "h\u00e9"


@req("C-REQ-29")
def test_model_is_a_string_or_null(service: Service, engines: dict[str, Stub]) -> None:
    assert answer_of(service.turn(GOOD, model=None)) == "ok"
    assert len(engines["plain"].records) == 1
    for wrong in (5, 0, True, False, ["agent"], {"id": "agent"}):
        assert_error(service.turn(GOOD, model=wrong), 400)
    assert len(engines["plain"].records) == 1
    assert engines["seeing"].records == []


@req("C-REQ-30")
@pytest.mark.parametrize("value", ["yes", None, 1, [], {"a": True}])
def test_the_value_of_stream_is_never_looked_at(service: Service, value: Any) -> None:
    assert answer_of(service.turn(GOOD, stream=value)) == "ok"


@req("C-REQ-32")
@pytest.mark.parametrize("number", ["1e999", "-1e999", "1E400"])
def test_a_number_beyond_all_bounds_breaks_nothing(
    service: Service, number: str
) -> None:
    body = """{"x": NUMBER, "usage": {"total_tokens": NUMBER}, "messages":
        [{"role": "user", "content": "hello", "y": [NUMBER]}]}"""
    response = service.post(body.replace("NUMBER", number).encode())
    assert answer_of(response) == "ok"
    assert "inf" not in response.text.lower()
