"""The kinds of values that config keys have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conduck_service.base.diagnostics import Pointer, suggest
from conduck_service.base.ids import is_name
from conduck_service.base.jsonio import JsonValue, is_number
from conduck_service.extension.spec import INVALID, Decoding, Kind, Spec


def _wrong_type(at: Pointer, wanted: str, into: Decoding) -> Any:
    return into.refuse(
        at, "invalid_type", f"{wanted} is wanted here", f"write {wanted}"
    )


@dataclass(frozen=True, slots=True)
class Text:
    """Non-empty text without NUL; ``pattern`` must match all of it.

    ``pattern_words`` says in words what the pattern asks for.
    """

    pattern: str = ""
    pattern_words: str = ""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the text, or INVALID after noting why not."""
        if not isinstance(value, str):
            return _wrong_type(at, "a text", into)
        if not value or "\0" in value:
            return into.refuse(
                at, "invalid_config", "the text is empty or holds NUL", "write a text"
            )
        if self.pattern and not re.fullmatch(self.pattern, value):
            return into.refuse(
                at,
                "invalid_config",
                "the text has the wrong form",
                f"write {self.pattern_words}",
            )
        return value


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier of the config (B-NAME-06)."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the identifier, or INVALID after noting why not."""
        if not isinstance(value, str):
            return _wrong_type(at, "a text", into)
        if not is_name(value):
            return into.refuse(
                at,
                "invalid_identifier",
                "the text is not an identifier",
                "use 1 to 63 of a-z, 0-9, _ and -, a letter first",
            )
        return value


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number within bounds, both included; ``maximum`` may be open."""

    minimum: int = 0
    maximum: int | None = None

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the number, or INVALID after noting why not."""
        if not isinstance(value, int) or isinstance(value, bool):
            return _wrong_type(at, "a whole number", into)
        if value < self.minimum or (self.maximum is not None and value > self.maximum):
            return _out_of_bounds(at, self.minimum, self.maximum, into)
        return value


@dataclass(frozen=True, slots=True)
class Seconds:
    """A time in seconds, whole or with a fraction, within bounds."""

    minimum: float = 0.0
    maximum: float | None = None

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the seconds as a float, or INVALID after noting why not."""
        if not is_number(value):
            return _wrong_type(at, "a number of seconds", into)
        if value < self.minimum or (self.maximum is not None and value > self.maximum):
            return _out_of_bounds(at, self.minimum, self.maximum, into)
        return float(value)


def _out_of_bounds(
    at: Pointer, minimum: float, maximum: float | None, into: Decoding
) -> Any:
    bounds = f"at least {minimum}" if maximum is None else f"{minimum} to {maximum}"
    return into.refuse(
        at,
        "invalid_config",
        "the number is out of bounds",
        f"use {bounds}",
    )


@dataclass(frozen=True, slots=True)
class Boolean:
    """True or false."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the truth value, or INVALID after noting why not."""
        if not isinstance(value, bool):
            return _wrong_type(at, "true or false", into)
        return value


@dataclass(frozen=True, slots=True)
class Choice:
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


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of one kind, decoded to a tuple."""

    item: Kind
    non_empty: bool = False
    unique: bool = False

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the items as a tuple, or INVALID after noting why not."""
        if not isinstance(value, list):
            return _wrong_type(at, "a list", into)
        if self.non_empty and not value:
            return into.refuse(
                at, "invalid_config", "the list is empty", "name at least one"
            )
        items = tuple(
            self.item.decode(item, (*at, index), into)
            for index, item in enumerate(value)
        )
        if INVALID in items:
            return INVALID
        if self.unique:
            for index, item in enumerate(items):
                if item in items[:index]:
                    return into.refuse(
                        (*at, index),
                        "duplicate_name",
                        "the list has this item twice",
                        "name it once",
                    )
        return items


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object whose keys are free within a pattern and whose values are alike."""

    value: Kind
    key_pattern: str = r"[A-Za-z_][A-Za-z0-9_]*"
    key_words: str = "a name of letters, digits and _, no digit first"

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return a dict, or INVALID after noting why not."""
        if not isinstance(value, dict):
            return _wrong_type(at, "an object", into)
        for key in value:
            if not re.fullmatch(self.key_pattern, key):
                into.refuse(
                    (*at, key),
                    "invalid_config",
                    "the key has the wrong form",
                    f"use {self.key_words}",
                )
        decoded = {
            key: self.value.decode(item, (*at, key), into)
            for key, item in value.items()
        }
        return INVALID if INVALID in decoded.values() else decoded


@dataclass(frozen=True, slots=True)
class Object:
    """A nested object with a Spec of its own."""

    spec: Spec[Any]

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return what the Spec makes of it, or INVALID after noting why not."""
        return self.spec.decode(value, at, into)


@dataclass(frozen=True, slots=True)
class FilePath:
    """A path; a relative one starts at the config directory (B-PATH-13)."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return an absolute path, or INVALID after noting why not."""
        text = Text().decode(value, at, into)
        return INVALID if text is INVALID else into.base / Path(text)


@dataclass(frozen=True, slots=True)
class Regex:
    """A regular expression, decoded to a compiled one."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the compiled pattern, or INVALID after noting why not."""
        text = Text().decode(value, at, into)
        if text is INVALID:
            return INVALID
        try:
            return re.compile(text)
        # Python says in four ways that a pattern is too deep, too large or wrong.
        except (re.error, RecursionError, OverflowError, MemoryError):
            return into.refuse(
                at,
                "invalid_config",
                "the regular expression cannot be compiled",
                "write it as Python's re module takes it",
            )


@dataclass(frozen=True, slots=True)
class JsonPointer:
    """A JSON pointer (RFC 6901) such as ``/result``; empty names the whole."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the pointer, or INVALID after noting why not."""
        if not isinstance(value, str):
            return _wrong_type(at, "a text", into)
        if value and not value.startswith("/"):
            return into.refuse(
                at,
                "invalid_config",
                "the text is not a JSON pointer",
                "begin it with /, as in /result",
            )
        return value


@dataclass(frozen=True, slots=True)
class Scalar:
    """A text, a number or a truth value, kept as it is."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the value, or INVALID after noting why not."""
        if isinstance(value, (str, bool)) or is_number(value):
            return value
        return _wrong_type(at, "a text, a number, true or false", into)


@dataclass(frozen=True, slots=True)
class Umask:
    """An umask in octal digits such as ``0007``, decoded to a number."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the umask, or INVALID after noting why not."""
        text = Text("0?[0-7]{3}", "three octal digits, as in 0007").decode(
            value, at, into
        )
        return INVALID if text is INVALID else int(text, 8)
