"""The kinds of values that are numbers, or may be."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from conduck_service.base.diagnostics import Pointer
from conduck_service.base.jsonio import JsonValue
from conduck_service.extension.spec import Decoding, Kind, Schema, wrong_type

LARGEST = sys.float_info.max
"""The largest number; what is beyond it is an infinity to most readers of JSON."""


def plain_number(value: JsonValue) -> JsonValue:
    """Return a number without a fraction as an int: 1.0 and 1 are one in JSON."""
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole else value


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True, slots=True)
class Integer(Kind):
    """A whole number within bounds, both included; ``maximum`` may be open.

    As in JSON Schema, 8480.0 is one too.
    """

    minimum: int = 0
    maximum: int | None = None

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the number as an int, or INVALID after noting why not."""
        number = plain_number(value)
        if not isinstance(number, int) or isinstance(number, bool):
            return wrong_type(at, "a whole number", into)
        if number < self.minimum or (
            self.maximum is not None and number > self.maximum
        ):
            return _out_of_bounds(at, self.minimum, self.maximum, into)
        return number

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        return {"type": "integer", **_bounds(self.minimum, self.maximum)}

    def normal(self, value: JsonValue) -> JsonValue:
        """Return the number without a fraction."""
        return plain_number(value)


@dataclass(frozen=True, slots=True)
class Seconds(Kind):
    """A time in seconds, whole or with a fraction, within bounds."""

    minimum: float = 0.0
    maximum: float | None = None

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the seconds as a float, or INVALID after noting why not."""
        if not _is_number(value):
            return wrong_type(at, "a number of seconds", into)
        top = LARGEST if self.maximum is None else self.maximum
        if not self.minimum <= value <= top:
            return _out_of_bounds(at, self.minimum, self.maximum, into)
        return float(value)

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        top = LARGEST if self.maximum is None else self.maximum
        return {"type": "number", **_bounds(self.minimum, top)}

    def normal(self, value: JsonValue) -> JsonValue:
        """Return the seconds, without a fraction where they have none."""
        return plain_number(value)

    def encode(self, value: Any) -> JsonValue:
        """Return the seconds of a default likewise."""
        return plain_number(value)


def _bounds(minimum: float, maximum: float | None) -> Schema:
    bounds: Schema = {"minimum": plain_number(minimum)}
    if maximum is not None:
        bounds["maximum"] = maximum if maximum == LARGEST else plain_number(maximum)
    return bounds


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
class Scalar(Kind):
    """A text, a number or a truth value, kept as it is."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the value, or INVALID after noting why not."""
        if isinstance(value, (str, bool)):
            return value
        if _is_number(value) and -LARGEST <= value <= LARGEST:
            return value
        return wrong_type(at, "a text, a number, true or false", into)

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema."""
        return {
            "type": ["string", "number", "boolean"],
            "minimum": -LARGEST,
            "maximum": LARGEST,
        }

    def normal(self, value: JsonValue) -> JsonValue:
        """Return the value, a number without a fraction where it has none."""
        return plain_number(value)
