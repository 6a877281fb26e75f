"""Strict JSON: what the standard library lets through is refused here."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

JsonValue = Any
"""A parsed JSON value: dict, list, str, int, float, bool or None."""


NO_CONSTANT = "NaN and Infinity are not JSON"
KEY_TWICE = "an object has the same key twice"
TOO_MANY_DIGITS = "a number has too many digits"
"""The reasons for which the parser tells no place."""

_BLANKS = re.compile(r"[ \t\n\r]*")


class JsonError(ValueError):
    """Raised when a text is not strict JSON.

    Attributes:
        reason: What is wrong, in words that repeat nothing of the text.
        line: Line of the fault, from 1; 0 when it has no single place.
        column: Column of the fault in characters, from 1; 0 likewise.
        expected: What the parser says; it too repeats nothing of the text.
    """

    def __init__(
        self, reason: str, line: int = 0, column: int = 0, expected: str = ""
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column
        self.expected = expected


def _refuse_constant(_name: str) -> NoReturn:
    raise JsonError(NO_CONSTANT)


def _unique_object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise JsonError(KEY_TWICE)
    return value


_DECODER = json.JSONDecoder(
    parse_constant=_refuse_constant, object_pairs_hook=_unique_object
)


def decode_utf8(data: bytes | bytearray | memoryview) -> str:
    """Return the bytes as text.

    Raises:
        JsonError: The bytes are not UTF-8, or begin with a byte order mark.
    """
    try:
        text = str(data, "utf-8")
    except UnicodeDecodeError as error:
        raise JsonError("the text is not UTF-8") from error
    if text.startswith("\ufeff"):
        raise JsonError("the text begins with a byte order mark", 1, 1)
    return text


def parse(text: str) -> JsonValue:
    """Return the value of one strict JSON text.

    Refused beyond what the standard library refuses: NaN and Infinity, an
    object with the same key twice, nesting that the parser cannot follow, and
    integers of more than 4,300 digits. A number too large for a float becomes
    an infinity, which :func:`dump` will not write (C-REQ-32).

    Raises:
        JsonError: The text is not strict JSON.
    """
    try:
        value, end = _DECODER.raw_decode(text, _skip_blanks(text, 0))
    except json.JSONDecodeError as error:
        raise JsonError(
            "the text is not JSON", error.lineno, error.colno, error.msg
        ) from None
    except RecursionError:
        raise JsonError("the text is nested too deeply") from None
    except JsonError:
        raise
    except ValueError:
        raise JsonError(TOO_MANY_DIGITS) from None
    rest = _skip_blanks(text, end)
    if rest != len(text):
        line = text.count("\n", 0, rest) + 1
        column = rest - text.rfind("\n", 0, rest)
        raise JsonError("there is something after the JSON value", line, column)
    return value


def _skip_blanks(text: str, start: int) -> int:
    match = _BLANKS.match(text, start)
    return match.end() if match else start


def dump(value: JsonValue) -> bytes:
    """Return the value as one line of strict JSON in UTF-8 (C-RESP-21).

    Raises:
        ValueError: The value holds NaN or an infinity.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def is_number(value: JsonValue) -> bool:
    """Say whether the value is a finite JSON number; booleans are none."""
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def at_pointer(value: JsonValue, pointer: str) -> JsonValue:
    """Return what a JSON pointer (RFC 6901) names inside a value.

    Raises:
        LookupError: The pointer leads nowhere.
    """
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping):
            value = value[key]
        elif isinstance(value, list) and (key.isdecimal() or key == "-1"):
            value = value[int(key)]
        else:
            raise LookupError(pointer)
    return value
