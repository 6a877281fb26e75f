"""The kinds of values that only the core's own objects have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conduck_service.base.diagnostics import Pointer
from conduck_service.base.jsonio import JsonValue
from conduck_service.domain.reference import Scheme, parse_reference
from conduck_service.extension.spec import INVALID, Decoding, Spec

_RESOLVED = (Scheme.FILE, Scheme.ENV)


@dataclass(frozen=True, slots=True)
class Version:
    """The number of the only version of the config that is read."""

    number: int

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the number, or INVALID after noting why not (B-SCHEMA-20)."""
        if isinstance(value, bool) or not isinstance(value, int):
            return into.refuse(
                at, "invalid_type", "a number is wanted here", f"write {self.number}"
            )
        if value != self.number:
            return into.refuse(
                at,
                "invalid_config",
                "this version of the config is not known here",
                f"convert the file to version {self.number}; nothing converts it here",
            )
        return value


@dataclass(frozen=True, slots=True)
class Owned:
    """An object that only its owner understands; the core takes any (B-SCHEMA-04)."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the object as it is, or INVALID after noting that it is none."""
        if not isinstance(value, dict):
            return into.refuse(
                at, "invalid_type", "an object is wanted here", "write { … }"
            )
        return value


@dataclass(frozen=True, slots=True)
class Entries:
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


@dataclass(frozen=True, slots=True)
class SecretReference:
    """A reference to where a secret is kept, never the secret."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the text, or INVALID after noting why not (B-DIAG-15)."""
        if not isinstance(value, str):
            return into.refuse(
                at, "invalid_type", "a text is wanted here", "write file:NAME"
            )
        try:
            reference = parse_reference(value)
        except ValueError as error:
            into.refuse(
                at,
                "invalid_secret_ref",
                "the text is not a secret reference; values never stand in the config",
                str(error),
            )
            return INVALID
        if reference.scheme not in _RESOLVED:
            return into.refuse(
                at,
                "invalid_secret_ref",
                f"this version resolves no {reference.scheme}: references",
                "write file:NAME or env:NAME; this version resolves these two",
            )
        return value
