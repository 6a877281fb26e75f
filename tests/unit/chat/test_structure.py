"""A body is judged by its structure before it is parsed."""

from __future__ import annotations

import json

import pytest

from conduck_service.chat.structure import MOST_VALUES, check_structure
from conduck_service.domain.errors import ErrorCode, ServiceError

MANY = MOST_VALUES + 10


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"[]," * MANY + b"0]",
        b"[" + b"{}," * MANY + b"0]",
        b"[" + b"0," * MANY + b"0]",
        b"[" * MANY,
        b'{"url":"data:"},' * MANY,
        b'"url":"data:"' * MANY,
        b'["",' + b'"\\\\",' * MANY + b"0]",
    ],
)
def test_too_many_values_are_refused_unparsed(body: bytes) -> None:
    with pytest.raises(ServiceError) as caught:
        check_structure(bytearray(body))
    assert caught.value.code is ErrorCode.MALFORMED_REQUEST


@pytest.mark.parametrize(
    "text", ["1,2,3\n" * MANY, '{"a": [1, 2]},' * MANY, '"' * MANY, "\\,[{" * MANY]
)
def test_text_may_hold_any_number_of_marks(text: str) -> None:
    check_structure(bytearray(json.dumps({"content": text}).encode()))


def test_as_many_values_as_allowed_pass() -> None:
    check_structure(bytearray(b"[" + b"0," * (MOST_VALUES - 1) + b"0]"))
