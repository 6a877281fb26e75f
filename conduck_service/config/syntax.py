"""What is wrong with a text that is not JSON, in the words of who wrote it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from conduck_service.base.diagnostics import Diagnostic
from conduck_service.base.jsonio import (
    KEY_TWICE,
    NO_CONSTANT,
    TOO_MANY_DIGITS,
    JsonError,
)

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{},:]|[^\s"\[\]{},:]+', re.DOTALL)
_VALUE = re.compile(r"-?[0-9]|(?:true|false|null)\b")
_COMMENT = re.compile(r"#|//|/\*")
_BLANKS = " \t\n\r"
_QUOTES = "'`\u2018\u2019\u201c\u201d"
_CONSTANTS = frozenset({"NaN", "Infinity", "-Infinity"})
_MOST_DIGITS = 4300
"""More than these Python makes no number of."""

_SPELLINGS = frozenset({"True", "False", "None", "TRUE", "FALSE", "NULL"})


@dataclass(frozen=True, slots=True)
class _Finding:
    """A fault of the text: where it is, what it is and what to do about it."""

    offset: int  # -1 when it has no single place
    message: str
    remedy: str


def explained(text: str, error: JsonError) -> Diagnostic:
    """Return the diagnostic of a text that the parser refused.

    The text is looked at once more, for a place where the parser tells none and
    for words that say what people do wrong; nothing of it is repeated.
    """
    if error.line:
        finding = _at_place(text, _offset(text, error), error)
    else:
        finding = _without_place(text, error)
    line = column = 0
    if finding.offset >= 0:
        line = text.count("\n", 0, finding.offset) + 1
        column = finding.offset - text.rfind("\n", 0, finding.offset)
    return Diagnostic(
        pointer=(),
        code="invalid_json",
        message=finding.message,
        remedy=finding.remedy,
        line=line,
        column=column,
    )


def _offset(text: str, error: JsonError) -> int:
    start = 0
    for _ in range(error.line - 1):
        start = text.index("\n", start) + 1
    return start + error.column - 1


def _at_place(text: str, offset: int, error: JsonError) -> _Finding:
    if not text.strip(_BLANKS):
        return _Finding(
            0,
            "the file is empty",
            "write the config into it, a { … } as docs/reference/config.md describes",
        )
    before = len(text[:offset].rstrip(_BLANKS))  # just behind what stands before
    here = text[offset : offset + 1]
    if here == "":
        return _Finding(
            offset,
            "the text ends before the config does",
            "close every text, list and object that was opened",
        )
    if _COMMENT.match(text, offset):
        return _Finding(
            offset, "a comment stands here", "take it out; JSON has no comments"
        )
    comma = _extra_comma(text, offset, before)
    if comma >= 0:
        return _Finding(comma, "there is a comma too many", "take the comma out")
    if error.expected:
        return _expected(text, offset, before, error.expected)
    return _Finding(
        offset, error.reason, "take it out, or close the first object later"
    )


def _extra_comma(text: str, offset: int, before: int) -> int:
    """Return the place of a comma before a closing bracket or another comma."""
    if text[offset] == ",":
        return offset
    if text[offset] in "]}" and text[before - 1 : before] == ",":
        return before - 1
    return -1


def _expected(text: str, offset: int, before: int, expected: str) -> _Finding:
    """Return what the parser's own words mean for who wrote the text."""
    here = text[offset]
    if expected.startswith(("Unterminated string", "Invalid control")):
        return _Finding(
            offset,
            "a text is not closed on its line, or holds a control character",
            'close it with ", and write \\n for a new line in it',
        )
    if expected.startswith("Invalid"):
        return _Finding(
            offset,
            "a backslash in a text begins nothing that JSON knows",
            "write two backslashes for one",
        )
    if here.isspace() and here not in _BLANKS:
        return _Finding(
            offset, "a blank of another kind stands here", "write a plain blank"
        )
    if here in _QUOTES:
        return _Finding(
            offset, "the quotes here are of another kind", 'write texts in plain "'
        )
    if expected.startswith("Expecting property name"):
        return _Finding(
            offset, "a key stands without quotes", 'write it in quotes, as "key"'
        )
    if expected.startswith("Expecting ':'"):
        return _Finding(offset, "a colon is missing here", "write : behind the key")
    if expected.startswith("Expecting ','"):
        return _no_comma(text, offset, before)
    return _no_value(text, offset)


def _no_comma(text: str, offset: int, before: int) -> _Finding:
    here = text[offset]
    if here in "]}":
        return _Finding(
            offset,
            "this bracket closes something else than was opened last",
            "close a list with ] and an object with }",
        )
    if here in '"[{' or (before < offset and _VALUE.match(text, offset)):
        return _Finding(
            before, "a comma is missing here", "write , between two entries"
        )
    return _Finding(
        offset,
        "something stands here that does not belong behind a value",
        'write texts in quotes, a quote inside a text as \\", and numbers as 1 or 1.5',
    )


def _no_value(text: str, offset: int) -> _Finding:
    token = _TOKEN.match(text, offset)
    found = token.group() if token else ""
    if found in _SPELLINGS:
        return _Finding(
            offset,
            "a word is spelled in another way than in JSON",
            "write true or false, or leave the key out",
        )
    if not token or found in "]}:":
        return _Finding(offset, "a value is missing here", "write one")
    return _Finding(
        offset,
        "this is no value of JSON",
        'write texts in quotes, as "text", and numbers as 1 or 1.5',
    )


def _without_place(text: str, error: JsonError) -> _Finding:
    """Find the place of what the parser refuses without telling where."""
    if error.reason == KEY_TWICE:
        return _Finding(_second_key(text), error.reason, "take one of the two out")
    for offset, token in _outside_texts(text):
        if error.reason == NO_CONSTANT and token in _CONSTANTS:
            return _Finding(offset, error.reason, "write a number")
        if error.reason == TOO_MANY_DIGITS and len(token) > _MOST_DIGITS:
            return _Finding(offset, error.reason, "write a smaller number")
    return _Finding(-1, error.reason, "correct it; the config is strict JSON")


def _outside_texts(text: str) -> Iterator[tuple[int, str]]:
    for match in _TOKEN.finditer(text):
        if not match.group().startswith('"'):
            yield match.start(), match.group()


def _second_key(text: str) -> int:
    """Return the place of the first key that its object has already, or -1.

    Up to there the text is good JSON, since the parser has been there.
    """
    keys: list[set[str]] = []
    last, start = "", 0
    for match in _TOKEN.finditer(text):
        found = match.group()
        if found in ("{", "["):
            keys.append(set())
        elif found in ("}", "]"):
            keys.pop()
        elif found == ":":
            key = json.loads(last)
            if key in keys[-1]:
                return start
            keys[-1].add(key)
        last, start = found, match.start()
    return -1
