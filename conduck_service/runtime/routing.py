"""Which route takes an event: the first one in slot order that matches."""

from __future__ import annotations

from conduck_service.domain.scope import Route, Scope
from conduck_service.extension.handler import EventData
from conduck_service.extension.registry import Registry


def route_event(
    scope: Scope, registry: Registry, event_type: str, data: EventData
) -> Route | None:
    """Return the route that takes an event of the scope, or None."""
    for route in scope.routes:
        handler = registry.handlers[route.handler]
        if handler.matches(route.config, event_type, data):
            return route
    return None
