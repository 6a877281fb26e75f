"""The route handler ``chat``: which engine takes which advertised model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from conduck_service.domain.event import CHAT_TURN
from conduck_service.domain.scope import Route, Scope
from conduck_service.extension.handler import EventData, HandlerType
from conduck_service.extension.kinds import ListOf, Text
from conduck_service.extension.spec import Field, Spec

HANDLER = "chat"


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteConfig:
    """Config of a chat route; no models means every model of the entry."""

    models: tuple[str, ...]


def _matches(config: RouteConfig, event_type: str, data: EventData) -> bool:
    return event_type == CHAT_TURN and (
        not config.models or data.get("model") in config.models
    )


CHAT_HANDLER = HandlerType(
    name=HANDLER,
    spec=Spec(
        RouteConfig,
        (
            Field(
                name="models",
                kind=ListOf(Text(), non_empty=True, unique=True),
                default=(),
                doc="Advertised ids that this route takes; all when left out.",
                shown=True,
            ),
        ),
    ),
    matches=_matches,
)


def routes_by_model(scope: Scope, models: Iterable[str]) -> dict[str, list[Route]]:
    """Return, for each advertised id, the chat routes of a scope that take it."""
    found: dict[str, list[Route]] = {model: [] for model in models}
    for route in scope.routes:
        if route.handler == HANDLER:
            for model in route.config.models or found:
                if model in found:
                    found[model].append(route)
    return found
