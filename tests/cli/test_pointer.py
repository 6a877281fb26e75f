"""Places in a config: what leads somewhere, and that nothing else happens."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conduck_service.config.pointer import PointerError, get, put, remove, steps_of
from conduck_service.config.redact import hide_references, redacted
from conduck_service.daemon.registry import build_registry

WORDS = st.sampled_from(
    [
        *[
            "scopes",
            "settings",
            "secret_refs",
            "bindings",
            "config",
            "name",
            "id",
            "grants",
            "resource",
        ],
        *["executor", "command", "home", "disabled", "0", "1", "-", "a/b"],
        "",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4)
    ),
    max_leaves=12,
)
STEPS = st.lists(WORDS, min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("", ()),
        ("/", ()),
        ("a/0", ("a", "0")),
        ("/a/0", ("a", "0")),
        ("a~1b/~0", ("a/b", "~")),
        ("~01", ("~1",)),
        ("a//b", ("a", "", "b")),
    ],
)
def test_a_pointer_has_steps(text: str, steps: tuple[str, ...]) -> None:
    assert steps_of(text) == steps


def test_an_entry_is_meant_by_its_id_and_not_by_its_label() -> None:
    kids, guest = {"id": "kids", "name": "guest"}, {"id": "guest", "name": "Guests"}
    value: Any = {"scopes": [kids, guest], "bindings": [{"name": "agent"}]}
    assert get(value, ("scopes", "guest")) is guest
    assert get(value, ("bindings", "agent")) == {"name": "agent"}
    put(value, ("scopes", "guest", "name"), "x")
    assert kids == {"id": "kids", "name": "guest"}
    with pytest.raises(PointerError):
        get(value, ("scopes", "x"))
    remove(value, ("scopes", "guest"))
    assert value["scopes"] == [kids]


def test_two_entries_of_one_name_are_not_told_apart_by_it() -> None:
    value: Any = [{"name": "a"}, {"name": "b"}, {"id": "a"}]
    before = copy.deepcopy(value)
    for act in (get, remove):
        with pytest.raises(PointerError, match="number: 0 or 2"):
            act(value, ("a",))
    with pytest.raises(PointerError, match="number: 0 or 2"):
        put(value, ("a", "x"), 1)
    assert value == before
    assert get(value, ("2",)) == {"id": "a"}


@settings(deadline=None)
@given(value=JSON, steps=STEPS, new=JSON)
def test_what_was_put_is_there_or_nothing_was_changed(
    value: Any, steps: list[str], new: Any
) -> None:
    before = copy.deepcopy(value)
    try:
        put(value, steps, new)
    except PointerError as error:
        assert value == before
        assert error.reason
        assert error.remedy
    else:
        try:
            assert get(value, steps) == new
        except PointerError:
            assert value != before  # one entry more, or one that is called otherwise


@settings(deadline=None)
@given(value=JSON, steps=STEPS)
def test_what_was_removed_had_been_there(value: Any, steps: list[str]) -> None:
    before = copy.deepcopy(value)
    try:
        remove(value, steps)
    except PointerError:
        assert value == before
        with pytest.raises(PointerError):
            get(value, steps)
    else:
        get(before, steps)


@settings(deadline=None, max_examples=300)
@given(value=JSON)
def test_anything_can_be_redacted(value: Any) -> None:
    registry = build_registry({})
    shown = redacted(
        {"version": 1, "scopes": [value], "connections": [value]}, registry
    )
    assert len(shown["scopes"]) == 1
    hide_references(value)
