"""Carving images out of a body changes nothing of what the body says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conduck_service.base.jsonio import JsonError, decode_utf8, parse
from conduck_service.chat.inline import Carved, carve

URI = "data:image/jpeg;base64,/9j/4AAQ+A=="


def restored(value: Any, images: Any) -> Any:
    """Return a parsed value with the data URIs back in their places."""
    if isinstance(value, dict):
        return {key: restored(item, images) for key, item in value.items()}
    if isinstance(value, list):
        return [restored(item, images) for item in value]
    if isinstance(value, str) and value in images:
        return images[value].decode("ascii")
    return value


def plain(body: bytes) -> Any:
    """Return what a body says, or why it says nothing."""
    try:
        return parse(decode_utf8(body))
    except JsonError as error:
        return error.reason


def carved(body: bytes) -> Any:
    """Return the same by way of carving."""
    found = carve(bytearray(body))
    value = plain(found.text)
    return restored(value, found.images)


def test_a_data_uri_of_a_url_key_is_taken_out() -> None:
    body = json.dumps({"image_url": {"url": URI}}).encode()
    found = carve(bytearray(body))
    assert list(found.images.values()) == [URI.encode()]
    (word,) = found.images
    assert json.loads(found.text) == {"image_url": {"url": word}}


def test_escaped_slashes_are_understood() -> None:
    body = json.dumps({"url": URI}).replace("/", "\\/").encode()
    assert list(carve(bytearray(body)).images.values()) == [URI.encode()]


def test_equal_images_get_words_of_their_own() -> None:
    found = carve(bytearray(json.dumps([{"url": URI}] * 3).encode()))
    assert len(found.images) == 3
    assert len(json.dumps([*found.images])) < len(found.text) + 50


def test_words_cannot_be_known_beforehand() -> None:
    body = json.dumps({"url": URI}).encode()
    first, second = (carve(bytearray(body)) for _ in range(2))
    assert first.images.keys().isdisjoint(second.images)


@pytest.mark.parametrize(
    "body",
    [
        '{"url" \t\r\n:\n "data:x"}',
        '{"url":"DaTa:x"}',
        '{"url":"data:"}',
        '{"a\\"url":"data:x"}',
        '{"url":{"url":"data:x"}}',
        '[{"url":"data:x"},{"url":"data:x"}]',
    ],
)
def test_ways_to_write_a_uri_that_is_carved(body: str) -> None:
    assert carve(bytearray(body.encode())).images
    assert carved(body.encode()) == json.loads(body)


@pytest.mark.parametrize(
    "body",
    [
        '{"\\u0075rl":"data:x"}',
        '{"url":"\\u0064ata:x"}',
        '{"url":"data\\u003ax"}',
        '{"url":"data:\\u0041"}',
        '{"url":"data:\\\\/"}',
        '{"url":"data:\\"x"}',
        '{"url":"data:h\u00e9"}',
        '{"url":"http://data:x"}',
        '{"url":["data:x"]}',
        '{"url":null}',
        '{"a":"\\"url\\":\\"data:x\\""}',
        '{"a":"\\\\\\"url\\\\\\":\\\\\\"data:x"}',
        '["url","data:x"]',
        '{"Url":"data:x"}',
        '"url"',
    ],
)
def test_what_is_unusual_stays_for_the_parser(body: str) -> None:
    found = carve(bytearray(body.encode()))
    assert found == Carved(body.encode(), {})
    assert carved(body.encode()) == json.loads(body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"url":"data:x',
        b'{"url":"data:x"',
        b'{"url":',
        b'{"url"',
        b'{"url":"data:\n"}',
        b'{"url":"data:\\q"}',
        b'{"url":"data:\xff"}',
        b'{"url":"data:x","url":"data:x"}',
        b'{"url":"data:x","\\u0075rl":"data:x"}',
        b'["url":"data:x"]',
        b'{"url""data:x"}',
        b'{"a":"b\\"url":"data:x"}',
        b'"url":"data:x"',
        b'\xef\xbb\xbf{"url":"data:x"}',
        b"",
    ],
)
def test_what_is_not_json_stays_so(body: bytes) -> None:
    assert carved(body) == plain(body)
    assert isinstance(plain(body), str)


class Pairs(tuple[tuple[str, Any], ...]):
    """The pairs of an object; a key may stand there twice."""

    __slots__ = ()


KEYS = st.sampled_from(["url", "image_url", 'x"url', "\\url", "a", "data:x", "u\u0301"])
STRINGS = st.sampled_from(
    [URI, "data:", "DATA:image/png;base64,AA==", '"url":"data:x"', "https://x/y"]
) | st.text(max_size=8)
SCALARS = STRINGS | st.integers() | st.booleans() | st.none()
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(st.tuples(KEYS, inner), max_size=4).map(Pairs)
    ),
    max_leaves=10,
)
STYLES = st.fixed_dictionaries(
    {
        "slash": st.sampled_from(["/", "\\/", "\\u002f"]),
        "blank": st.sampled_from(["", " ", "\n\t", "\r\n "]),
        "letter": st.sampled_from(["u", "\\u0075"]),
        "ascii": st.booleans(),
    }
)


def written(value: Any, style: dict[str, Any]) -> str:
    """Return the JSON text of a document in one of many ways to write it."""
    blank = style["blank"]
    if isinstance(value, Pairs):
        pairs = (
            f"{written(key, style)}{blank}:{blank}{written(item, style)}"
            for key, item in value
        )
        return f"{{{blank}{f'{blank},{blank}'.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{blank}{f'{blank},{blank}'.join(written(i, style) for i in value)}]"
    text = json.dumps(value, ensure_ascii=style["ascii"])
    if isinstance(value, str):
        text = text.replace("/", style["slash"])
        if value == "url":
            text = text.replace("u", style["letter"])
    return text


@settings(max_examples=150, deadline=None, database=None)
@given(document=DOCUMENTS, style=STYLES)
@example(document=Pairs([("url", URI), ("url", URI)]), style={
    "slash": "\\/", "blank": " ", "letter": "u", "ascii": True,
})  # fmt: skip
def test_a_document_says_the_same_after_carving(
    document: Any, style: dict[str, Any]
) -> None:
    body = written(document, style).encode("utf-8", "surrogatepass")
    assert carved(body) == plain(body)


FRAGMENTS = (
    '"url"', '"image_url"', ":", '"', '"data:', "data:", '\\"', "\\\\", "\\/",
    "\\u0075",
    "{", "}", "[", "]", ",", " ", "\n", "x", "1", "null", "\u00e9", "\x00",
    '{"url":"data:x"}', '{"url":"data:',
)  # fmt: skip


@settings(max_examples=300, deadline=None, database=None)
@given(pieces=st.lists(st.sampled_from(FRAGMENTS), max_size=14))
def test_scraps_of_json_say_the_same_after_carving(pieces: list[str]) -> None:
    body = "".join(pieces).encode()
    assert carved(body) == plain(body)
