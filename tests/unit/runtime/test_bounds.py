from __future__ import annotations

import pytest

from conduck_service.domain.scope import Limits, Scope, Settings
from conduck_service.runtime.bounds import Bounds, bounds_of
from conduck_service.runtime.journal import Journal, ScopeFullError
from conduck_service.runtime.pools import AgentPool
from tests.unit.runtime.test_journal import EVENT, work

SETTINGS = Settings(ready_limit=10)


def family(**limits: Limits) -> dict[str, Scope]:
    """Return a grandparent, a parent and two children, with these limits."""
    parents = {"top": None, "middle": "top", "anna": "middle", "ben": "middle"}
    return {
        name: Scope(
            id=name, name=name, parent=parent, limits=limits.get(name, Limits())
        )
        for name, parent in parents.items()
    }


def test_a_scope_counts_for_itself_and_for_every_scope_above() -> None:
    scopes = family(
        top=Limits(ready_limit=3, concurrency=2), anna=Limits(concurrency=1)
    )
    assert bounds_of(scopes["anna"], scopes, SETTINGS) == Bounds(
        running=(("anna", 1), ("top", 2)),
        open=(("anna", 10), ("middle", 10), ("top", 3)),
    )
    assert bounds_of(scopes["top"], scopes, SETTINGS) == Bounds(
        running=(("top", 2),), open=(("top", 3),)
    )


@pytest.mark.req("B-SCOPE-08")
def test_children_share_the_admission_limit_of_a_scope_above() -> None:
    scopes = family(middle=Limits(ready_limit=2))
    journal = Journal()
    for number, name in enumerate(("anna", "ben")):
        journal.accept(EVENT, work(str(number), name), _open(scopes, name))
    for name in ("anna", "ben", "middle"):
        with pytest.raises(ScopeFullError):
            journal.accept(EVENT, work("third", name), _open(scopes, name))
    journal.accept(EVENT, work("beside", "top"), _open(scopes, "top"))


@pytest.mark.req("B-SCOPE-07")
def test_children_share_the_slots_of_a_scope_above() -> None:
    scopes = family(middle=Limits(concurrency=1))
    pool = AgentPool(8)
    first = pool.enter("anna", 4, None, _running(scopes, "anna"))
    second = pool.enter("ben", 4, None, _running(scopes, "ben"))
    beside = pool.enter("top", 4, None, _running(scopes, "top"))
    assert (first.is_granted, second.is_granted) == (True, False)
    assert beside.is_granted
    assert not pool.has_room("ben", 0, [None], _running(scopes, "ben"))
    pool.leave(first)
    assert second.is_granted


def test_a_scope_without_limits_waits_for_none() -> None:
    scopes = family()
    pool = AgentPool(0)
    tickets = [pool.enter("q", 0, None, _running(scopes, "anna")) for _ in range(50)]
    assert all(ticket.is_granted for ticket in tickets)


def _open(scopes: dict[str, Scope], name: str) -> tuple[tuple[str, int], ...]:
    return bounds_of(scopes[name], scopes, SETTINGS).open


def _running(scopes: dict[str, Scope], name: str) -> tuple[tuple[str, int], ...]:
    return bounds_of(scopes[name], scopes, SETTINGS).running
