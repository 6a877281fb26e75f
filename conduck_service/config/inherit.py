"""What is in force in each scope: the scope graph, slots, tombstones, overlays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from conduck_service.base.diagnostics import Pointer, suggest
from conduck_service.base.jsonio import JsonValue
from conduck_service.config.declared import (
    Declared,
    DeclaredEntry,
    Table,
    mapping,
    tellable,
)
from conduck_service.domain.scope import Authorization
from conduck_service.extension.spec import Decoding

Slots = Mapping[str, DeclaredEntry]
"""Entries and tombstones by name, in the order of their slots."""


@dataclass(slots=True, eq=False, kw_only=True)
class Effective:
    """A scope with everything that it inherits.

    Attributes:
        declared: What it says itself.
        parent: The scope above.
        tables: What is in force, tombstones included.
        secrets: Secret name to reference text.
        is_enabled: Whether it and every scope above it is.
        ceiling: What its bindings can be given at most; set by ``authority``.
        faulty: Entries in force that were found at fault here or above.
    """

    declared: Declared
    parent: Effective | None
    tables: Mapping[Table, Slots]
    secrets: Mapping[str, JsonValue]
    is_enabled: bool
    ceiling: Authorization = field(default_factory=Authorization)
    faulty: set[DeclaredEntry] = field(default_factory=set)

    @property
    def at(self) -> Pointer:
        """Where the scope stands."""
        return self.declared.at

    def own(self, table: Table) -> list[DeclaredEntry]:
        """Return the entries and tombstones that the scope declares itself."""
        return self.declared.tables[table]

    def in_force(self, table: Table) -> Iterator[DeclaredEntry]:
        """Yield the entries in force, in slot order."""
        return (item for item in self.tables[table].values() if not item.is_tombstone)

    def inherited(self, table: Table) -> Iterator[DeclaredEntry]:
        """Yield the entries in force that a scope above declares."""
        if self.parent is None:
            return
        above = self.parent.tables[table]
        for name, item in self.tables[table].items():
            if not item.is_tombstone and above.get(name) is item:
                yield item

    def entry(self, table: Table, name: str) -> DeclaredEntry | None:
        """Return the entry in force of this name."""
        found = self.tables[table].get(name)
        return None if found is None or found.is_tombstone else found


def inherit(declared: list[Declared], into: Decoding) -> list[Effective]:
    """Return the effective scopes, every parent before its children.

    Scopes whose parents lead nowhere or in a circle are left out, with those in
    them: nothing is known of what is in force there.

    Keeps: B-SCOPE-02, B-SCOPE-03, B-SCOPE-04, B-INHERIT-01, B-INHERIT-02,
    B-INHERIT-03, B-INHERIT-04, B-INHERIT-05, B-INHERIT-06, B-INHERIT-07,
    B-TOMB-04, B-TOMB-05, B-TOMB-07, B-TOMB-08.
    """
    done: dict[str, Effective] = {}
    effective = []
    for scope in _parents_first(declared, into):
        parent = done[scope.parent] if scope.parent else None
        made = _below(scope, parent, into)
        effective.append(made)
        done.setdefault(scope.id, made)
    return effective


def _parents_first(declared: list[Declared], into: Decoding) -> Iterator[Declared]:
    by_id: dict[str, Declared] = {}
    for scope in declared:
        by_id.setdefault(scope.id, scope)
    settled: set[str] = set()
    lost: set[str] = set()
    yielded: set[Declared] = set()
    for scope in declared:
        if scope in yielded:
            continue
        chain = _chain(scope, by_id, settled, lost)
        top = chain[-1]
        if top.parent and top.parent not in settled:
            _refuse_parent(chain, by_id, lost, into)
            lost.update(item.id for item in chain)
            continue
        for item in reversed(chain):
            settled.add(item.id)
            yielded.add(item)
            yield item


def _chain(
    scope: Declared,
    by_id: Mapping[str, Declared],
    settled: set[str],
    lost: set[str],
) -> list[Declared]:
    """Return the scope and those above it, up to a known one, a root or a circle."""
    chain = [scope]
    seen = {scope.id}
    while above := chain[-1].parent:
        if above in settled or above in lost or above in seen or above not in by_id:
            break
        seen.add(above)
        chain.append(by_id[above])
    return chain


def _refuse_parent(
    chain: list[Declared], by_id: Mapping[str, Declared], lost: set[str], into: Decoding
) -> None:
    """Note why the parents of a chain lead to no root, unless it is known."""
    above = chain[-1].parent
    if above in lost:
        return
    if above not in by_id:
        into.refuse(
            (*chain[-1].at, "parent"),
            "unknown_reference",
            "there is no scope of this id",
            suggest(above, tellable(by_id)),
        )
        return
    start = next(index for index, item in enumerate(chain) if item.id == above)
    for item in chain[start:]:
        into.refuse(
            (*item.at, "parent"),
            "scope_cycle",
            "the scope is in itself, by way of its parents",
            "name another parent in one of these scopes, or none",
        )


def _below(scope: Declared, parent: Effective | None, into: Decoding) -> Effective:
    is_enabled = mapping_of(scope).get("enabled", True) is not False
    return Effective(
        declared=scope,
        parent=parent,
        tables={
            table: _overlaid(
                parent.tables[table] if parent else {}, scope.tables[table], table, into
            )
            for table in Table
        },
        secrets=_overlaid_secrets(scope, parent.secrets if parent else {}, into),
        is_enabled=is_enabled and (parent is None or parent.is_enabled),
    )


def mapping_of(scope: Declared) -> dict[str, JsonValue]:
    """Return the JSON object of a scope, or an empty one where it is none."""
    return scope.value if isinstance(scope.value, dict) else {}


def _overlaid(
    above: Slots, own: Iterable[DeclaredEntry], table: Table, into: Decoding
) -> Slots:
    """Return the slots with the scope's own entries in them.

    A dict keeps the place of a key that gets another value, and so a slot is kept
    for whatever entry has its name.
    """
    if not own:
        return above
    slots = dict(above)
    for item in own:
        if not item.name:
            continue
        if item.is_tombstone:
            found = above.get(item.name)
            if found is None or found.is_tombstone:
                into.refuse(
                    (*item.at, "name"),
                    "unknown_tombstone",
                    f"the scopes above have no {table.noun} of this name in force",
                    "take it out; there is nothing to disable",
                )
        slots[item.name] = item
    return slots


def _overlaid_secrets(
    scope: Declared, above: Mapping[str, JsonValue], into: Decoding
) -> Mapping[str, JsonValue]:
    own = mapping(scope.value, "secret_refs")
    if not own:
        return above
    secrets = dict(above)
    for name, reference in own.items():
        if reference is not False:
            secrets[name] = reference
        elif secrets.pop(name, None) is None:
            into.refuse(
                (*scope.at, "secret_refs", name),
                "unknown_tombstone",
                "the scopes above have no secret of this name",
                "take it out; there is nothing to remove",
            )
    return secrets
