"""From what is in force to the records that the core works with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from conduck_service.base.jsonio import JsonValue
from conduck_service.config.authority import operations_in
from conduck_service.config.declared import DeclaredEntry, Entry, Table
from conduck_service.config.inherit import Effective
from conduck_service.config.lanes import Served
from conduck_service.domain.scope import Binding, ExtensionEntry, Route, Scope
from conduck_service.extension.registry import Registry
from conduck_service.extension.spec import Decoding


class Forms:
    """The record of each entry, with its operations told one by one.

    An entry is in force in many scopes and is the same record in all of them.

    Keeps: B-AUTHZ-17, B-INHERIT-09.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._made: dict[DeclaredEntry, Entry | None] = {}

    def of(self, item: DeclaredEntry) -> Entry | None:
        """Return the record of an entry, or None if it has a fault."""
        if item not in self._made:
            self._made[item] = self._make(item)
        return self._made[item]

    def _make(self, item: DeclaredEntry) -> Entry | None:
        entry = item.entry
        if not isinstance(entry, Binding):
            return entry
        grants = tuple(
            replace(grant, operations=self._operations(value))
            for grant, value in zip(
                entry.grants, item.value.get("grants", ()), strict=True
            )
        )
        operations = self._operations(item.value)
        if not operations and not grants:
            return entry
        return replace(entry, operations=operations, grants=grants)

    def _operations(self, value: JsonValue) -> frozenset[str]:
        if "operations" not in value:
            return frozenset()
        nobody = Decoding(base=Path())
        return frozenset(operations_in(value, (), self._registry, nobody))


def scope_in_effect(effective: Effective, served: Served, forms: Forms) -> Scope:
    """Return the record of a scope that has no fault."""
    own = effective.declared.scope
    assert own is not None, "a scope with a fault is not built"
    bindings, routes, extensions = (
        tuple(map(forms.of, effective.in_force(table))) for table in Table
    )
    return Scope(
        id=own.id,
        name=own.name,
        parent=own.parent,
        enabled=effective.is_enabled,
        source=effective.declared.source,
        limits=own.limits,
        authorization=effective.ceiling,
        bindings=tuple(item for item in bindings if isinstance(item, Binding)),
        routes=tuple(item for item in routes if isinstance(item, Route)),
        extensions=tuple(x for x in extensions if isinstance(x, ExtensionEntry)),
        own_extensions=frozenset(item.name for item in effective.own(Table.EXTENSIONS)),
        secret_refs=effective.secrets,
        folder=served.folder,
        has_lane=served.has_lane,
    )
