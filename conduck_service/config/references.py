"""What entries of a document say about each other, looked at in the JSON.

The JSON is looked at, not what was decoded of it, so that an entry with a fault
of another kind is checked all the same and counts as existing.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator

from conduck_service.base.diagnostics import MOST_NAMES, Pointer, suggest
from conduck_service.base.jsonio import JsonValue
from conduck_service.config.declared import (
    Composed,
    DeclaredEntry,
    Table,
    entries,
    mapping,
    tellable,
    word,
    words,
)
from conduck_service.config.inherit import Effective
from conduck_service.extension.spec import Decoding, unique_by

_MISTYPED = 0.8
"""How like a known name one is that was mistyped; chat_token and api_token are not."""


def check_names(
    document: JsonValue, scopes: Iterable[Composed], into: Decoding
) -> None:
    """Refuse names that stand twice in one list (B-SCHEMA-08)."""
    unique_by(_named(entries(document, "connections", ()), "id"), "connections", into)
    composed = [(item.at, item.value) for item in scopes]
    unique_by(_named(composed, "id"), "scopes", into)
    for at, scope in composed:
        for table in Table:
            unique_by(_named(entries(scope, table, at), "name"), table, into)
        for place, binding in entries(scope, Table.BINDINGS, at):
            grants = entries(binding, "grants", place)
            unique_by(_named(grants, "name"), "grants", into)


def _named(
    items: Iterable[tuple[Pointer, JsonValue]], key: str
) -> Iterator[tuple[Pointer, str]]:
    for at, item in items:
        if name := word(item, key):
            yield (*at, key), name


def check_references(scope: Effective, into: Decoding) -> None:
    """Refuse what leads nowhere in a scope.

    Own entries are refused where they stand; what the scope has taken away from an
    inherited one is refused where it takes it away.

    Keeps: B-ROUTE-03, B-ROUTE-07, B-TOMB-06, B-BIND-07, B-EXT-03, B-EXT-08.
    """
    _check_own_routes(scope, into)
    _check_tombstones(scope, into)
    for table in (Table.BINDINGS, Table.EXTENSIONS):
        for item in scope.own(table):
            _check_secret_names(item, scope, into)
        _check_removed_secrets(table, scope, into)


def _check_own_routes(scope: Effective, into: Decoding) -> None:
    known = tellable([item.name for item in scope.in_force(Table.BINDINGS)])
    for item in scope.own(Table.ROUTES):
        name = word(item.value, "binding")
        if name and scope.entry(Table.BINDINGS, name) is None:
            into.refuse(
                (*item.at, "binding"),
                "unknown_reference",
                "the scope has no binding of this name in force",
                suggest(name, known) if known else "add it to bindings of the scope",
            )


def _check_tombstones(scope: Effective, into: Decoding) -> None:
    """Refuse to disable a binding that an inherited route still uses."""
    gone = {item.name: item for item in scope.own(Table.BINDINGS) if item.is_tombstone}
    if not gone:
        return
    for route in scope.inherited(Table.ROUTES):
        item = gone.get(word(route.value, "binding"))
        if item is not None and route not in scope.faulty:
            scope.faulty.add(route)
            into.refuse(
                (*item.at, "name"),
                "unknown_reference",
                f"the inherited route {route.told} refers to this binding",
                "disable the route here too, or keep the binding",
            )


def _check_secret_names(item: DeclaredEntry, scope: Effective, into: Decoding) -> None:
    known = tellable(scope.secrets)
    for place, name in words(item.value, "secret_names", item.at):
        if name not in scope.secrets:
            into.refuse(
                place,
                "unknown_reference",
                "the scope has no secret of this name",
                _secret_remedy(name, known),
            )


def _secret_remedy(name: str, known: Collection[str]) -> str:
    """Return what to do about an unknown secret.

    Other secrets of the scope are never offered: whoever took one would hand it,
    perhaps the bearer token, to a consumer that it is not meant for.
    """
    add = "add it to secret_refs of the scope, as keyring:NAME or file:NAME"
    if len(known) > MOST_NAMES:
        return add
    near = difflib.get_close_matches(name, known, n=1, cutoff=_MISTYPED)
    return f"did you mean {near[0]!r}? if not, {add}" if near else add


def _check_removed_secrets(table: Table, scope: Effective, into: Decoding) -> None:
    """Refuse to take a secret away that an inherited entry selects."""
    own = mapping(scope.declared.value, "secret_refs")
    removed = {name for name, reference in own.items() if reference is False}
    if not removed:
        return
    for item in scope.inherited(table):
        for _, name in words(item.value, "secret_names", ()):
            if name in removed and item not in scope.faulty:
                scope.faulty.add(item)
                into.refuse(
                    (*scope.at, "secret_refs", name),
                    "unknown_reference",
                    f"the inherited {table.noun} {item.told} selects this secret",
                    f"keep the secret, or disable the {table.noun} here",
                )
