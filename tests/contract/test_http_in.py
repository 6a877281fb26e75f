"""What a server behind the executor ``http`` is sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conduck_service.domain.conversation import (
    EARLIER_IMAGE,
    IMAGE_CARRIER,
    OMITTED_ATTACHMENT,
)
from tests.support.model_reply import Reply
from tests.support.model_server import model_server
from tests.support.service import assistant, image, text, user
from tests.support.upstreams import KEY, Upstreams, asking, key_of

CONFIGS: dict[str, dict[str, Any]] = {
    "plain": {"model": "vendor/x-2"},
    "unnamed": {},
    "strict": {"alternation": "strict"},
    "seeing": {"images": "inline"},
    "remembering": {"images": "inline", "history_images": "forward"},
    "seeing_strict": {"images": "inline", "alternation": "strict"},
    "carrier": {"images": "inline", "empty_prompt": "carrier"},
    "labelled": {"headers": {"X-Title": "My desk", "accept": "text/plain"}},
    "small": {"max_request_bytes": 200},
}


@pytest.fixture(scope="module")
def upstreams(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upstreams]:
    with asking(tmp_path_factory.mktemp("http_in"), CONFIGS) as them:
        yield them


THREAD = [
    user("  one\r\n"),
    assistant("two \u200b\u00e9 e\u0301"),
    user("three"),
    user(""),
    assistant("<think>kept</think>"),
    user("@notes.txt {{x}}"),
]


@pytest.mark.req("C-CONTENT-23", "C-SNAP-07")
@pytest.mark.parametrize("model", ["plain", "seeing"])
def test_messages_are_passed_on_one_to_one(upstreams: Upstreams, model: str) -> None:
    assert upstreams.run(model, *THREAD).sent["messages"] == THREAD


@pytest.mark.req("C-CONTENT-23")
def test_parts_stay_parts_for_a_server_that_takes_images(upstreams: Upstreams) -> None:
    message = user([text("a"), text(""), text("b\n")])
    assert upstreams.run("seeing", message).sent["messages"] == [message]


@pytest.mark.req("C-CONTENT-06", "C-CONTENT-17")
def test_a_server_of_text_gets_parts_as_one_text(upstreams: Upstreams) -> None:
    parts = [text("a"), text(""), {"type": "input_audio"}, text("b\n")]
    wanted = f"a\n\n{OMITTED_ATTACHMENT}\nb\n"
    sent = upstreams.run("plain", user(parts)).sent
    assert sent["messages"] == [user(wanted)]


@pytest.mark.req("C-SNAP-08")
def test_a_thread_may_begin_with_an_answer(upstreams: Upstreams) -> None:
    thread = [assistant("late"), user("go on")]
    for model in ("plain", "strict"):
        assert upstreams.run(model, *thread).sent["messages"] == thread


@pytest.mark.req("C-SNAP-06")
def test_runs_of_one_side_become_one_message_for_a_strict_server(
    upstreams: Upstreams,
) -> None:
    thread = [user("a"), user([text("b"), text("c")]), assistant("d"), user("e")]
    sent = upstreams.run("strict", *thread).sent
    assert sent["messages"] == [user("a\nb\nc"), assistant("d"), user("e")]


@pytest.mark.req("C-SNAP-06")
def test_a_joined_message_keeps_every_part(upstreams: Upstreams) -> None:
    thread = [user([text("look"), image()]), user("a"), user([text("b"), image()])]
    sent = upstreams.run("seeing_strict", *thread).sent
    wanted = [text("look"), text(EARLIER_IMAGE), text("a"), text("b"), image()]
    assert sent["messages"] == [user(wanted)]


@pytest.mark.req("C-IMG-35")
def test_an_image_is_passed_on_without_a_change(upstreams: Upstreams) -> None:
    part = {
        "type": "image_url",
        "image_url": {"url": "data:IMAGE/PNG;name=a;base64,iVBORw0KGgo="},
    }
    message = user([text("what is this?"), part, text("and this?"), image()])
    assert upstreams.run("seeing", message).sent["messages"] == [message]


@pytest.mark.req("C-IMG-02")
def test_a_server_of_text_is_not_asked_about_an_image(upstreams: Upstreams) -> None:
    run = upstreams.run("plain", user([text(""), image()]))
    assert run.error == (400, "image_unsupported")
    assert run.asked == []


@pytest.mark.req("C-IMG-09", "C-IMG-11")
@pytest.mark.parametrize("model", ["plain", "seeing"])
def test_an_earlier_image_is_disclosed_in_its_place(
    upstreams: Upstreams, model: str
) -> None:
    thread = [user([text("a"), image(), text("b")]), assistant("c"), user("d")]
    earlier = upstreams.run(model, *thread).sent["messages"][0]["content"]
    texts = ["a", EARLIER_IMAGE, "b"]
    parts = [text(item) for item in texts]
    assert earlier == ("\n".join(texts) if model == "plain" else parts)


def test_earlier_images_are_forwarded_where_that_is_wanted(
    upstreams: Upstreams,
) -> None:
    broken = {"type": "image_url", "image_url": {"url": "data:image/png;base64,?"}}
    thread = [user([image(), broken]), assistant("c"), user("d")]
    sent = upstreams.run("remembering", *thread).sent
    assert sent["messages"][0] == user([image(), text(EARLIER_IMAGE)])


@pytest.mark.req("C-CONTENT-11", "C-CONTENT-12", "C-CONTENT-13", "C-CONTENT-14")
@pytest.mark.parametrize(
    ("model", "content", "wanted"),
    [
        ("carrier", [image()], [text(IMAGE_CARRIER), image()]),
        ("carrier", [text(""), image()], [text(IMAGE_CARRIER), image()]),
        ("carrier", [text(" "), image()], [text(" "), image()]),
        ("carrier", [text("")], [text("")]),
        ("carrier", "", ""),
        ("seeing", [text(""), image()], [text(""), image()]),
        ("seeing", [image()], [image()]),
    ],
)
def test_a_sentence_stands_in_where_a_server_needs_one(
    upstreams: Upstreams, model: str, content: Any, wanted: Any
) -> None:
    assert upstreams.run(model, user(content)).sent["messages"] == [user(wanted)]


@pytest.mark.req("C-SELECT-06", "C-SELECT-08")
def test_the_server_hears_its_own_name_of_the_model_or_none(
    upstreams: Upstreams,
) -> None:
    assert upstreams.run("plain", user("x")).sent["model"] == "vendor/x-2"
    sent = upstreams.run("unnamed", user("x")).sent
    assert sent == {"messages": [user("x")]}


@pytest.mark.req("B-EXECUTOR-03")
def test_the_key_of_the_connection_goes_along_and_nothing_else_of_ours(
    upstreams: Upstreams,
) -> None:
    run = upstreams.run("plain", user("x"))
    (asked,) = run.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers["host"] == f"127.0.0.1:{upstreams.server.port}"
    assert asked.headers["content-type"] == "application/json"
    assert upstreams.service.token not in str(asked.headers)
    config = (upstreams.service.root / "config/config.json").read_text("utf-8")
    assert KEY not in config
    assert KEY not in upstreams.service.log


@pytest.mark.req("B-SECRET-31")
def test_each_server_gets_its_own_key_alone(tmp_path: Path) -> None:
    configs = {"first": {}, "second": {"server": "other"}}
    with model_server(Reply("pong")) as other:
        others = {"other": f"{other.url}/v1/"}
        with asking(tmp_path, configs, others=others) as them:
            assert them.run("second", user("x")).answer == "pong"
            assert them.server.asked == []
            assert them.run("first", user("x")).asked[0].headers["authorization"] == (
                f"Bearer {KEY}"
            )
        assert other.only.path == "/v1/chat/completions"
        assert other.only.headers["authorization"] == f"Bearer {key_of('other')}"


def test_headers_of_the_config_go_along_in_place_of_ours(upstreams: Upstreams) -> None:
    (asked,) = upstreams.run("labelled", user("x")).asked
    assert asked.headers["x-title"] == "My desk"
    assert asked.headers["accept"] == "text/plain"


@pytest.mark.req("C-SEC-17")
def test_what_the_server_cannot_take_is_not_sent(upstreams: Upstreams) -> None:
    run = upstreams.run("small", user("x" * 300))
    assert run.error == (400, "context_too_long")
    assert run.asked == []


@pytest.mark.req("C-MODELS-14")
def test_a_list_of_models_asks_no_server(upstreams: Upstreams) -> None:
    upstreams.server.play()
    assert upstreams.service.models().status_code == 200
    assert upstreams.server.asked == []
