"""The first route in slot order that matches takes an event."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from conduck_service.domain.event import CHAT_TURN
from conduck_service.extension.executor import Completed
from conduck_service.runtime.routing import route_event
from tests.support.core import ScriptedExecutor, registry_of, scope_of

REGISTRY = registry_of(ScriptedExecutor(lambda _context: Completed(answer="x")))


def test_the_first_match_takes_the_event(tmp_path: Path) -> None:
    scope = scope_of(tmp_path, {"one": {}, "two": {}})
    first, second = scope.routes
    both = {"models": ("one", "two")}
    scope = replace(
        scope, routes=(replace(first, config=both), replace(second, config=both))
    )
    route = route_event(scope, REGISTRY, CHAT_TURN, {"model": "two"})
    assert route is not None
    assert route.name == "one"


def test_a_route_that_does_not_match_is_passed_over(tmp_path: Path) -> None:
    scope = scope_of(tmp_path, {"one": {}, "two": {}})
    route = route_event(scope, REGISTRY, CHAT_TURN, {"model": "two"})
    assert route is not None
    assert route.binding == "two"


def test_an_event_that_nobody_takes_has_no_route(tmp_path: Path) -> None:
    scope = scope_of(tmp_path, {"one": {}})
    assert route_event(scope, REGISTRY, CHAT_TURN, {"model": "three"}) is None
