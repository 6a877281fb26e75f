"""The kinds of values that config keys have."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conduck_service.base.diagnostics import Pointer
from conduck_service.base.jsonio import JsonValue
from conduck_service.extension.numbers import Integer, Scalar, Seconds
from conduck_service.extension.spec import (
    INVALID,
    Decoding,
    Kind,
    Schema,
    Spec,
    wrong_type,
)
from conduck_service.extension.texts import (
    Choice,
    FilePath,
    JsonPointer,
    Name,
    Regex,
    Text,
    Umask,
    matching,
)

__all__ = [
    "Boolean",
    "Choice",
    "FilePath",
    "Integer",
    "JsonPointer",
    "ListOf",
    "MapOf",
    "Name",
    "Object",
    "Regex",
    "Scalar",
    "Seconds",
    "Text",
    "Umask",
]


@dataclass(frozen=True, slots=True)
class Boolean(Kind):
    """True or false."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the truth value, or INVALID after noting why not."""
        if not isinstance(value, bool):
            return wrong_type(at, "true or false", into)
        return value

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class ListOf(Kind):
    """A list of one kind, decoded to a tuple; its order is kept (B-SCHEMA-18)."""

    item: Kind
    non_empty: bool = False
    unique: bool = False

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the items as a tuple, or INVALID after noting why not."""
        if not isinstance(value, list):
            return wrong_type(at, "a list", into)
        if self.non_empty and not value:
            return into.refuse(
                at, "invalid_config", "the list is empty", "name at least one"
            )
        items = tuple(
            self.item.decode(item, (*at, index), into)
            for index, item in enumerate(value)
        )
        if any(item is INVALID for item in items):
            return INVALID
        found = len(into.problems)
        if self.unique and len(items) > 1:
            self._refuse_repeated(value, at, into)
        return items if len(into.problems) == found else INVALID

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        schema: Schema = {"type": "array", "items": self.item.schema()}
        if self.non_empty:
            schema["minItems"] = 1
        if self.unique:
            schema["uniqueItems"] = True
        return schema

    def normal(self, value: JsonValue) -> JsonValue:
        """Return the list with the normal form of each item."""
        return [self.item.normal(item) for item in value]

    def encode(self, value: Any) -> JsonValue:
        """Return the list of a default, or None where there is no default."""
        return None if value is None else [self.item.encode(item) for item in value]

    def _refuse_repeated(
        self, value: list[JsonValue], at: Pointer, into: Decoding
    ) -> None:
        seen: set[str] = set()
        for index, item in enumerate(value):
            # Of lists and objects too: their JSON can be looked up, they cannot.
            text = json.dumps(self.item.normal(item), sort_keys=True)
            if text in seen:
                into.refuse(
                    (*at, index),
                    "duplicate_name",
                    "the list has this item twice",
                    "name it once",
                )
            seen.add(text)


@dataclass(frozen=True, slots=True)
class MapOf(Kind):
    """An object whose keys are free within a pattern and whose values are alike.

    :func:`matching` says what the pattern may be made of.
    """

    value: Kind
    key_pattern: str = r"[A-Za-z_][A-Za-z0-9_]*"
    key_words: str = "a name of letters, digits and _, no digit first"
    _compiled: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_compiled", re.compile(self.key_pattern))

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return a dict, or INVALID after noting why not."""
        if not isinstance(value, dict):
            return wrong_type(at, "an object", into)
        found = len(into.problems)
        decoded = {}
        for key, item in value.items():
            if not self._compiled.fullmatch(key):
                into.refuse(
                    (*at, key),
                    "invalid_config",
                    "the key has the wrong form",
                    f"use {self.key_words}",
                )
            decoded[key] = self.value.decode(item, (*at, key), into)
        return decoded if len(into.problems) == found else INVALID

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        names = matching(self.key_pattern)
        del names["type"]  # the keys of an object are always texts
        return {
            "type": "object",
            "propertyNames": names,
            "additionalProperties": self.value.schema(),
        }

    def normal(self, value: JsonValue) -> JsonValue:
        """Return the object with the normal form of each value."""
        return {key: self.value.normal(item) for key, item in value.items()}

    def encode(self, value: Any) -> JsonValue:
        """Return the object of a default, or None where there is no default."""
        if not isinstance(value, Mapping):
            return None
        return {key: self.value.encode(item) for key, item in value.items()}


@dataclass(frozen=True, slots=True)
class Object(Kind):
    """A nested object with a Spec of its own.

    Its default, where it has one, is what an empty object stands for.
    """

    spec: Spec[Any]

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return what the Spec makes of it, or INVALID after noting why not."""
        return self.spec.decode(value, at, into)

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        return self.spec.schema()

    def normal(self, value: JsonValue) -> JsonValue:
        """Return the object with its own defaults in it."""
        return self.spec.normal(value)

    def encode(self, value: Any) -> JsonValue:
        """Return the object with all its defaults, or None where there is none."""
        return None if value is None else self.spec.normal({})
