"""A scope finds its bindings by name."""

from __future__ import annotations

import pytest

from conduck_service.domain.scope import Binding, Scope


def test_a_binding_is_found_by_its_name_or_not_at_all() -> None:
    first = Binding(name="first", executor="command", config=None)
    second = Binding(name="second", executor="command", config=None)
    scope = Scope(id="home", name="Home", bindings=(first, second))
    assert scope.binding("second") is second
    with pytest.raises(LookupError):
        scope.binding("third")
