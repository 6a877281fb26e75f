"""Refusals that come before a body was read, or because of what is in it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.raw_http import connect, exchange, read_response, request
from tests.support.service import (
    TOKEN,
    Service,
    Stub,
    assistant,
    image,
    running,
    stub,
    user,
)

CHAT = "/v1/chat/completions"
HI = user("hi")


@dataclass(frozen=True, slots=True)
class Bench:
    """A daemon and the engine behind it."""

    service: Service
    engine: Stub


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    root = tmp_path_factory.mktemp("early")
    engine = stub(root, ["obey"])
    with running(root, engine, images={"mode": "file"}) as service:
        yield Bench(service, engine)


def messages(*items: Any) -> dict[str, Any]:
    return {"messages": list(items)}


def part(**keys: Any) -> dict[str, Any]:
    return messages(user([keys]))


def image_part(holder: Any) -> dict[str, Any]:
    return part(type="image_url", image_url=holder)


MALFORMED: dict[str, Any] = {
    "nothing": b"",
    "no json": b"hello",
    "cut": b'{"messages": [{"role": "user", "content": "hi"}',
    "more behind it": b'{"messages": [{"role": "user", "content": "hi"}]} x',
    "not utf-8": b'{"messages": [{"role": "user", "content": "\xff"}]}',
    "utf-16": json.dumps(messages(HI)).encode("utf-16"),
    "nan": b'{"messages": [{"role": "user", "content": "hi"}], "x": NaN}',
    "same key twice": b'{"messages": [], "messages": [{"role":"user","content":"x"}]}',
    "deep": b'{"messages": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "array": [HI],
    "string": "hi",
    "null": None,
    "no messages": {},
    "messages null": {"messages": None},
    "messages an object": {"messages": {"0": HI}},
    "messages a string": {"messages": "hi"},
    "messages empty": messages(),
    "message a string": messages("hi"),
    "message null": messages(None),
    "no role": messages({"content": "hi"}),
    "role system": messages({"role": "system", "content": "x"}, HI),
    "role tool": messages({"role": "tool", "content": "x"}, HI),
    "role developer": messages({"role": "developer", "content": "x"}, HI),
    "role in capitals": messages({"role": "User", "content": "hi"}),
    "role a number": messages({"role": 1, "content": "hi"}),
    "role a list": messages({"role": ["user"], "content": "hi"}),
    "last from assistant": messages(HI, assistant("yes")),
    "no content": messages({"role": "user"}),
    "content null": messages(user(None)),
    "content a number": messages(user(7)),
    "content an object": messages(user({"type": "text", "text": "hi"})),
    "content no parts": messages(user([])),
    "part a string": messages(user(["hi"])),
    "part null": messages(user([None])),
    "part without type": part(text="hi"),
    "part type a number": part(type=1, text="hi"),
    "text missing": part(type="text"),
    "text null": part(type="text", text=None),
    "text a number": part(type="text", text=3),
    "half a surrogate": b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
    "image missing": part(type="image_url"),
    "image a string": image_part("data:image/png;base64,AAAA"),
    "image without url": image_part({}),
    "image url null": image_part({"url": None}),
    "image remote": image_part({"url": "https://127.0.0.1:1/x.png"}),
    "image no base64": image_part({"url": "data:image/png;base64,&&&&"}),
    "image of text": image_part({"url": "data:text/plain;base64,AAAA"}),
    "model a number": messages(HI) | {"model": 7},
    "model an object": messages(HI) | {"model": {}},
    "earlier role wrong": messages({"role": "x", "content": "x"}, HI),
    "earlier image remote": messages(
        user([{"type": "image_url", "image_url": {"url": "http://127.0.0.1:1/"}}]), HI
    ),
}


@pytest.mark.req("C-ERR-13")
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_body_is_400_and_reaches_no_engine(bench: Bench, name: str) -> None:
    runs = len(bench.engine.records)
    response = bench.service.post(MALFORMED[name])
    assert response.status_code == 400
    assert response.json()["error"].keys() == {"message", "type"}
    assert len(bench.engine.records) == runs


def test_the_same_requests_without_the_fault_are_answered(bench: Bench) -> None:
    body = messages(assistant("x"), user([image(), {"type": "text", "text": "hi"}]))
    assert bench.service.post(body).status_code == 200


@pytest.mark.req("C-ERR-14")
@pytest.mark.parametrize("token", ["wrong", None])
def test_a_bad_token_is_answered_while_the_body_is_still_to_come(
    bench: Bench, token: str | None
) -> None:
    head = request(
        "POST", CHAT, token=token, headers=[("Content-Length", str(50 * 1024 * 1024))]
    )
    with connect(bench.service.port) as sock:
        began = time.monotonic()
        sock.sendall(head)
        response = read_response(sock)
        assert time.monotonic() - began < 1
    assert response.status == 401


@pytest.mark.req("C-ERR-14")
def test_the_token_is_judged_before_the_cap_the_body_and_the_path(
    bench: Bench,
) -> None:
    for data in (
        request("POST", CHAT, token="no", headers=[("Content-Length", str(1 << 40))]),
        request("POST", CHAT, token="no", body=b"{not json"),
        request("POST", "/nope", token="no", body=b"{}"),
        request("PUT", CHAT, token="no", body=b"{}"),
    ):
        assert exchange(bench.service.port, data).status == 401


@pytest.mark.req("C-ERR-23", "C-CONN-12")
@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/1.0"])
def test_the_models_are_listed_to_a_request_without_length_or_body(
    bench: Bench, version: str
) -> None:
    data = request("GET", "/v1/models", token=TOKEN, version=version)
    assert b"content-length" not in data.lower()
    response = exchange(bench.service.port, data)
    assert response.status == 200  # C-ERR-23, C-CONN-12
    assert json.loads(response.body)["data"][0]["id"] == "agent"
