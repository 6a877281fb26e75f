"""An owner describes its config once; decoding and refusing follow from that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
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


REQUIRED = Mark.REQUIRED
INVALID = Mark.INVALID


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """One pass over a document: where paths start, and what was wrong so far.

    Attributes:
        base: Folder that relative paths are resolved against (B-PATH-13).
        problems: Every diagnostic found, in the order of finding.
    """

    base: Path
    problems: list[Diagnostic] = field(default_factory=list)

    def refuse(self, at: Pointer, code: str, message: str, remedy: str) -> Mark:
        """Note a diagnostic and return the mark for a refused value."""
        self.problems.append(
            Diagnostic(pointer=at, code=code, message=message, remedy=remedy)
        )
        return INVALID


class Kind(Protocol):
    """A kind of value: knows which JSON it takes and what becomes of it."""

    def decode(self, value: JsonValue, at: Pointer, into: Decoding) -> Any:
        """Return the decoded value, or INVALID after noting why not."""
        ...


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


@dataclass(frozen=True, slots=True)
class Spec(Generic[T]):
    """What keys a config object has, and what is made of them.

    Attributes:
        make: Called with every key as a keyword argument once all are valid. It
            may raise ValueError with half a sentence for faults that concern
            several keys at once.
        fields: The keys.
    """

    make: Callable[..., T]
    fields: tuple[Field, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the keys."""
        return tuple(item.name for item in self.fields)

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
        self._refuse_unknown(value, at, into)
        values = {
            item.name: self._decode_field(item, value, at, into) for item in self.fields
        }
        if len(into.problems) > found or INVALID in values.values():
            return INVALID
        try:
            return self.make(**values)
        except ValueError as error:
            return into.refuse(
                at, "invalid_config", str(error), "change one of the keys it names"
            )

    def _refuse_unknown(
        self, value: Mapping[str, JsonValue], at: Pointer, into: Decoding
    ) -> None:
        for key in value:
            if key not in self.keys:
                into.refuse(
                    (*at, key),
                    "unknown_field",
                    "there is no such key here",
                    self._remedy_for(key),
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

    def _decode_field(
        self,
        item: Field,
        value: Mapping[str, JsonValue],
        at: Pointer,
        into: Decoding,
    ) -> Any:
        place = (*at, item.name)
        if item.name not in value:
            if item.default is REQUIRED:
                return into.refuse(
                    place,
                    "missing_field",
                    f"the key {item.name!r} is missing",
                    f"add it: {item.doc}{_choices(item.kind)}",
                )
            return item.default
        if value[item.name] is None:
            return into.refuse(
                place,
                "null_value",
                "null is not a value",
                "leave the key out to get its default",
            )
        decoded = item.kind.decode(value[item.name], place, into)
        if isinstance(value[item.name], str) and decoded is INVALID:
            _show_a_list(item.kind, place, into)
        return decoded


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
