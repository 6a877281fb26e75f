"""What a document declares, each thing with its place, before anything is inherited."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from conduck_service.base.diagnostics import MOST_NAMES, Pointer
from conduck_service.base.ids import is_name
from conduck_service.base.jsonio import JsonValue
from conduck_service.config.scopes import DeclaredScope
from conduck_service.domain.scope import Binding, ExtensionEntry, Route


class Table(StrEnum):
    """The three lists of named entries that a scope has."""

    BINDINGS = "bindings"
    ROUTES = "routes"
    EXTENSIONS = "extensions"

    @property
    def noun(self) -> str:
        """One entry of it, for people."""
        return self.value[:-1]


Entry = Binding | Route | ExtensionEntry


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DeclaredEntry:
    """An entry of a scope's list, or the tombstone of an inherited one.

    Attributes:
        at: Where it stands.
        name: Its name; empty when it has none that could be read.
        value: Its JSON; that of a folder's binding as its executor adapts it.
        is_tombstone: Whether it takes an inherited entry away.
        entry: What was decoded; None when it has a fault, and for a tombstone.
    """

    at: Pointer
    name: str
    value: JsonValue
    is_tombstone: bool = False
    entry: Entry | None = None

    @property
    def told(self) -> str:
        """Its name for people, in quotes, unless it is no name."""
        return repr(self.name) if is_name(self.name) else "of a faulty name"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Declared:
    """A scope as it stands in the config file or in an included folder.

    Attributes:
        at: Where it stands.
        id: Its id; empty when it has none that could be read.
        parent: The id of the scope above; empty for a root.
        value: Its JSON.
        source: The included folder that it comes from.
        scope: What was decoded; None when it has a fault.
        tables: Its own entries.
    """

    at: Pointer
    id: str
    parent: str
    value: JsonValue
    source: Path | None = None
    scope: DeclaredScope | None = None
    tables: dict[Table, list[DeclaredEntry]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Composed:
    """The JSON of a scope, with where it stands and what it starts from.

    Attributes:
        at: Where it stands.
        value: The JSON, its parent filled in where an include names it.
        base: Folder that its relative paths start at.
        source: The included folder, or None for the config file's own.
    """

    at: Pointer
    value: JsonValue
    base: Path
    source: Path | None = None


def entries(value: JsonValue, key: str, at: Pointer) -> Iterator[tuple[Pointer, Any]]:
    """Yield place and JSON of each item of a list in an object.

    Nothing is yielded where there is no such list; whoever decodes the object
    says that it is missing.
    """
    items = value.get(key) if isinstance(value, dict) else None
    for index, item in enumerate(items if isinstance(items, list) else ()):
        yield (*at, key, index), item


def word(value: JsonValue, key: str) -> str:
    """Return a text of an object, or an empty one where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def words(value: JsonValue, key: str, at: Pointer) -> Iterator[tuple[Pointer, str]]:
    """Yield place and text of each text in a list of an object."""
    for place, item in entries(value, key, at):
        if isinstance(item, str):
            yield place, item


def tellable(names: Collection[str]) -> Collection[str]:
    """Return those that may be repeated to people.

    What is no name may be anything that came into its place, a secret too. Of very
    many none is told, so they are not looked at.
    """
    if len(names) > MOST_NAMES:
        return names
    return [name for name in names if is_name(name)]


def mapping(value: JsonValue, key: str) -> dict[str, JsonValue]:
    """Return an object in an object, or an empty one where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}
