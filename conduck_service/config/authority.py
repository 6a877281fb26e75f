"""What may be used where: ceilings of scopes, and operations by name and toolset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conduck_service.base.diagnostics import Pointer, suggest
from conduck_service.base.jsonio import JsonValue
from conduck_service.config.declared import Table, mapping, tellable, word, words
from conduck_service.config.inherit import Effective
from conduck_service.domain.scope import Authorization
from conduck_service.extension.registry import Registry
from conduck_service.extension.spec import Decoding

_LISTS = ("connections", "operations", "read_scopes", "file_scopes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What lists of a document may name.

    Attributes:
        connections: Ids of all connections.
        scopes: Ids of all scopes.
        registry: Has the operations and toolsets.
    """

    connections: Mapping[str, None]
    scopes: Mapping[str, None]
    registry: Registry


Places = dict[str, Pointer]
"""Names with the item of the list that brought each of them in."""


def settle_ceilings(scopes: Iterable[Effective], known: Known, into: Decoding) -> None:
    """Give every scope its ceiling, and refuse what is wider than the one above.

    A list that a scope leaves out is that of the scope above; a root without one
    has none.

    Keeps: B-AUTHZ-01, B-AUTHZ-02, B-AUTHZ-03, B-AUTHZ-08, B-AUTHZ-09, B-AUTHZ-10,
    B-AUTHZ-11, B-AUTHZ-12, B-AUTHZ-13, B-AUTHZ-15, B-AUTHZ-17, B-AUTHZ-18.
    """
    for scope in scopes:
        above = scope.parent.ceiling if scope.parent else None
        own = mapping(scope.declared.value, "authorization")
        if not own and above is not None:
            scope.ceiling = above
            continue
        at = (*scope.at, "authorization")
        lists = {}
        for key in _LISTS:
            inherited = None if above is None else getattr(above, key)
            lists[key] = _ceiling_list(
                own, key, at, above=inherited, known=known, into=into
            )
        scope.ceiling = Authorization(**lists)


def _ceiling_list(
    own: Mapping[str, JsonValue],
    key: str,
    at: Pointer,
    *,
    above: frozenset[str] | None,
    known: Known,
    into: Decoding,
) -> frozenset[str]:
    if key not in own:
        return above or frozenset()
    places = _named(own, key, at, known, into)
    if above is not None:
        refuse_outside(places, above, "the scope above does not have this", into)
    return frozenset(places)


def _named(
    value: JsonValue, key: str, at: Pointer, known: Known, into: Decoding
) -> Places:
    if key == "operations":
        return operations_in(value, at, known.registry, into)
    names = known.connections if key == "connections" else known.scopes
    noun = "connection" if key == "connections" else "scope"
    places: Places = {}
    for place, name in words(value, key, at):
        if name in names:
            places.setdefault(name, place)
        else:
            into.refuse(
                place,
                "unknown_reference",
                f"there is no {noun} of this id",
                suggest(name, tellable(names)),
            )
    return places


def operations_in(
    value: JsonValue, at: Pointer, registry: Registry, into: Decoding
) -> Places:
    """Return the operations that a list of an object comes to, in its order.

    Toolsets are replaced by what they hold, and denials take away what stands
    before them and behind them. What is not registered is refused.
    """
    places: Places = {}
    denied: set[str] = set()
    for place, item in words(value, "operations", at):
        name = item.lstrip("!@")
        names: Sequence[str] = (name,)
        if item.startswith("@"):
            names = _members(name, place, registry, into)
        elif name not in registry.operations:
            into.refuse(
                place,
                "unregistered",
                "there is no such operation here",
                suggest(name, sorted(registry.operations)),
            )
            continue
        if item.startswith("!"):
            denied.add(name)
        else:
            for found in names:
                places.setdefault(found, place)
    return {name: place for name, place in places.items() if name not in denied}


def _members(
    name: str, at: Pointer, registry: Registry, into: Decoding
) -> tuple[str, ...]:
    toolset = registry.toolsets.get(name)
    if toolset is not None:
        return toolset.operations
    known = ", ".join(f"@{item}" for item in sorted(registry.toolsets)) or "none"
    into.refuse(
        at,
        "unregistered",
        "there is no such toolset here",
        f"use one that is registered: {known}",
    )
    return ()


def refuse_outside(
    places: Places, ceiling: frozenset[str], why: str, into: Decoding
) -> None:
    """Refuse each item that brings in a name outside of the ceiling, once."""
    outside = dict.fromkeys(
        place for name, place in places.items() if name not in ceiling
    )
    for place in outside:
        into.refuse(
            place,
            "not_authorized",
            f"{why}, so it cannot be given here",
            "take it out, or add it to the authorization of the scope",
        )


def check_authority(scope: Effective, known: Known, into: Decoding) -> None:
    """Refuse what entries in force in a scope use beyond its ceiling.

    Own entries are refused where they stand. An inherited one was fine where it
    was declared, so what the scope narrowed is refused.

    Keeps: B-CONN-03, B-BIND-02, B-BIND-06, B-EXT-02, B-AUTHZ-11, B-GRANT-03,
    B-INHERIT-08, B-VALID-14, B-VALID-15.
    """
    for table in (Table.BINDINGS, Table.EXTENSIONS):
        for item in scope.own(table):
            if not item.is_tombstone:
                _check_own(item.value, item.at, scope, known, into)
    own = mapping(scope.declared.value, "authorization")
    if scope.parent is None or not own:
        return
    for table in (Table.BINDINGS, Table.EXTENSIONS):
        for item in scope.inherited(table):
            if item in scope.faulty:
                continue
            for key in _beyond(item.value, scope, known):
                if key in own:
                    scope.faulty.add(item)
                    into.refuse(
                        (*scope.at, "authorization", key),
                        "not_authorized",
                        f"the inherited {table.noun} {item.told} uses more than this",
                        f"add what it uses, or disable the {table.noun} here",
                    )


def _check_own(
    value: JsonValue, at: Pointer, scope: Effective, known: Known, into: Decoding
) -> None:
    why = "the scope is not granted this"
    if name := word(value, "connection"):
        place = (*at, "connection")
        if name not in known.connections:
            into.refuse(
                place,
                "unknown_reference",
                "there is no connection of this id",
                suggest(name, tellable(known.connections)),
            )
        else:
            refuse_outside({name: place}, scope.ceiling.connections, why, into)
    for place, holder in _holders(value, at):
        found = operations_in(holder, place, known.registry, into)
        refuse_outside(found, scope.ceiling.operations, why, into)


def _holders(value: JsonValue, at: Pointer) -> list[tuple[Pointer, JsonValue]]:
    """Return a binding and its grants: each has operations of its own."""
    grants = value.get("grants") if isinstance(value, dict) else None
    items = grants if isinstance(grants, list) else []
    return [(at, value), *(((*at, "grants", i), item) for i, item in enumerate(items))]


def _beyond(value: JsonValue, scope: Effective, known: Known) -> list[str]:
    """Return which lists of the ceiling an inherited entry goes beyond."""
    beyond = []
    name = word(value, "connection")
    if name in known.connections and name not in scope.ceiling.connections:
        beyond.append("connections")
    nowhere = Decoding(base=Path())
    used: set[str] = set()
    for place, holder in _holders(value, ()):
        used.update(operations_in(holder, place, known.registry, nowhere))
    if not used <= scope.ceiling.operations:
        beyond.append("operations")
    return beyond
