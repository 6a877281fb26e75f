"""From JSON to scopes: the core's fields, and each owner's config."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from conduck_service.base.diagnostics import Diagnostic, Pointer
from conduck_service.base.jsonio import JsonValue
from conduck_service.config.document import BINDING, EXTENSION, ROUTE, SCOPE
from conduck_service.config.owners import guarded
from conduck_service.domain.scope import Binding, ExtensionEntry, Route, Scope
from conduck_service.extension.registry import Registry
from conduck_service.extension.spec import INVALID, Decoding, Mark, Spec


class _Owner(Protocol):
    @property
    def spec(self) -> Spec[Any]: ...


Entry = TypeVar("Entry", Binding, Route, ExtensionEntry)


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


def decode_scope(
    value: JsonValue, at: Pointer, registry: Registry, into: Decoding
) -> Scope | None:
    """Return the scope, or None after noting everything that is wrong with it."""
    scope = SCOPE.decode(value, at, into)
    bindings = [
        _decode_entry(BINDING, item, place, into, "executor", owners=registry.executors)
        for place, item in entries(value, "bindings", at)
    ]
    routes = [
        _decode_entry(ROUTE, item, place, into, "handler", owners=registry.handlers)
        for place, item in entries(value, "routes", at)
    ]
    extensions = [
        _decode_entry(EXTENSION, item, place, into, "type", owners=registry.ingresses)
        for place, item in entries(value, "extensions", at)
    ]
    if isinstance(scope, Mark) or None in [*bindings, *routes, *extensions]:
        return None
    return replace(
        scope,
        bindings=tuple(filter(None, bindings)),
        routes=tuple(filter(None, routes)),
        extensions=tuple(filter(None, extensions)),
    )


def _decode_entry(
    spec: Spec[Entry],
    value: JsonValue,
    at: Pointer,
    into: Decoding,
    key: str,
    *,
    owners: Mapping[str, _Owner],
) -> Entry | None:
    found = len(into.problems)
    entry = spec.decode(value, at, into)
    config = _decode_config(value, at, into, key, owners=owners)
    owner = owners.get(word(value, key))
    if owner is not None:
        into.problems[found:] = [
            _at_its_level(item, at, spec, owner.spec) for item in into.problems[found:]
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
    own = Decoding(base=into.base)
    with guarded((*at, "config"), own):
        decoded = owners[name].spec.decode(config, (*at, "config"), own)
    # B-DIAG-17: whatever an owner refuses has this one code.
    into.problems.extend(replace(item, code="invalid_config") for item in own.problems)
    return INVALID if own.problems else decoded
