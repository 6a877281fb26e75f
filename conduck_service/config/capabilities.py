"""Whether executors can do what bindings and routes ask of them."""

from __future__ import annotations

from conduck_service.base.diagnostics import Pointer
from conduck_service.config.declared import DeclaredEntry, Table
from conduck_service.config.inherit import Effective
from conduck_service.domain.scope import ActivePolicy, Binding, Connection, Route
from conduck_service.extension.executor import FEATURES, ExecutorType
from conduck_service.extension.registry import Registry
from conduck_service.extension.spec import Decoding

_CONTROLS = (ActivePolicy.INJECT, ActivePolicy.INTERRUPT)
"""Policies that an executor has to be able to carry out."""


def check_binding(
    binding: Binding,
    at: Pointer,
    registry: Registry,
    connections: dict[str, Connection],
    into: Decoding,
) -> None:
    """Refuse what a binding requires and its executor has not.

    Keeps: B-BIND-04, B-BIND-12, B-BIND-13, B-VALID-07, B-VALID-10, B-VALID-12,
    B-VALID-15.
    """
    owner = registry.executors[binding.executor]
    for feature in FEATURES:
        if feature in binding.requires and not _has(owner, feature, binding):
            into.refuse(
                (*at, "requires", feature),
                "unsupported_capability",
                f"executor {owner.name} has no {feature}",
                _feature_remedy(feature),
            )
    if "workspace" in binding.requires and binding.resource is None:
        into.refuse(
            (*at, "requires", "workspace"),
            "unsupported_capability",
            "a workspace comes from a resource, and the binding has none",
            "add a resource with its provider, or remove the requirement",
        )
    has_operations = binding.operations or any(g.operations for g in binding.grants)
    if has_operations and not owner.has_toolbelt:
        into.refuse(
            (*at, "operations"),
            "unsupported_capability",
            f"executor {owner.name} gives its engines no toolbelt to call them with",
            "remove the operations, or select an executor with a toolbelt",
        )
    _check_connection(binding, at, owner, connections, into)


def _has(owner: ExecutorType, feature: str, binding: Binding) -> bool:
    if feature == "image":
        return owner.executor.capabilities(binding.config).images
    return feature in owner.features


def _feature_remedy(feature: str) -> str:
    remedy = f"select an {feature} executor or remove the requirement"
    if feature in _CONTROLS:
        remedy += " and set route unsupported_fallback=queue"
    return remedy


def _check_connection(
    binding: Binding,
    at: Pointer,
    owner: ExecutorType,
    connections: dict[str, Connection],
    into: Decoding,
) -> None:
    if not owner.connection_types:
        return
    types = " or ".join(owner.connection_types)
    if binding.connection is None:
        into.refuse(
            (*at, "connection"),
            "missing_field",
            f"executor {owner.name} works through a connection, and none is named",
            f"name one of type {types}",
        )
        return
    found = connections.get(binding.connection)
    if found is not None and found.type not in owner.connection_types:
        into.refuse(
            (*at, "connection"),
            "invalid_config",
            f"executor {owner.name} cannot work through a connection of this type",
            f"name one of type {types}",
        )


def check_routes(scope: Effective, registry: Registry, into: Decoding) -> None:
    """Refuse routes whose binding cannot do what the route asks for.

    A pair of which the scope declares neither was looked at where it came together.

    Keeps: B-ROUTE-10, B-VALID-08, B-VALID-09.
    """
    own = {*scope.own(Table.ROUTES), *scope.own(Table.BINDINGS)}
    for item in scope.in_force(Table.ROUTES):
        route = item.entry
        if not isinstance(route, Route):
            continue
        target = scope.entry(Table.BINDINGS, route.binding)
        if target is None or not (item in own or target in own):
            continue
        if isinstance(target.entry, Binding):
            at = item.at if item in own else target.at
            _check_route(route, item, target.entry, at, registry=registry, into=into)


def _check_route(
    route: Route,
    item: DeclaredEntry,
    binding: Binding,
    at: Pointer,
    *,
    registry: Registry,
    into: Decoding,
) -> None:
    is_own = at == item.at
    missing = registry.handlers[route.handler].requires - binding.requires
    for feature in sorted(missing):
        into.refuse(
            (*at, "binding") if is_own else (*at, "requires"),
            "unsupported_capability",
            f"handler {route.handler} of route {route.name!r} needs {feature}, which "
            "the binding does not require",
            f"set requires.{feature} of the binding to true",
        )
    policy = route.active_policy
    owner = registry.executors[binding.executor]
    if policy not in _CONTROLS or policy.value in owner.features:
        return
    if route.unsupported_fallback is None:
        into.refuse(
            (*at, "active_policy") if is_own else (*at, "executor"),
            "unsupported_capability",
            f"executor {owner.name} has no {policy}, which route {route.name!r} wants",
            "select another executor, or set unsupported_fallback to queue or drop",
        )
