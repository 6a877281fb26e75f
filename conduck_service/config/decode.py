"""From JSON to what a document declares: the core's fields, and each owner's config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from conduck_service.base.diagnostics import Diagnostic, Pointer
from conduck_service.base.jsonio import JsonValue
from conduck_service.config.declared import (
    Composed,
    Declared,
    DeclaredEntry,
    Entry,
    Table,
    entries,
    mapping,
    word,
)
from conduck_service.config.document import CONNECTION
from conduck_service.config.entries import (
    BINDING,
    EXTENSION,
    GRANT,
    ROUTE,
    TOMBSTONE,
)
from conduck_service.config.owners import guarded
from conduck_service.config.scopes import SCOPE
from conduck_service.domain.scope import Binding, Connection, Grant
from conduck_service.extension.executor import ExecutorType
from conduck_service.extension.registry import Registry
from conduck_service.extension.spec import INVALID, Decoding, Mark, Spec


class _Owner(Protocol):
    @property
    def spec(self) -> Spec[Any] | None: ...


@dataclass(frozen=True, slots=True)
class _Form:
    """How an entry of a table looks: its Spec, and the key that names its owner."""

    spec: Spec[Any]
    key: str


_FORMS = {
    Table.BINDINGS: _Form(BINDING, "executor"),
    Table.ROUTES: _Form(ROUTE, "handler"),
    Table.EXTENSIONS: _Form(EXTENSION, "type"),
}


def decode_connections(
    document: JsonValue, registry: Registry, into: Decoding
) -> dict[str, Connection]:
    """Return the connections without faults, by id.

    Keeps: B-CONN-01, B-CONN-02, B-CONN-05.
    """
    found = {}
    for at, value in entries(document, "connections", ()):
        connection = CONNECTION.decode(value, at, into)
        config = _decode_config(value, at, into, "type", owners=registry.connections)
        owner = registry.connections.get(word(value, "type"))
        slots = None if owner is None else tuple(owner.slots)
        _refuse_slots(value, at, slots, into)
        if not isinstance(connection, Mark) and config is not INVALID:
            found[connection.id] = replace(connection, config=config)
    return found


def _refuse_slots(
    value: JsonValue, at: Pointer, slots: tuple[str, ...] | None, into: Decoding
) -> None:
    if slots is None:
        return
    for name in mapping(value, "secret_refs"):
        if name not in slots:
            into.refuse(
                (*at, "secret_refs", name),
                "unknown_field",
                "the type of the connection has no such secret slot",
                "use one of " + ", ".join(slots) if slots else "remove it",
            )


def decode_scope(item: Composed, registry: Registry, into: Decoding) -> Declared:
    """Return what a scope declares, after noting everything that is wrong with it."""
    own = into.own(item.base)
    scope = SCOPE.decode(item.value, item.at, own)
    tables = {
        table: [
            _decode_entry(table, value, at, registry, own, source=item.source)
            for at, value in entries(item.value, table, item.at)
        ]
        for table in Table
    }
    into.problems.extend(own.problems)
    return Declared(
        at=item.at,
        id=word(item.value, "id"),
        parent=word(item.value, "parent"),
        value=item.value,
        source=item.source,
        scope=None if isinstance(scope, Mark) else scope,
        tables=tables,
    )


def _decode_entry(
    table: Table,
    value: JsonValue,
    at: Pointer,
    registry: Registry,
    into: Decoding,
    *,
    source: Path | None,
) -> DeclaredEntry:
    name = word(value, "name")
    if isinstance(value, dict) and "disabled" in value:
        TOMBSTONE.decode(value, at, into)
        return DeclaredEntry(at=at, name=name, value=value, is_tombstone=True)
    entry: Entry | None
    if table is Table.BINDINGS:
        owner = registry.executors.get(word(value, "executor"))
        if owner is not None and source is not None:
            value = _adapted(value, at, owner, source, into)
        entry = _decode_binding(value, at, registry, into)
    else:
        owners = registry.handlers if table is Table.ROUTES else registry.ingresses
        entry = _decode_owned(_FORMS[table], value, at, into, owners=owners)
    return DeclaredEntry(at=at, name=name, value=value, entry=entry)


def _decode_binding(
    value: JsonValue,
    at: Pointer,
    registry: Registry,
    into: Decoding,
) -> Binding | None:
    binding: Binding | None = _decode_owned(
        _FORMS[Table.BINDINGS], value, at, into, owners=registry.executors
    )
    grants = [
        _decode_grant(item, place, value, registry, into)
        for place, item in entries(value, "grants", at)
    ]
    resource = mapping(value, "resource")
    config = None
    if resource:
        config = _decode_config(
            resource,
            (*at, "resource"),
            into,
            "provider",
            owners=registry.providers,
        )
    if binding is None or None in grants or config is INVALID:
        return None
    if binding.resource is not None:
        binding = replace(binding, resource=replace(binding.resource, config=config))
    return replace(binding, grants=tuple(filter(None, grants))) if grants else binding


def _adapted(
    value: JsonValue, at: Pointer, owner: ExecutorType, source: Path, into: Decoding
) -> JsonValue:
    """Return a binding of a folder as its executor adapts it.

    Keeps: B-INCL-24, B-INCL-26.
    """
    config = value.get("config", {})
    if owner.adapt is None or not isinstance(config, dict):
        return value
    own = into.own()
    with guarded((*at, "config"), own):
        value = {**value, "config": dict(owner.adapt(config, source))}
    into.problems.extend(own.problems)
    return value


def _decode_grant(
    value: JsonValue,
    at: Pointer,
    binding: JsonValue,
    registry: Registry,
    into: Decoding,
) -> Grant | None:
    """Return a grant; its config is the binding's with this grant alone (B-GRANT-04).

    Its fields replace those of the binding as a whole (B-GRANT-11).
    """
    grant = GRANT.decode(value, at, into)
    merged = {**mapping(binding, "config"), **mapping(value, "config")}
    owner = registry.executors.get(word(binding, "executor"))
    if isinstance(grant, Mark) or owner is None:
        return None
    if not mapping(value, "config"):
        # Nothing changes, so nothing new can be wrong.
        return replace(grant, config=None)
    config = _decode_owner(owner.spec, merged, (*at, "config"), into)
    return None if config is INVALID else replace(grant, config=config)


def _decode_owned(
    form: _Form,
    value: JsonValue,
    at: Pointer,
    into: Decoding,
    *,
    owners: Mapping[str, _Owner],
) -> Any:
    found = len(into.problems)
    entry = form.spec.decode(value, at, into)
    config = _decode_config(value, at, into, form.key, owners=owners)
    owner = owners.get(word(value, form.key))
    if owner is not None and owner.spec is not None:
        inner = owner.spec
        into.problems[found:] = [
            _at_its_level(item, at, form.spec, inner) for item in into.problems[found:]
        ]
    if isinstance(entry, Mark) or config is INVALID:
        return None
    return replace(entry, config=config)


def _at_its_level(
    problem: Diagnostic, at: Pointer, outer: Spec[Any], inner: Spec[Any]
) -> Diagnostic:
    """Say where a key belongs that stands beside config, not in it, or vice versa."""
    steps = problem.pointer[len(at) :]
    if len(steps) == 1 and steps[0] in inner.keys and steps[0] not in outer.keys:
        return replace(problem, remedy="it belongs one level deeper, inside config")
    is_inside = len(steps) == 2 and steps[0] == "config"
    if is_inside and steps[1] in outer.keys and steps[1] not in inner.keys:
        return replace(problem, remedy="it belongs one level higher, beside config")
    return problem


def _decode_config(
    value: JsonValue,
    at: Pointer,
    into: Decoding,
    key: str,
    *,
    owners: Mapping[str, _Owner],
) -> Any:
    name = word(value, key)
    config = value.get("config", {}) if isinstance(value, dict) else None
    if not name:
        return INVALID  # the core's own fields are at fault, and noted
    if name not in owners:
        known = ", ".join(sorted(owners)) or "nothing"
        return into.refuse(
            (*at, key),
            "unregistered",
            f"there is no such {key} here",
            f"use what is registered: {known}",
        )
    if not isinstance(config, dict):
        return INVALID
    return _decode_owner(owners[name].spec, config, (*at, "config"), into)


def _decode_owner(
    spec: Spec[Any] | None, config: JsonValue, at: Pointer, into: Decoding
) -> Any:
    """Return a config as its owner decodes it; without a Spec, as it is."""
    if spec is None:
        return config
    own = into.own()
    decoded: Any = INVALID
    with guarded(at, own):
        decoded = spec.decode(config, at, own)
    # B-DIAG-17: whatever an owner refuses has this one code.
    into.problems.extend(replace(item, code="invalid_config") for item in own.problems)
    return INVALID if own.problems else decoded
