"""The kinds of values that only the core's own objects have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conduck_service.base.diagnostics import Pointer
from conduck_service.base.ids import NAME
from conduck_service.base.jsonio import JsonValue
from conduck_service.domain.reference import parse_reference
from conduck_service.extension.numbers import plain_number
from conduck_service.extension.spec import Decoding, Kind, Mark, Schema, Spec
from conduck_service.extension.texts import UNFIT, is_unfit, matching

DISABLED = "disabled"
"""The key that makes an entry of a list a tombstone (B-TOMB-01)."""

_VARIABLE = "[A-Za-z_][A-Za-z0-9_]*"

# What Python takes for blanks; ECMA 262 has another list.
_BLANK = (
    r"\t-\r\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a"
    r"\u2028\u2029\u202f\u205f\u3000"
)
_COMMAND = f"[^{UNFIT}{_BLANK}][^{UNFIT}]*"


@dataclass(frozen=True, slots=True)
class Version(Kind):
    """The number of the only version of the config that is read."""

    number: int

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the number, or INVALID after noting why not (B-SCHEMA-20)."""
        number = plain_number(value)
        if isinstance(number, bool) or not isinstance(number, int):
            return into.refuse(
                at, "invalid_type", "a number is wanted here", f"write {self.number}"
            )
        if number != self.number:
            return into.refuse(
                at,
                "invalid_config",
                "this version of the config is not known here",
                f"convert the file to version {self.number}; nothing converts it here",
            )
        return number

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        return {"const": self.number}

    def normal(self, value: JsonValue) -> JsonValue:
        """Return the number without a fraction."""
        return plain_number(value)


@dataclass(frozen=True, slots=True)
class Owned(Kind):
    """An object that only its owner understands; the core takes any (B-SCHEMA-04)."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the object as it is, or INVALID after noting that it is none."""
        if not isinstance(value, dict):
            return into.refuse(
                at, "invalid_type", "an object is wanted here", "write { … }"
            )
        return value

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        return {"type": "object"}

    def encode(self, value: Any) -> JsonValue:
        """Return the empty object, which a missing one stands for (B-SCHEMA-14)."""
        return {}


@dataclass(frozen=True, slots=True)
class Entries(Kind):
    """A list of objects with a Spec; each is decoded by itself later on.

    That way one faulty entry hides no fault of another one.
    """

    spec: Spec[Any]
    non_empty: bool = False

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return nothing yet, or INVALID after noting why it is no such list."""
        if not isinstance(value, list):
            return into.refuse(
                at, "invalid_type", "a list is wanted here", "write [ … ]"
            )
        if self.non_empty and not value:
            return into.refuse(
                at, "invalid_config", "the list is empty", "add at least one entry"
            )
        return ()

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        schema: Schema = {"type": "array", "items": self.spec.schema()}
        if self.non_empty:
            schema["minItems"] = 1
        return schema

    def normal(self, value: JsonValue) -> JsonValue:
        """Return the list with the normal form of each object.

        One that takes an inherited entry away is its own.
        """
        return [
            dict(item) if DISABLED in item else self.spec.normal(item) for item in value
        ]

    def encode(self, value: Any) -> JsonValue:
        """Return the empty list, which a missing one stands for."""
        return []


@dataclass(frozen=True, slots=True)
class SecretReference(Kind):
    """A reference to where a secret is kept, never the secret."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the text, or INVALID after noting why not (B-DIAG-15)."""
        if not isinstance(value, str):
            return into.refuse(
                at, "invalid_type", "a text is wanted here", "write file:NAME"
            )
        try:
            parse_reference(value)
        except ValueError as error:
            return _not_a_reference(at, str(error), into)
        if is_unfit(value):
            return _not_a_reference(at, "write whole characters", into)
        return value

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        return {
            "anyOf": [
                matching(f"(keyring|file):{NAME.pattern}"),
                matching(f"env:{_VARIABLE}"),
                {"type": "string", "pattern": f"^cmd:[{_BLANK}]*{_COMMAND}$"},
            ]
        }


def _not_a_reference(at: Pointer, remedy: str, into: Decoding) -> Mark:
    return into.refuse(
        at,
        "invalid_secret_ref",
        "the text is not a secret reference; values never stand in the config",
        remedy,
    )


@dataclass(frozen=True, slots=True)
class SecretOverlay(Kind):
    """A secret reference, or false to take an inherited name away (B-TOMB-07)."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the text or False, or INVALID after noting why not."""
        if value is False:
            return False
        return SecretReference().decode(value, at, into)

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        return {"anyOf": [{"const": False}, SecretReference().schema()]}
