"""The limits that hold for a scope: its own and those of every scope above it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from conduck_service.domain.scope import Scope, Settings

Bound = tuple[str, int]
"""Id of a scope, and how much it and the scopes below it may have together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a scope and those above it may have (B-SCOPE-07, B-SCOPE-08).

    Attributes:
        running: Agent turns at once, of those scopes that set a limit.
        open: Ready plus running Work.
    """

    running: tuple[Bound, ...] = ()
    open: tuple[Bound, ...] = ()


def bounds_of(scope: Scope, scopes: Mapping[str, Scope], settings: Settings) -> Bounds:
    """Return the bounds of a scope.

    Args:
        scope: The scope.
        scopes: All scopes by id.
        settings: Has the limit of Work for scopes that set none.
    """
    lineage = list(_lineage(scope, scopes))
    return Bounds(
        running=tuple(
            (item.id, item.limits.concurrency)
            for item in lineage
            if item.limits.concurrency is not None
        ),
        open=tuple(
            (item.id, item.limits.ready_limit or settings.ready_limit)
            for item in lineage
        ),
    )


def _lineage(scope: Scope, scopes: Mapping[str, Scope]) -> Iterator[Scope]:
    item: Scope | None = scope
    while item is not None:
        yield item
        item = scopes[item.parent] if item.parent else None
