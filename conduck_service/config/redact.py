"""A config for eyes: without references, commands and what owners keep back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conduck_service.base.jsonio import JsonValue
from conduck_service.config.document import CONNECTION, DOCUMENT
from conduck_service.config.entries import (
    BINDING,
    EXTENSION,
    GRANT,
    RESOURCE,
    ROUTE,
    TOMBSTONE,
)
from conduck_service.config.fields import (
    Entries,
    Owned,
    SecretOverlay,
    SecretReference,
)
from conduck_service.extension.kinds import ListOf, MapOf, Object
from conduck_service.extension.registry import Registry
from conduck_service.extension.spec import INVALID, Decoding, Kind, Spec

REDACTED = "[redacted]"
"""Stands for a secret reference; the name of the secret stays."""

SET = "[set]"
"""Stands for a value that is there and not shown."""

_SECRETS = "secret_refs"

_OWNERS: tuple[tuple[Spec[Any], str, str], ...] = (
    (BINDING, "executor", "executors"),
    (ROUTE, "handler", "handlers"),
    (EXTENSION, "type", "ingresses"),
    (CONNECTION, "type", "connections"),
    (RESOURCE, "provider", "providers"),
)
"""Objects with a config of an owner: the key that names it, and where it is
registered."""


def hide_references(value: JsonValue) -> JsonValue:
    """Return a parsed config with nothing hidden but secret references.

    Whatever stands under a key ``secret_refs`` is hidden, wherever that is: in a
    faulty config it may be the secret itself.

    Keeps: B-CLI-03.
    """
    if isinstance(value, list):
        return [hide_references(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _hidden(item) if key == _SECRETS else hide_references(item)
        for key, item in value.items()
    }


def redacted(value: JsonValue, registry: Registry) -> JsonValue:
    """Return a parsed config with only what may be shown of it.

    Of what the core describes everything is shown that is valid in its place; what
    is not may be a secret that was put in the wrong one. Of an owner's config only
    those fields are shown of which their Spec says so.

    Keeps: B-CLI-03.
    """
    return _Redaction(registry).object(DOCUMENT, value, None)


def _hidden(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _hidden(item) for key, item in value.items()}
    # False takes an inherited name away and tells nothing.
    return False if value is False else REDACTED


class _Redaction:
    """One pass over a config; it never refuses anything.

    Args:
        registry: Knows the owners.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def object(
        self, spec: Spec[Any], value: JsonValue, above: Spec[Any] | None
    ) -> JsonValue:
        """Return what may be shown of an object of the core.

        Args:
            spec: Describes it.
            value: What the config has in its place.
            above: Describes the owner's config of what it stands in, if that has one.
        """
        if not isinstance(value, dict):
            return SET
        if "disabled" in value and spec in (BINDING, ROUTE, EXTENSION):
            spec = TOMBSTONE
        owner = above if spec is GRANT else self._owner(spec, value)
        fields = {field.name: field.kind for field in spec.fields}
        return {
            key: self._value(fields[key], item, owner) if key in fields else SET
            for key, item in value.items()
        }

    def _owner(
        self, spec: Spec[Any], value: Mapping[str, JsonValue]
    ) -> Spec[Any] | None:
        for described, key, table in _OWNERS:
            name = value.get(key)
            if spec is described and isinstance(name, str):
                found = getattr(self._registry, table).get(name)
                return found.spec if found else None
        return None

    def _value(
        self, kind: Kind, value: JsonValue, owner: Spec[Any] | None
    ) -> JsonValue:
        if isinstance(kind, Entries | ListOf) and isinstance(value, list):
            inner = Object(kind.spec) if isinstance(kind, Entries) else kind.item
            return [self._value(inner, item, owner) for item in value]
        if isinstance(kind, Object):
            return self.object(kind.spec, value, owner)
        if isinstance(kind, MapOf) and isinstance(value, dict):
            return {
                key: self._value(kind.value, item, owner) for key, item in value.items()
            }
        if isinstance(kind, SecretReference | SecretOverlay):
            return _hidden(value)
        if isinstance(kind, Owned):
            return _owned(owner, value)
        return value if _is_valid(kind, value) else SET


def _owned(spec: Spec[Any] | None, value: JsonValue) -> JsonValue:
    if not isinstance(value, dict):
        return SET
    shown = (
        {field.name: field.kind for field in spec.fields if field.shown} if spec else {}
    )
    return {
        key: item if key in shown and _is_valid(shown[key], item) else SET
        for key, item in value.items()
    }


def _is_valid(kind: Kind, value: JsonValue) -> bool:
    into = Decoding(base=Path("/"))
    return kind.decode(value, (), into) is not INVALID and not into.problems
