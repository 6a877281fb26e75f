"""The whole config document as JSON Schema, for editors and other programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from conduck_service.base.jsonio import JsonValue
from conduck_service.config.document import CONNECTION, DOCUMENT, INCLUDE, SETTINGS
from conduck_service.config.entries import (
    BINDING,
    EXTENSION,
    GRANT,
    OPERATIONS,
    RESOURCE,
    ROUTE,
    TOMBSTONE,
    VARIABLES,
)
from conduck_service.config.fields import DISABLED, SecretReference
from conduck_service.config.scopes import SCOPE
from conduck_service.extension.connection import ConnectionType
from conduck_service.extension.kinds import Name, Text
from conduck_service.extension.registry import Registry
from conduck_service.extension.spec import Schema, Spec

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_WORDS = (
    "Config of conduck-service, version 1. Where a description speaks of several keys, "
    "or of what other entries hold, `open-conduit config check` looks after it."
)

_NOTES = ("description", "default")
"""Keywords that say nothing about which values are valid."""

_SHARED: Mapping[str, Schema] = {
    "name": Name().schema(),
    "text": Text().schema(),
    "operations": OPERATIONS.schema(),
    "variables": VARIABLES.schema(),
    "secret_reference": SecretReference().schema(),
    "settings": SETTINGS.schema(),
    "connection": CONNECTION.schema(),
    "include": INCLUDE.schema(),
    "scope": SCOPE.schema(),
    "binding": BINDING.schema(),
    "grant": GRANT.schema(),
    "resource": RESOURCE.schema(),
    "route": ROUTE.schema(),
    "extension": EXTENSION.schema(),
    "tombstone": {
        **TOMBSTONE.schema(),
        "description": "Takes an inherited entry away.",
    },
}
"""What stands under ``$defs``, each wherever it stands in another one."""


class _Owner(Protocol):
    @property
    def spec(self) -> Spec[Any] | None: ...


def config_schema(registry: Registry) -> Schema:
    """Return the document with these types as JSON Schema, draft 2020-12.

    It takes what the decoder takes, down to the config of every registered owner;
    rules on several keys or on other entries are not in it, except in words.

    Keeps: B-SCHEMA-03, B-SCHEMA-25.
    """
    parts = {name: _referring(schema, name) for name, schema in _SHARED.items()}
    parts["tombstone"]["properties"][DISABLED]["const"] = True
    for key in ("bindings", "routes", "extensions"):
        _allow_tombstones(parts["scope"]["properties"][key])
    for place, key, kind, owners in _owned(registry):
        _register(parts, place, key, kind, owners)
    return {
        "$schema": DIALECT,
        "title": "conduck-service config",
        "description": _WORDS,
        **_referring(DOCUMENT.schema(), ""),
        "$defs": parts,
    }


def _owned(
    registry: Registry,
) -> Iterator[tuple[str, str, str, Mapping[str, _Owner]]]:
    """Yield each object with an opaque config.

    That is its name, the key that names the owner, what owners are called, and the
    registered ones.
    """
    yield "connection", "type", "connection", registry.connections
    yield "binding", "executor", "executor", registry.executors
    yield "resource", "provider", "provider", registry.providers
    yield "route", "handler", "handler", registry.handlers
    yield "extension", "type", "extension", registry.ingresses


def _register(
    parts: dict[str, Schema],
    place: str,
    key: str,
    kind: str,
    owners: Mapping[str, _Owner],
) -> None:
    """Let an object name the registered owners only, and take what they take."""
    names = sorted(owners)
    doc = parts[place]["properties"][key]["description"]
    taken: Schema = {"enum": names} if names else {"not": {}}
    parts[place]["properties"][key] = {"description": doc, **taken}
    rules = []
    for name in names:
        owner = owners[name]
        then: Schema = {"properties": {}}
        if owner.spec is not None:
            part = f"{kind}.{name}"
            parts[part] = _referring(owner.spec.schema(), part)
            then["properties"]["config"] = _reference(part)
            if owner.spec.required:
                then["required"] = ["config"]
            if place == "binding":
                then["properties"]["grants"] = _grants(parts, part)
        if isinstance(owner, ConnectionType):
            then["properties"]["secret_refs"] = _slots(owner)
        if then["properties"]:
            when = {"properties": {key: {"const": name}}, "required": [key]}
            rules.append({"if": when, "then": then})
    if rules:
        parts[place]["allOf"] = rules


def _grants(parts: dict[str, Schema], part: str) -> Schema:
    """Return what grants of a binding may hold: single keys of its config."""
    fields = parts[part]["properties"]
    parts[f"{part}.grant"] = {
        "description": "Keys that replace those of the binding's config.",
        "type": "object",
        "properties": {
            name: _reference(f"{part}/properties/{name}") for name in fields
        },
        "additionalProperties": False,
    }
    return {"items": {"properties": {"config": _reference(f"{part}.grant")}}}


def _slots(owner: ConnectionType) -> Schema:
    if not owner.slots:
        return {"maxProperties": 0}
    return {"propertyNames": {"enum": sorted(owner.slots)}}


def _allow_tombstones(entries: Schema) -> None:
    entries["items"] = {
        "if": {"required": [DISABLED]},
        "then": _reference("tombstone"),
        "else": entries["items"],
    }


def _reference(part: str) -> Schema:
    return {"$ref": f"#/$defs/{part}"}


def _referring(schema: Schema, own: str) -> Schema:
    """Return a copy with references in place of every other shared part."""
    return {key: _replaced(value, own) for key, value in schema.items()}


def _replaced(value: JsonValue, own: str) -> JsonValue:
    if isinstance(value, list):
        return [_replaced(item, own) for item in value]
    if not isinstance(value, dict):
        return value
    bare = _bare(value)
    for name, shared in _SHARED.items():
        if name != own and bare == _bare(shared):
            notes = {key: value[key] for key in _NOTES if key in value}
            return {**notes, **_reference(name)}
    return _referring(value, own)


def _bare(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key not in _NOTES}
