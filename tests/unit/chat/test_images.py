"""What a data URI says, and which images refuse a request."""

from __future__ import annotations

import base64
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conduck_service.chat.images import check_images, is_inline, read_image
from conduck_service.domain.conversation import Conversation, ImagePart, Message, Role
from conduck_service.domain.errors import ErrorCode, ServiceError
from conduck_service.extension.executor import Capabilities
from tests.support.answers import APP_PATTERNS


def uri(payload: bytes, head: bytes = b"data:image/png;base64,") -> bytes:
    return head + base64.b64encode(payload)


@pytest.mark.parametrize("text", [b"data:", b"DATA:image/png,x", b"dAtA:x"])
def test_the_scheme_is_matched_in_any_case(text: bytes) -> None:
    assert is_inline(text)


@pytest.mark.parametrize("text", [b"", b"data", b"data;x", b" data:x", b"http://data:"])
def test_other_addresses_are_not_inline(text: bytes) -> None:
    assert not is_inline(text)


@pytest.mark.parametrize(
    ("head", "media_type"),
    [
        (b"data:image/png;base64,", "image/png"),
        (b"DATA:IMAGE/JPEG;BASE64,", "image/jpeg"),
        (b"data:image/png;name=x;base64,", "image/png"),
        (b"data:image/svg+xml;charset=utf-8;a=b;Base64,", "image/svg+xml"),
        (b"data:image/x.y-z;;base64,", "image/x.y-z"),
    ],
)
def test_a_good_uri_is_usable(head: bytes, media_type: str) -> None:
    image = read_image(uri(b"hello", head))
    assert image.is_usable
    assert image.media_type == media_type
    assert image.size == 5
    assert base64.b64decode(image.uri[image.data_start :]) == b"hello"


@pytest.mark.parametrize(
    "text",
    [
        b"data:",
        b"data:,x",
        b"data:image/png,AAAA",
        b"data:image/png;base64",
        b"data:image/png;base64,",
        b"data:image/png;base64;x,AAAA",
        b"data:image/;base64,AAAA",
        b"data:image/../../x;base64,AAAA",
        b"data:image/png base64,AAAA",
        b"data:text/plain;base64,AAAA",
        b"data:;base64,AAAA",
        b"data:application/pdf;base64,AAAA",
        b"data:image/png;base64,AAA",
        b"data:image/png;base64,AAAAA",
        b"data:image/png;base64,AA=A",
        b"data:image/png;base64,A===",
        b"data:image/png;base64,====",
        b"data:image/png;base64,AA==AAAA",
        b"data:image/png;base64,AA-_",
        b"data:image/png;base64,AAA ",
        b"data:image/png;base64,AAA\n",
        b"data:image/png;" + b"x" * 5000 + b";base64,AAAA",
    ],
)
def test_a_uri_that_is_no_image_is_unusable(text: bytes) -> None:
    image = read_image(text)
    assert not image.is_usable
    assert image.uri == text


@settings(max_examples=150, deadline=None, database=None)
@given(payload=st.binary(min_size=1, max_size=40))
def test_the_size_is_that_of_the_decoded_bytes(payload: bytes) -> None:
    assert read_image(uri(payload)).size == len(payload)


BASE64 = re.compile("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==|[A-Za-z0-9+/]=))?")
"""Base64 of RFC 4648; the library's strict mode takes too much padding."""


@settings(max_examples=150, deadline=None, database=None)
@given(text=st.text("Az09+/=-_ .", max_size=12))
@example(text="0000=")
def test_usable_is_what_is_base64_and_not_empty(text: str) -> None:
    image = read_image(b"data:image/png;base64," + text.encode())
    assert image.is_usable is bool(text and BASE64.fullmatch(text))
    if image.is_usable:
        assert image.size == len(base64.b64decode(text, validate=True))


PNG = read_image(uri(b"12345"))
JPEG = read_image(uri(b"123", b"data:image/jpeg;base64,"))
EYES = Capabilities(images=True)


def outcome(
    newest: tuple[ImagePart, ...],
    capabilities: Capabilities,
    *,
    limit: int = 5,
    earlier: tuple[ImagePart, ...] = (),
) -> ErrorCode | None:
    """Return why the images of a conversation are refused, or None."""
    messages = (Message(Role.USER, earlier), Message(Role.USER, newest))
    try:
        check_images(Conversation(messages), capabilities, limit)
    except ServiceError as error:
        coded = error.code is not ErrorCode.MALFORMED_REQUEST
        assert coded or not APP_PATTERNS.search(error.message)
        return error.code
    return None


def test_images_are_refused_or_let_through_all_together() -> None:
    assert outcome((), Capabilities()) is None
    assert outcome((PNG,), Capabilities()) is ErrorCode.IMAGE_UNSUPPORTED
    assert outcome((PNG, JPEG), EYES) is None
    assert outcome((JPEG, PNG), EYES, limit=4) is ErrorCode.IMAGE_TOO_LARGE
    assert outcome((JPEG, PNG), EYES, limit=2) is ErrorCode.IMAGE_TOO_LARGE


def test_only_wanted_types_are_let_through() -> None:
    picky = Capabilities(images=True, image_types=("image/png",))
    assert outcome((PNG,), picky) is None
    assert outcome((PNG, JPEG), picky) is ErrorCode.MALFORMED_REQUEST


def test_earlier_images_refuse_nothing() -> None:
    unusable = read_image(b"data:x")
    assert outcome((), Capabilities(), earlier=(PNG, unusable)) is None
    assert outcome((JPEG,), EYES, limit=4, earlier=(PNG,)) is None
