"""The port that says where an event goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conduck_service.extension.spec import Spec

EventData = Mapping[str, int | bool | str]
"""Counts, flags and ids of an event; never content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerType:
    """A registered route handler: a deterministic function of its event.

    Attributes:
        name: The handler that routes name.
        spec: Describes the route's config.
        matches: Says whether a route with this decoded config takes an event of
            this type with this data.
    """

    name: str
    spec: Spec[Any]
    matches: Callable[[Any, str, EventData], bool]
