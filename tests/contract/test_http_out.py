"""What the app gets of a server's answers behind the executor ``http``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.support.model_reply import Reply, ToolCall
from tests.support.service import user
from tests.support.upstreams import Upstreams, asking

MODELS = ("whole", "pieces")
BOTH = pytest.mark.parametrize("model", MODELS)
CALL = ToolCall("anything", {"x": 1})
FAILURE = (502, "upstream_failure")


@pytest.fixture(scope="module")
def upstreams(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upstreams]:
    configs = {"whole": {}, "pieces": {"stream": True}}
    with asking(tmp_path_factory.mktemp("http_out"), configs, key=False) as them:
        yield them


def body(content: Any = "ok", **more: Any) -> bytes:
    """Return a body of an answer, with more keys or others."""
    choice = {"message": {"role": "assistant", "content": content}}
    return json.dumps({"choices": [choice], **more}).encode()


def sse(*events: str) -> Reply:
    lines = "".join(f"data: {event}\n\n" for event in events).encode()
    return Reply(body=lines, headers={"Content-Type": "text/event-stream"})


@BOTH
def test_an_answer_comes_through_whole(upstreams: Upstreams, model: str) -> None:
    answer = "  Ünï \u2028 code\r\n<div>a@b</div> \U0001f600"
    run = upstreams.run(model, user("x"), script=[Reply(answer)])
    assert run.answer == answer
    assert set(run.choice["message"]) == {"role", "content"}
    assert "authorization" not in run.asked[0].headers


@pytest.mark.req("C-STREAM-05")
def test_a_stream_is_answered_in_one_body(upstreams: Upstreams) -> None:
    answer = "x" * 300_000 + "end"
    run = upstreams.run("pieces", user("x"), script=[Reply(answer, pieces=700)])
    assert run.sent["stream"] is True
    assert run.answer == answer
    assert run.body["usage"]["total_tokens"] == 18


@pytest.mark.req("C-STREAM-05")
def test_a_server_that_only_streams_is_understood(upstreams: Upstreams) -> None:
    reply = sse(
        '{"choices": [{"index": 0, "delta": {"content": "po"}}]}',
        '{"choices": [{"index": 1, "delta": {"content": "other"}}]}',
        '{"choices": [{"index": 0, "delta": {"content": "ng"}}]}',
        "[DONE]",
    )
    assert upstreams.run("whole", user("x"), script=[reply]).answer == "pong"


def test_a_server_that_does_not_stream_is_understood(upstreams: Upstreams) -> None:
    reply = Reply(body=body("pong"))
    assert upstreams.run("pieces", user("x"), script=[reply]).answer == "pong"


@pytest.mark.req("C-STREAM-06")
@pytest.mark.parametrize("fault", ["drop_mid", "no_end", "sse_error"])
def test_a_stream_without_its_end_is_no_answer(
    upstreams: Upstreams, fault: str
) -> None:
    run = upstreams.run("pieces", user("x"), script=[Reply("half", fault=fault)])
    assert run.error == FAILURE


@pytest.mark.req("C-RESP-04")
def test_of_two_choices_one_is_passed_on(upstreams: Upstreams) -> None:
    choices = [{"message": {"content": word}} for word in ("first", "second")]
    reply = Reply(body=json.dumps({"choices": choices}).encode())
    assert upstreams.run("whole", user("x"), script=[reply]).answer == "first"


@BOTH
@pytest.mark.req("C-RESP-06", "C-RESP-07")
@pytest.mark.parametrize("content", ["", None, " \n\u200b", "<think>hm</think>\n"])
def test_an_answer_without_words_is_none(
    upstreams: Upstreams, content: str | None, model: str
) -> None:
    run = upstreams.run(model, user("x"), script=[Reply(content, reasoning="hm")])
    assert run.error == FAILURE


@BOTH
@pytest.mark.req("C-RESP-10")
def test_thoughts_and_calls_in_the_text_are_taken_out(
    upstreams: Upstreams, model: str
) -> None:
    reply = Reply('<think>hm</think>\n@save(call_abc): {"a": 1}\nIt is 4.')
    assert upstreams.run(model, user("x"), script=[reply]).answer == "It is 4."


@BOTH
@pytest.mark.req("C-RESP-16", "C-SELECT-10")
@pytest.mark.parametrize("status", [201, 204, 302, 400, 401, 404, 413, 429, 500, 503])
def test_any_other_status_is_a_failure(
    upstreams: Upstreams, status: int, model: str
) -> None:
    reply = Reply("canary-words", status=status, error={"message": "canary-words"})
    run = upstreams.run(model, user("x"), script=[reply])
    assert run.error == FAILURE
    assert len(run.asked) == 1
    assert "canary-words" not in run.response.text + upstreams.service.log


PIECE = b'data: {"choices": [{"index": 0, "delta": {"content": "po"}}]}\n\n'


@pytest.mark.req("C-RESP-15", "C-RESP-17")
@pytest.mark.parametrize(
    "data",
    [
        body(error={"message": "No connected db."}),
        body(error="no"),
        body(failed=True),
        body(hermes={"failed": True}),
        b"not JSON",
        b"",
        b"[]",
        b"[" * 100_000,
        b'{"choices": []}',
        b'{"choices": {}}',
        b'{"choices": [1]}',
        b'{"choices": [{"message": "x"}]}',
        b'{"choices": [{"message": {}}]}',
        body(["x"]),
        body({"text": "x"}),
        body(4),
        b'{"object": "error", "message": "x"}',
        b'data: {"choices": [{"delta": {"content": "x"}}]\n\ndata: [DONE]\n\n',
        b"data: 1\n\ndata: [DONE]\n\n",
        *(
            PIECE + event + b"\n\ndata: [DONE]\n\n"
            for event in (
                b'event: error\ndata: {"reason": "overloaded"}',
                b'data: {"message": "overloaded", "code": 503}',
                b'data: {"detail": "overloaded"}',
                b'data: {"object": "error", "choices": null}',
                b'data: {"type": "error", "choices": []}',
            )
        ),
    ],
)
def test_a_success_that_is_none_is_a_failure(upstreams: Upstreams, data: bytes) -> None:
    run = upstreams.run("whole", user("x"), script=[Reply(body=data)])
    assert run.error == FAILURE


@BOTH
@pytest.mark.req("C-RESP-17")
def test_no_choice_is_no_answer(upstreams: Upstreams, model: str) -> None:
    reply = Reply("x", fault="no_choices")
    if model == "pieces":
        reply = sse('{"choices": []}', "[DONE]")
    assert upstreams.run(model, user("x"), script=[reply]).error == FAILURE


@BOTH
@pytest.mark.req("C-RESP-18", "C-RESP-23")
@pytest.mark.parametrize("fault", ["drop", "drop_mid"])
def test_a_connection_that_breaks_is_a_failure(
    upstreams: Upstreams, fault: str, model: str
) -> None:
    run = upstreams.run(model, user("x"), script=[Reply("words", fault=fault)])
    assert run.error == FAILURE
    assert len(run.asked) == 1


@BOTH
@pytest.mark.req("C-RESP-19", "C-META-12")
def test_calls_beside_words_are_left_out(upstreams: Upstreams, model: str) -> None:
    run = upstreams.run(model, user("x"), script=[Reply("words", calls=(CALL,))])
    assert run.choice == {"message": {"role": "assistant", "content": "words"}}


@BOTH
@pytest.mark.req("C-RESP-20")
def test_calls_without_words_are_no_answer(upstreams: Upstreams, model: str) -> None:
    run = upstreams.run(model, user("x"), script=[Reply(None, calls=(CALL,))])
    assert run.error == FAILURE


@pytest.mark.req("C-ERR-07")
@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"code": "context_length_exceeded"}),
        (400, {"message": "This model's maximum context length is 4096 tokens."}),
        (400, {"message": "litellm.ContextWindowExceededError: too long"}),
        (400, {"type": "exceed_context_size_error"}),
    ],
)
def test_a_conversation_that_is_too_long_is_told_as_that(
    upstreams: Upstreams, status: int, error: Mapping[str, str]
) -> None:
    run = upstreams.run("whole", user("x"), script=[Reply(status=status, error=error)])
    assert run.error == (400, "context_too_long")


@BOTH
@pytest.mark.req("C-META-09", "C-META-12")
@pytest.mark.parametrize(
    ("finish", "wanted"),
    [
        ("stop", "stop"),
        ("length", "length"),
        (None, None),
        ("tool_calls", None),
        ("eos", None),
    ],
)
def test_the_reason_of_the_end_is_passed_on_when_it_is_known(
    upstreams: Upstreams, finish: str | None, wanted: str | None, model: str
) -> None:
    run = upstreams.run(model, user("x"), script=[Reply("words", finish=finish)])
    assert run.choice.get("finish_reason") == wanted


@BOTH
@pytest.mark.req("C-RESP-15")
@pytest.mark.parametrize("finish", ["error", "content_filter"])
def test_some_ends_are_failures(upstreams: Upstreams, finish: str, model: str) -> None:
    run = upstreams.run(model, user("x"), script=[Reply("words", finish=finish)])
    assert run.error == FAILURE


@pytest.mark.req("C-META-04", "C-META-05", "C-META-06", "C-RESP-21")
@pytest.mark.parametrize(
    ("usage", "wanted"),
    [
        ('{"prompt_tokens": 7600.0, "completion_tokens": 5}', (7600, 5)),
        ('{"prompt_tokens": -1, "completion_tokens": 5}', (None, 5)),
        ('{"prompt_tokens": NaN, "completion_tokens": "5"}', None),
        ('{"prompt_tokens": Infinity, "completion_tokens": 5}', (None, 5)),
        ('{"prompt_tokens": true, "completion_tokens": 5}', (None, 5)),
        ('{"prompt_tokens": 1' + "0" * 5000 + ', "completion_tokens": 5}', (None, 5)),
        ('{"prompt_tokens": 0, "completion_tokens": 0}', None),
        ("[]", None),
        ("null", None),
    ],
    ids=range(9),
)
def test_only_counts_are_passed_on(
    upstreams: Upstreams, usage: str, wanted: tuple[int | None, int | None] | None
) -> None:
    data = body("NaN", usage="U").replace(b'"U"', usage.encode())
    run = upstreams.run("whole", user("x"), script=[Reply(body=data)])
    assert run.answer == "NaN"
    told = run.body.get("usage")
    names = ("prompt_tokens", "completion_tokens")
    assert (told and tuple(told.get(name) for name in names)) == wanted
