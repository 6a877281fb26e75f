"""An owner describes its config once; decoding and refusing follow from that."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from conduck_service.base.diagnostics import Diagnostic, Pointer, suggest
from conduck_service.base.jsonio import JsonValue


class Mark(Enum):
    """Values that stand for the absence of one."""

    REQUIRED = auto()
    """The default of a field that has none."""

    INVALID = auto()
    """The result of decoding something that was refused."""


A = TypeVar("A")

REQUIRED = Mark.REQUIRED
INVALID = Mark.INVALID


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """One pass over a document: where paths start, and what was wrong so far.

    Attributes:
        base: Folder that relative paths are resolved against (B-PATH-13).
        problems: Every diagnostic found, in the order of finding.
        private: Folders of the service itself, which no engine is let into.
        looked_up: What was looked up outside of the document, by question.
    """

    base: Path
    problems: list[Diagnostic] = field(default_factory=list)
    private: tuple[Path, ...] = ()
    looked_up: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def own(self, base: Path | None = None) -> Decoding:
        """Return a part of this pass with problems of its own."""
        return Decoding(
            base=base or self.base, private=self.private, looked_up=self.looked_up
        )

    def look_up(self, question: Hashable, find: Callable[[], A]) -> A:
        """Return what is found outside of the document, looking once in a pass.

        Entries are checked again in every scope that inherits them.
        """
        if question not in self.looked_up:
            self.looked_up[question] = find()
        answer: A = self.looked_up[question]
        return answer

    def refuse(self, at: Pointer, code: str, message: str, remedy: str) -> Mark:
        """Note a diagnostic and return the mark for a refused value."""
        self.problems.append(
            Diagnostic(pointer=at, code=code, message=message, remedy=remedy)
        )
        return INVALID


Schema = dict[str, JsonValue]
"""A JSON Schema, draft 2020-12."""


class Kind(Protocol):
    """A kind of value: knows which JSON it takes and what becomes of it.

    Kinds derive from this class, so that they have what they leave out.
    """

    __slots__ = ()

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the decoded value, or INVALID after noting why not."""
        ...

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema (B-SCHEMA-25)."""
        ...

    def normal(self, value: JsonValue) -> JsonValue:
        """Return the one spelling of a value that ``decode`` takes (B-SCHEMA-17)."""
        return value

    def encode(self, value: Any) -> JsonValue:
        """Return the JSON of a decoded value, or None for one that has none.

        It is asked for defaults only.
        """
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One key of a config object.

    Attributes:
        name: The key.
        kind: What its value may be.
        default: Value when the key is left out; REQUIRED when it may not be.
            It is a decoded value, not JSON.
        doc: One sentence for the reference, beginning with a capital letter.
        shown: Whether the effective value may be shown to operators.
        live: Whether a change acts on a running entry without a restart.
    """

    name: str
    kind: Kind
    default: Any = REQUIRED
    doc: str
    shown: bool = False
    live: bool = True


T = TypeVar("T")


@dataclass(frozen=True)
class Spec(Generic[T]):
    """What keys a config object has, and what is made of them.

    Attributes:
        make: Called with every key as a keyword argument once all are valid. It
            may raise ValueError with half a sentence for faults that concern
            several keys at once.
        fields: The keys.
        rules: What ``make`` refuses, in sentences for the reference.
    """

    make: Callable[..., T]
    fields: tuple[Field, ...]
    rules: tuple[str, ...] = ()

    @cached_property
    def by_name(self) -> Mapping[str, Field]:
        """The keys by their names."""
        return {item.name: item for item in self.fields}

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The names of the keys."""
        return tuple(self.by_name)

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The names of the keys that have no default."""
        return tuple(item.name for item in self.fields if item.default is REQUIRED)

    @cached_property
    def defaults(self) -> Mapping[str, JsonValue]:
        """The defaults that can be written down, as JSON (B-SCHEMA-16).

        One that nobody could write, such as None, stands for absence.
        """
        return {
            item.name: written
            for item in self.fields
            if (written := _written_default(item)) is not None
        }

    @cached_property
    def _decoded_defaults(self) -> Mapping[str, Any]:
        return {
            item.name: item.default
            for item in self.fields
            if item.default is not REQUIRED
        }

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> T | Mark:
        """Return the object made from JSON, or INVALID after noting why not.

        Every fault of the object is noted, not only the first. Unknown keys are
        refused with the nearest known one, null is never a value, and what is
        left out takes its default.
        """
        if not isinstance(value, dict):
            return into.refuse(
                at, "invalid_type", "an object is wanted here", "write { … }"
            )
        found = len(into.problems)
        is_whole = True
        values = dict(self._decoded_defaults)
        for key, item in value.items():
            decoded = self._decode_key(key, item, at, into)
            is_whole = is_whole and decoded is not INVALID
            values[key] = decoded
        for name in self.required:
            if name not in value:
                self._refuse_missing(name, at, into)
        if not is_whole or len(into.problems) > found:
            return INVALID
        try:
            return self.make(**values)
        except ValueError as error:
            return into.refuse(
                at, "invalid_config", str(error), "change one of the keys it names"
            )

    def schema(self) -> Schema:
        """Return what ``decode`` takes, as JSON Schema (B-SCHEMA-25).

        What ``make`` refuses on top is in its description, in words.
        """
        schema: Schema = {"description": " ".join(self.rules)} if self.rules else {}
        schema["type"] = "object"
        schema["properties"] = {
            item.name: self._field_schema(item) for item in self.fields
        }
        if self.required:
            schema["required"] = list(self.required)
        schema["additionalProperties"] = False
        return schema

    def normal(self, value: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return a valid object with every default in it, in the order of the keys.

        Equal configs have equal normal forms (B-SCHEMA-17).
        """
        normal = {}
        for name, in_form in self._in_form.items():
            if name in value:
                normal[name] = in_form(value[name]) if in_form else value[name]
            elif name in self.defaults:
                normal[name] = self.defaults[name]
        return normal

    @cached_property
    def _in_form(self) -> Mapping[str, Callable[[JsonValue], JsonValue] | None]:
        """What brings each key into its normal form, None where it is in it."""
        return {
            item.name: item.kind.normal if _has_forms(item.kind) else None
            for item in self.fields
        }

    def _field_schema(self, item: Field) -> Schema:
        schema: Schema = {"description": item.doc}
        for key, value in item.kind.schema().items():
            schema[key] = f"{item.doc} {value}" if key == "description" else value
        if item.name in self.defaults:
            schema["default"] = self.defaults[item.name]
        return schema

    def _decode_key(
        self, key: str, value: JsonValue, at: Pointer, into: Decoding
    ) -> Any:
        item = self.by_name.get(key)
        place = (*at, key)
        if item is None:
            return into.refuse(
                place,
                "unknown_field",
                "there is no such key here",
                self._remedy_for(key),
            )
        if value is None:
            return into.refuse(
                place,
                "null_value",
                "null is not a value",
                "leave the key out to get its default",
            )
        decoded = item.kind.decode(value, place, into)
        if decoded is INVALID and isinstance(value, str):
            _show_a_list(item.kind, place, into)
        return decoded

    def _refuse_missing(self, name: str, at: Pointer, into: Decoding) -> None:
        item = self.by_name[name]
        into.refuse(
            (*at, name),
            "missing_field",
            f"the key {name!r} is missing",
            f"add it: {item.doc}{_choices(item.kind)}",
        )

    def _remedy_for(self, key: str) -> str:
        """Return what to do about an unknown key: it may belong one level deeper."""
        inside = [
            item.name
            for item in self.fields
            if (inner := _inner_spec(item.kind)) and key in inner.keys
        ]
        if inside:
            return f"it belongs one level deeper; move it into {' or '.join(inside)}"
        return suggest(key, self.keys)


def _has_forms(kind: Kind) -> bool:
    """Say whether a value of a kind may be spelt in several ways."""
    return getattr(type(kind), "normal", None) is not Kind.normal


def _written_default(item: Field) -> JsonValue:
    """Return the default as JSON, or None where it stands for absence."""
    if item.default is REQUIRED:
        return None
    written = item.kind.encode(item.default)
    # Whatever is not accepted when somebody writes it is only a sign in the code.
    trial = Decoding(base=Path("/"))
    if written is None or item.kind.decode(written, (), trial) is INVALID:
        return None
    return written


def wrong_type(at: Pointer, wanted: str, into: Decoding) -> Any:
    """Note that a value has the wrong type; return the mark."""
    return into.refuse(
        at, "invalid_type", f"{wanted} is wanted here", f"write {wanted}"
    )


def _inner_spec(kind: Kind) -> Spec[Any] | None:
    """Return the Spec of the object, or of each object in the list, of a kind."""
    found = getattr(getattr(kind, "item", kind), "spec", None)
    return found if isinstance(found, Spec) else None


def _choices(kind: Kind) -> str:
    words: tuple[str, ...] = getattr(kind, "words", ())
    return f" Write one of {', '.join(words)}." if words else ""


def _show_a_list(kind: Kind, at: Pointer, into: Decoding) -> None:
    """Make the remedy an example where a text stands for a list of texts.

    People write ``"engine --flag"``; that a kind wants texts is asked of itself,
    since owners have kinds of their own.
    """
    trial = Decoding(base=into.base)
    if _inner_spec(kind) is None and kind.decode(["text"], at, trial) is not INVALID:
        into.problems[-1] = replace(
            into.problems[-1], remedy='write a list, as in ["one", "two"]'
        )


def unique_by(items: Iterable[tuple[Pointer, str]], what: str, into: Decoding) -> None:
    """Refuse the second and later of equal names in a list."""
    seen: set[str] = set()
    for at, name in items:
        if name in seen:
            into.refuse(
                at,
                "duplicate_name",
                f"two {what} of one list have this name",
                "give each a name of its own",
            )
        seen.add(name)
