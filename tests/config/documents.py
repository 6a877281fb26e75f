"""Strategies for whole documents with the types of a registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from conduck_service.config import document as core
from conduck_service.config import entries, scopes
from conduck_service.extension.registry import Registry
from conduck_service.extension.spec import Spec
from tests.config.generated import NAMES, ODD, object_of

_CONFIG = {"config", "grants", "resource", "secret_refs"}
_TABLES = {"bindings", "routes", "extensions"}
_TOMBSTONES = st.fixed_dictionaries({"name": NAMES, "disabled": st.just(True)})


def documents(registry: Registry) -> st.SearchStrategy[dict[str, Any]]:
    """Return documents of the right shape; what they refer to may not be there."""
    connections = _owned(
        _without(core.CONNECTION, {"config", "secret_refs"}),
        "type",
        registry.connections,
    )
    tables = {
        "bindings": _bindings(registry),
        "routes": _owned(
            _without(entries.ROUTE, {"config"}), "handler", registry.handlers
        ),
        "extensions": _owned(
            _without(entries.EXTENSION, {"config"}), "type", registry.ingresses
        ),
    }
    listed = {
        key: st.lists(items | _TOMBSTONES, max_size=2) for key, items in tables.items()
    }
    scope = _joined(
        object_of(_without(scopes.SCOPE, _TABLES)),
        st.fixed_dictionaries({}, optional=listed),
    )
    return _joined(
        object_of(_without(core.DOCUMENT, {"scopes", "connections"})),
        st.fixed_dictionaries(
            {"scopes": st.lists(scope, min_size=1, max_size=2)},
            optional={"connections": st.lists(connections, max_size=1)},
        ),
    )


def _bindings(registry: Registry) -> st.SearchStrategy[dict[str, Any]]:
    resources = _owned(
        _without(entries.RESOURCE, {"config"}), "provider", registry.providers
    )
    bare = object_of(_without(entries.BINDING, {"config", "grants", "resource"}))
    resource = st.fixed_dictionaries({}, optional={"resource": resources})
    kinds = []
    for name, owner in registry.executors.items():
        own = {"executor": st.just(name)}
        grant = object_of(_without(entries.GRANT, {"config"}))
        if owner.spec is None:
            config: st.SearchStrategy[Any] = st.just({"any": ODD[1]})
            grants = grant
        else:
            config = object_of(owner.spec)
            # Any part of a valid config, the required keys too or not.
            part = object_of(_optional(owner.spec))
            more = st.fixed_dictionaries({}, optional={"config": part})
            grants = _joined(grant, more)
        optional = {"grants": st.lists(grants, max_size=1)}
        table = own | _config(owner.spec, config, optional)
        kinds.append(
            _joined(bare, resource, st.fixed_dictionaries(table, optional=optional))
        )
    return st.one_of(kinds)


def _config(
    spec: Spec[Any] | None,
    config: st.SearchStrategy[Any],
    optional: dict[str, st.SearchStrategy[Any]],
) -> dict[str, st.SearchStrategy[Any]]:
    """Return the config where it is required, else put it among the others."""
    if spec is not None and spec.required:
        return {"config": config}
    optional["config"] = config
    return {}


def _owned(
    core_spec: Spec[Any], key: str, owners: Mapping[str, Any]
) -> st.SearchStrategy[dict[str, Any]]:
    kinds = []
    for name, owner in owners.items():
        optional: dict[str, st.SearchStrategy[Any]] = {}
        config = _config(owner.spec, object_of(owner.spec), optional)
        if slots := getattr(owner, "slots", None):
            references = st.just("file:a") | st.just("cmd:true")
            optional["secret_refs"] = st.dictionaries(
                st.sampled_from(sorted(slots)), references, max_size=1
            )
        table = {key: st.just(name), **config}
        kinds.append(st.fixed_dictionaries(table, optional=optional))
    return _joined(object_of(core_spec), st.one_of(kinds))


def _joined(
    *parts: st.SearchStrategy[dict[str, Any]],
) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(*parts).map(
        lambda found: {k: v for x in found for k, v in x.items()}
    )


def _without(spec: Spec[Any], names: set[str]) -> Spec[Any]:
    return Spec(dict, tuple(item for item in spec.fields if item.name not in names))


def _optional(spec: Spec[Any]) -> Spec[Any]:
    return Spec(dict, tuple(replace(item, default=None) for item in spec.fields))
