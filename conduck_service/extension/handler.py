"""The port that says where an event goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conduck_service.domain.scope import Binding, Route, Scope
from conduck_service.extension.spec import Decoding, Spec

EventData = Mapping[str, int | bool | str]
"""Counts, flags and ids of an event; never content."""


def no_checks(_route: Route, _binding: Binding, _scope: Scope, _into: Decoding) -> None:
    """Find nothing wrong with a route."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerType:
    """A registered route handler: a deterministic function of its event.

    Attributes:
        name: The handler that routes name.
        spec: Describes the route's config.
        matches: Says whether a route with this decoded config takes an event of
            this type with this data.
        requires: Features that the route's binding must require (B-ROUTE-10).
        check: Notes what is wrong between the route and its binding, grants
            included, at pointers relative to the route (B-GRANT-10).
    """

    name: str
    spec: Spec[Any]
    matches: Callable[[Any, str, EventData], bool]
    requires: frozenset[str] = frozenset()
    check: Callable[[Route, Binding, Scope, Decoding], None] = no_checks
