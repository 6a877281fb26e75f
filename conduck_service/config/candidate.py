"""The normal form of a document, by which two documents are told to be equal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from conduck_service.base.jsonio import JsonValue
from conduck_service.config.authority import operations_in
from conduck_service.config.document import CONNECTION, SETTINGS, VERSION
from conduck_service.config.fields import DISABLED
from conduck_service.config.scopes import SCOPE
from conduck_service.extension.registry import Registry
from conduck_service.extension.spec import Decoding, Spec

JsonObject = dict[str, JsonValue]


class _Owner(Protocol):
    @property
    def spec(self) -> Spec[Any] | None: ...


def normal_form(
    settings: JsonValue,
    connections: Iterable[JsonValue],
    scopes: Iterable[tuple[JsonValue, Path | None]],
    registry: Registry,
) -> JsonObject:
    """Return a valid document as JSON with every default in it.

    The config of an owner is in its owner's normal form, and operations stand one
    by one. What is left out and has no default stays out; texts are kept as they
    stand, relative paths too. The result shares values with its arguments and with
    the Specs: read it only.

    Args:
        settings: The settings; empty where the document has none.
        connections: In their order.
        scopes: Each with the folder that it comes from, or None: those of the file
            and then those of its folders, with their parents and with the config
            that their executors have adapted to the folder.
        registry: The types that the document uses, packages included.

    Keeps: B-SCHEMA-14, B-SCHEMA-16, B-SCHEMA-17, B-SCHEMA-18, B-AUTHZ-17.
    """
    return {
        "version": VERSION,
        "settings": SETTINGS.normal(settings),
        "connections": [
            _owned(CONNECTION.normal(item), "type", registry.connections)
            for item in connections
        ],
        "scopes": [_scope(value, source, registry) for value, source in scopes],
    }


def candidate_hash(normal: JsonValue) -> str:
    """Return ``sha256:`` and the digest of a normal form.

    Equal documents have equal digests in whatever order their keys stand
    (B-SCHEMA-19).
    """
    # ASCII only, since half of a character has no bytes in UTF-8.
    text = json.dumps(normal, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def _scope(value: JsonValue, source: Path | None, registry: Registry) -> JsonObject:
    scope = SCOPE.normal(value)
    scope["authorization"] = _one_by_one(scope["authorization"], registry)
    scope["bindings"] = [_binding(item, registry) for item in scope["bindings"]]
    scope["routes"] = [
        _owned(item, "handler", registry.handlers) for item in scope["routes"]
    ]
    scope["extensions"] = [
        _owned(item, "type", registry.ingresses) for item in scope["extensions"]
    ]
    if source is not None:
        scope["source"] = str(source)
    return scope


def _one_by_one(holder: JsonObject, registry: Registry) -> JsonObject:
    """Return an object with its toolsets and denials resolved."""
    if "operations" not in holder:
        return holder
    nobody = Decoding(base=Path())
    names = operations_in(holder, (), registry, nobody)
    return {**holder, "operations": list(names)}


def _owned(entry: JsonObject, key: str, owners: Mapping[str, _Owner]) -> JsonObject:
    """Return an entry with its config as the owner writes it."""
    if DISABLED in entry:
        return entry
    spec = owners[entry[key]].spec
    if spec is None:
        return entry
    return {**entry, "config": spec.normal(entry["config"])}


def _binding(entry: JsonObject, registry: Registry) -> JsonObject:
    if DISABLED in entry:
        return entry
    binding = _owned(_one_by_one(entry, registry), "executor", registry.executors)
    binding["grants"] = [_one_by_one(item, registry) for item in binding["grants"]]
    spec = registry.executors[entry["executor"]].spec
    if spec is not None:
        binding["grants"] = [_grant(item, spec) for item in binding["grants"]]
    if "resource" in binding:
        binding["resource"] = _owned(
            binding["resource"], "provider", registry.providers
        )
    return binding


def _grant(grant: JsonObject, spec: Spec[Any]) -> JsonObject:
    """Return a grant with those fields alone that it replaces, no defaults."""
    config = {
        key: spec.by_name[key].kind.normal(item)
        for key, item in grant["config"].items()
    }
    return {**grant, "config": config}
