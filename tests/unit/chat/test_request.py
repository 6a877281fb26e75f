"""From the bytes of a body to a conversation."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conduck_service.chat.request import ChatRequest, read_request
from conduck_service.domain.conversation import (
    Conversation,
    ImagePart,
    Message,
    Role,
    TextPart,
    UnsupportedPart,
)
from conduck_service.domain.errors import ErrorCode, ServiceError
from tests.support.answers import APP_PATTERNS
from tests.support.service import assistant, image, text, user

PNG = image()["image_url"]["url"]


def read(value: Any) -> ChatRequest:
    """Read a body: bytes as they are, anything else as JSON."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return read_request(bytearray(data))


def refused(value: Any) -> str:
    """Return the message with which a body is refused."""
    with pytest.raises(ServiceError) as caught:
        read(value)
    assert caught.value.code is ErrorCode.MALFORMED_REQUEST
    return caught.value.message


def test_the_shape_of_each_message_is_kept() -> None:
    request = read(
        {
            "messages": [
                user("one"),
                assistant([text("two"), {"type": "video"}]),
                user([]),
                user([text("")]),
            ],
            "model": "desk",
            "stream": "yes",
        }
    )
    assert request == ChatRequest(
        model="desk",
        conversation=Conversation(
            (
                Message(Role.USER, "one"),
                Message(Role.ASSISTANT, (TextPart("two"), UnsupportedPart())),
                Message(Role.USER, ()),
                Message(Role.USER, (TextPart(""),)),
            )
        ),
    )


@pytest.mark.parametrize("written", ["h\u00e9", "\N{GRINNING FACE}", "\ufeff\uffff"])
def test_text_beyond_ascii_is_kept_however_it_is_written(written: str) -> None:
    for escaped in (True, False):
        value = {"messages": [user([text(written)]), user(written)]}
        body = json.dumps(value, ensure_ascii=escaped).encode()
        first, second = read(body).conversation.messages
        assert first.content == (TextPart(written),)
        assert second.content == written


@pytest.mark.parametrize("extra", [{}, {"model": None}])
def test_no_model_is_none(extra: dict[str, Any]) -> None:
    assert read({"messages": [user("x")], **extra}).model is None


def test_the_body_is_emptied_once_it_is_parsed() -> None:
    good = bytearray(json.dumps({"messages": [user([image()])]}).encode())
    read_request(good)
    assert good == b""
    bad = bytearray(b'{"messages":[')
    with pytest.raises(ServiceError):
        read_request(bad)
    assert bad == b""


def part_of(value: Any, *, earlier: bool = False) -> ImagePart:
    """Return the image that a part becomes."""
    messages = [user([value]), *([user("now")] if earlier else [])]
    (part,) = read({"messages": messages}).conversation.messages[0].parts
    assert isinstance(part, ImagePart)
    return part


@pytest.mark.parametrize("escape", [False, True])
def test_an_image_is_held_as_it_was_sent(escape: bool) -> None:
    body = json.dumps({"messages": [user([image()])]})
    if escape:
        # Such a key is left to the parser, and means the same.
        body = body.replace('"url"', '"\\u0075rl"')
    (part,) = read(body.encode()).conversation.newest.images
    assert (part.uri, part.media_type) == (PNG.encode(), "image/png")
    assert part.is_usable


def test_an_image_that_is_none_is_kept_in_an_earlier_message_only() -> None:
    for broken in (image("%%%"), image("\u00e9"), image("\ud800"), image("")):
        assert not part_of(broken, earlier=True).is_usable
        assert "image/*" in refused({"messages": [user([broken])]})


def test_an_address_is_refused_in_every_message() -> None:
    for url in ("https://x/y.png", "file:///x", "x.png", "", " data:x", "blob:data:x"):
        part = {"type": "image_url", "image_url": {"url": url}}
        assert "data URI" in refused({"messages": [user([part])]})
        assert "data URI" in refused({"messages": [user([part]), user("now")]})


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b"", "JSON"),
        (b"{", "JSON"),
        (b'{"a":1,"a":1}', "twice"),
        (b'{"a":NaN}', "NaN"),
        (b"[" * 100_000, "deeply"),
        (b'{"a":' + b"1" * 5000 + b"}", "digits"),
        (b"\xff", "UTF-8"),
        ([], "object"),
        ({}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": {}}, "messages"),
        ({"messages": [assistant("x")]}, "last"),
        ({"messages": [user("x")], "model": 1}, "model"),
        ({"messages": [1]}, "messages/0"),
        ({"messages": [user("x"), {"content": "x"}]}, "messages/1/role"),
        ({"messages": [{"role": "system", "content": "x"}]}, "messages/0/role"),
        ({"messages": [{"role": "user"}]}, "messages/0/content"),
        ({"messages": [user({})]}, "messages/0/content"),
        ({"messages": [user([])]}, "messages/0/content"),
        ({"messages": [user("\ud800")]}, "messages/0/content"),
        ({"messages": [user([1])]}, "messages/0/content/0"),
        ({"messages": [user([text("x"), {}])]}, "messages/0/content/1/type"),
        ({"messages": [user([{"type": "text"}])]}, "messages/0/content/0/text"),
        ({"messages": [user([text("\udfff")])]}, "messages/0/content/0/text"),
        ({"messages": [user([{"type": "image_url"}])]}, "content/0/image_url/url"),
    ],
)
def test_a_refusal_names_the_place(body: Any, place: str) -> None:
    assert place in refused(body)


ANY = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
URLS = st.sampled_from([PNG, "data:", "DATA:image/x;base64,AAA=", "http://x"]) | ANY
PARTS = (
    st.fixed_dictionaries(
        {"type": st.sampled_from(["text", "image_url", "file"]) | ANY},
        optional={
            "text": st.text(st.characters(), max_size=5) | ANY,
            "image_url": st.fixed_dictionaries({}, optional={"url": URLS}) | ANY,
        },
    )
    | ANY
)
MESSAGES = (
    st.fixed_dictionaries(
        {},
        optional={
            "role": st.sampled_from(["user", "assistant", "system"]) | ANY,
            "content": st.text(max_size=5) | st.lists(PARTS, max_size=3) | ANY,
        },
    )
    | ANY
)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "messages": st.lists(MESSAGES, max_size=3) | ANY,
        "model": st.text(max_size=5) | ANY,
        "stream": ANY,
    },
)


def read_or_refuse(data: bytes) -> None:
    """Read a body; nothing but a well-worded refusal may come of it."""
    try:
        request = read_request(bytearray(data))
    except ServiceError as error:
        assert error.code is ErrorCode.MALFORMED_REQUEST
        assert error.message
        assert not APP_PATTERNS.search(error.message)
        return
    assert request.conversation.newest.role is Role.USER
    for message in request.conversation.messages:
        for part in message.parts:
            if isinstance(part, TextPart):
                part.text.encode("utf-8")
    assert all(part.is_usable for part in request.conversation.newest.images)


@settings(max_examples=150, deadline=None, database=None)
@given(value=BODIES)
def test_nearly_good_bodies_are_read_or_refused(value: Any) -> None:
    read_or_refuse(json.dumps(value).encode())


@settings(max_examples=150, deadline=None, database=None)
@given(value=BODIES, at=st.floats(0, 1), junk=st.binary(max_size=4))
def test_damaged_bodies_are_read_or_refused(value: Any, at: float, junk: bytes) -> None:
    data = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    place = int(at * len(data))
    read_or_refuse(data[:place] + junk + data[place + len(junk) :])


@settings(max_examples=100, deadline=None, database=None)
@given(data=st.binary(max_size=64))
def test_random_bytes_are_refused(data: bytes) -> None:
    with contextlib.suppress(ServiceError):
        read_request(bytearray(data))
