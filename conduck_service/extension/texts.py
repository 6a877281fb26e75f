"""The kinds of values that are texts."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conduck_service.base.diagnostics import Pointer, suggest
from conduck_service.base.ids import NAME, is_name
from conduck_service.base.jsonio import JsonValue
from conduck_service.extension.spec import (
    INVALID,
    Decoding,
    Kind,
    Schema,
    wrong_type,
)

UNFIT = r"\u0000\ud800-\udfff"
"""What no text may hold, for a class of a pattern: NUL, and halves of characters."""

_HAS_UNFIT = re.compile(f"[{UNFIT}]")


def matching(pattern: str) -> Schema:
    """Return the schema of texts of which a pattern matches all.

    The pattern has to mean the same to Python and to ECMA 262, so it is made of
    plain characters, classes, groups and counts, and it matches no newline at
    the end: for Python alone ``$`` has a place before one.
    """
    return {
        "type": "string",
        "pattern": f"^(?:{pattern})$",
        "not": {"pattern": r"\n$"},
    }


def is_unfit(text: str) -> bool:
    """Say whether a text can be no argument, path or variable of a program."""
    return _HAS_UNFIT.search(text) is not None


@dataclass(frozen=True, slots=True)
class Text(Kind):
    """Non-empty text of whole characters without NUL.

    ``pattern`` must match all of it; ``pattern_words`` says in words what it asks
    for. :func:`matching` says what a pattern may be made of.
    """

    pattern: str = ""
    pattern_words: str = ""
    _compiled: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_compiled", re.compile(self.pattern or r"[\s\S]*"))

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the text, or INVALID after noting why not."""
        if not isinstance(value, str):
            return wrong_type(at, "a text", into)
        if not value or is_unfit(value):
            return into.refuse(
                at,
                "invalid_config",
                "the text is empty, or holds NUL or half a character",
                "write a text",
            )
        if self.pattern and not self._compiled.fullmatch(value):
            return into.refuse(
                at,
                "invalid_config",
                "the text has the wrong form",
                f"write {self.pattern_words}",
            )
        return value

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        if not self.pattern:
            return {"type": "string", "pattern": f"^[^{UNFIT}]+$"}
        return {
            **matching(self.pattern),
            "not": {"pattern": rf"^$|\n$|[{UNFIT}]"},
        }


@dataclass(frozen=True, slots=True)
class Name(Kind):
    """An identifier of the config (B-NAME-06)."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the identifier, or INVALID after noting why not."""
        if not isinstance(value, str):
            return wrong_type(at, "a text", into)
        if not is_name(value):
            return into.refuse(
                at,
                "invalid_identifier",
                "the text is not an identifier",
                "use 1 to 63 of a-z, 0-9, _ and -, a letter first",
            )
        return value

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        return matching(NAME.pattern)


@dataclass(frozen=True, slots=True)
class Choice(Kind):
    """One of a few words."""

    words: tuple[str, ...]

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the word, or INVALID after noting why not."""
        if not isinstance(value, str):
            words = ", ".join(f'"{word}"' for word in self.words)
            return into.refuse(
                at, "invalid_type", "a text is wanted here", f"write one of {words}"
            )
        if value not in self.words:
            return into.refuse(
                at,
                "invalid_config",
                "the word is not known here",
                suggest(value, self.words),
            )
        return value

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        return {"enum": list(self.words)}


@dataclass(frozen=True, slots=True)
class FilePath(Kind):
    """A path; a relative one starts at the config directory (B-PATH-13)."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return an absolute path, or INVALID after noting why not."""
        text = _TEXT.decode(value, at, into)
        return INVALID if text is INVALID else into.base / Path(text)

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        return _TEXT.schema()

    def encode(self, value: Any) -> JsonValue:
        """Return the text of a default path, or None where there is no default."""
        return None if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Regex(Kind):
    """A regular expression, decoded to a compiled one."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the compiled pattern, or INVALID after noting why not."""
        text = _TEXT.decode(value, at, into)
        if text is INVALID:
            return INVALID
        try:
            with warnings.catch_warnings():
                # What a later Python may read otherwise is good in this one.
                warnings.simplefilter("ignore")
                return re.compile(text)
        # Python says in four ways that a pattern is too deep, too large or wrong.
        except (re.error, RecursionError, OverflowError, MemoryError):
            return into.refuse(
                at,
                "invalid_config",
                "the regular expression cannot be compiled",
                "write it as Python's re module takes it",
            )

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        # The format "regex" would mean another dialect.
        return _TEXT.schema()

    def encode(self, value: Any) -> JsonValue:
        """Return the text of a default pattern, or None where there is none."""
        return None if value is None else value.pattern


@dataclass(frozen=True, slots=True)
class JsonPointer(Kind):
    """A JSON pointer (RFC 6901) such as ``/result``; empty names the whole."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the pointer, or INVALID after noting why not."""
        if not isinstance(value, str):
            return wrong_type(at, "a text", into)
        if value and not value.startswith("/"):
            return into.refuse(
                at,
                "invalid_config",
                "the text is not a JSON pointer",
                "begin it with /, as in /result",
            )
        return value

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        return {"type": "string", "not": {"pattern": "^[^/]"}}


@dataclass(frozen=True, slots=True)
class Umask(Kind):
    """An umask in octal digits such as ``0007``, decoded to a number."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the umask, or INVALID after noting why not."""
        text = _UMASK.decode(value, at, into)
        return INVALID if text is INVALID else int(text, 8)

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        return _UMASK.schema()

    def normal(self, value: JsonValue) -> JsonValue:
        """Return the umask with four digits."""
        return str(value).zfill(4)

    def encode(self, value: Any) -> JsonValue:
        """Return the four digits of a default, or None where there is none."""
        return None if value is None else f"{value:04o}"


_TEXT = Text()
_UMASK = Text("0?[0-7]{3}", "three octal digits, as in 0007")
