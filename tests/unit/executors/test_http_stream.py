"""Streams of a chat completion, put together."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conduck_service.executors.http.stream import END, StreamError, assemble


def delta(value: dict[str, Any], **more: Any) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": value, **more}]})


def stream(*events: str, end: str = "\n") -> bytes:
    return "".join(f"data: {event}{end}{end}" for event in events).encode()


def message(data: bytes) -> Any:
    body = assemble(data)
    return body["choices"][0]["message"]


HELLO = (delta({"role": "assistant", "content": ""}), delta({"content": "hello"}))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_they_like(end: str) -> None:
    assert message(stream(*HELLO, "[DONE]", end=end)) == {"content": "hello"}


def test_what_is_no_data_is_passed_over() -> None:
    noise = b": working\n\nevent: message\nid: 1\nretry: 5\n"
    data = noise + stream(*HELLO, "[DONE]")
    assert message(data) == {"content": "hello"}


def test_one_event_may_have_several_lines_of_data() -> None:
    data = b'data:{"choices":\ndata:[{"delta": {"content": "a"}}]}\n\ndata:[DONE]\n\n'
    assert message(data) == {"content": "a"}


def test_a_line_separator_inside_a_text_ends_no_line() -> None:
    text = "a\u2028b\u0085c"
    event = json.dumps(json.loads(delta({"content": text})), ensure_ascii=False)
    assert message(stream(event, "[DONE]")) == {"content": text}


def test_pieces_of_calls_are_put_together() -> None:
    def call(index: Any, **function: str) -> str:
        return delta({"tool_calls": [{"index": index, "function": function}]})

    first = {"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}
    events = (
        delta({"tool_calls": [first]}),
        call(1, name="g"),
        call(0, arguments='{"x"'),
        call(1, arguments="{}"),
        call(0, arguments=": 1}"),
        delta({"tool_calls": [{"id": "c", "function": {"name": "h"}}, 4]}),
        delta({}, finish_reason="tool_calls"),
    )
    calls = message(stream(*events))["tool_calls"]
    assert [item["function"] for item in calls] == [
        {"name": "f", "arguments": '{"x": 1}'},
        {"name": "g", "arguments": "{}"},
        {"name": "h", "arguments": ""},
    ]
    assert [item.get("id") for item in calls] == ["a", None, "c"]


def test_the_last_counts_are_those_of_the_whole() -> None:
    counts = [json.dumps({"choices": [], "usage": {"n": number}}) for number in (1, 2)]
    assert assemble(stream(*counts, delta({}), "[DONE]"))["usage"] == {"n": 2}


def test_a_reason_to_stop_is_an_end_without_the_mark() -> None:
    data = stream(*HELLO, delta({}, finish_reason="stop"))
    assert assemble(data)["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        stream(*HELLO),
        stream(*HELLO) + b"data: [DON",
        stream(*HELLO) + b'data: {"choices": [{"finish_reason": "stop"}]}',
        stream(*HELLO, "{", "[DONE]"),
        stream(*HELLO, "4", "[DONE]"),
        stream(*HELLO, "[" * 100_000, "[DONE]"),
    ],
    ids=range(7),
)
def test_a_stream_that_breaks_off_is_none(data: bytes) -> None:
    with pytest.raises(StreamError):
        assemble(data)


@pytest.mark.parametrize("event", ['{"error": {"code": 1}}', '{"failed": true}'])
def test_a_failure_amid_the_stream_is_what_comes_out(event: str) -> None:
    body = assemble(stream(*HELLO, event, "[DONE]"))
    assert isinstance(body, dict)
    assert "choices" not in body
    assert body["error"] in (json.loads(event), {"code": 1})


@pytest.mark.parametrize(
    ("data", "is_end"),
    [
        (b"data: [DONE]\n", True),
        (b"x\r\ndata:[DONE]\r\n", True),
        (b"data: [DONE]", False),
        (b'data: {"content": "data: [DONE]\\n"}\n', False),
    ],
)
def test_the_mark_of_the_end_is_told_from_a_text(data: bytes, is_end: bool) -> None:
    assert bool(END.search(data)) is is_end
