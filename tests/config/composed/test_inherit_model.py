"""Random forests of scopes against a naive model of what is in force in them.

The model is written from the rules alone: it looks at the whole line of a scope
from the root down, each time anew, and knows nothing of how the check does it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conduck_service.config.check import Checked, check_document
from tests.config.composed.desk import (
    bell,
    binding,
    document,
    gone,
    own_registry,
    route,
    scope,
)

TABLES = ("bindings", "routes", "extensions")
NAMES = ("a", "b", "c", "d")
BASE = "base"
"""A binding and a secret of each root, which nobody takes away."""

Forest = list[dict[str, Any]]


@st.composite
def forests(draw: st.DrawFn) -> Forest:
    """Return scopes, each with its parent before it."""
    made: Forest = []
    for index in range(draw(st.integers(1, 6))):
        above = draw(st.sampled_from([None, *made])) if made else None
        made.append(draw(scopes(f"scope{index}", above)))
    return made


@st.composite
def scopes(draw: st.DrawFn, name: str, above: dict[str, Any] | None) -> dict[str, Any]:
    value = scope(name, "" if above is None else above["id"])
    if draw(st.booleans()):
        value["enabled"] = draw(st.booleans())
    for table in TABLES:
        chosen = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
        value[table] = [
            _entry(table, item, name, draw(st.booleans())) for item in chosen
        ]
    kept = st.sampled_from([False, f"env:{name.upper()}"])
    value["secret_refs"] = draw(st.dictionaries(st.sampled_from(NAMES), kept))
    if above is None:
        value["bindings"].append(binding(BASE, "plain"))
        value["secret_refs"][BASE] = "env:BASE"
    return value


def _entry(table: str, name: str, where: str, is_gone: bool) -> dict[str, Any]:
    """Return an entry that tells where it was declared."""
    if is_gone:
        return gone(name)
    if table == "bindings":
        return binding(name, "plain", config={"say": where})
    if table == "routes":
        return route(name, BASE, config={"allowed": [where]})
    return bell(name, where, BASE)


def _declared_in(table: str, entry: Any) -> str:
    if table == "bindings":
        return str(entry.config.say)
    if table == "routes":
        return str(entry.config.allowed[0])
    return str(entry.config.scope)


def line_of(forest: Forest, value: dict[str, Any]) -> Forest:
    """Return the scopes from the root down to this one."""
    by_id = {item["id"]: item for item in forest}
    line = [value]
    while parent := line[0].get("parent"):
        line.insert(0, by_id[parent])
    return line


def nearest(line: Forest, table: str, name: str) -> tuple[str, dict[str, Any]] | None:
    """Return the last entry of a name in a line, with the scope that has it."""
    found = [
        (item["id"], entry)
        for item in line
        for entry in item[table]
        if entry["name"] == name
    ]
    return found[-1] if found else None


def in_force(line: Forest, table: str) -> list[tuple[str, str]]:
    """Return name and declaring scope of each entry, in slot order."""
    slots: list[str] = []
    for item in line:
        slots += [e["name"] for e in item[table] if e["name"] not in slots]
    found = [(name, nearest(line, table, name)) for name in slots]
    return [
        (name, entry[0])
        for name, entry in found
        if entry is not None and "disabled" not in entry[1]
    ]


def secrets_of(line: Forest) -> dict[str, Any]:
    overlaid: dict[str, Any] = {}
    for item in line:
        overlaid = {**overlaid, **item["secret_refs"]}
    return {name: text for name, text in overlaid.items() if text is not False}


def faults_of(forest: Forest) -> Iterator[str]:
    """Yield the place of each tombstone that has nothing to take away."""
    for index, value in enumerate(forest):
        above = line_of(forest, value)[:-1]
        for table in TABLES:
            known = {name for name, _ in in_force(above, table)}
            for number, entry in enumerate(value[table]):
                if "disabled" in entry and entry["name"] not in known:
                    yield f"scopes/{index}/{table}/{number}/name"
        for name, text in value["secret_refs"].items():
            if text is False and name not in secrets_of(above):
                yield f"scopes/{index}/secret_refs/{name}"


def check(forest: Forest) -> Checked:
    return check_document(
        json.dumps(document(*forest)),
        base=Path("/nowhere/config"),
        registry=own_registry(),
        environment={},
        state_dir=None,
    )


def mended(forest: Forest) -> Forest:
    """Return the forest without the tombstones that have nothing to take away."""
    while faults := [place.split("/") for place in faults_of(forest)]:
        for place in sorted(faults, reverse=True):
            table = forest[int(place[1])][place[2]]
            del table[place[3] if isinstance(table, dict) else int(place[3])]
    return forest


@pytest.mark.req("B-TOMB-05")
@given(forests())
@settings(max_examples=80, deadline=None)
def test_tombstones_of_nothing_are_found_and_nothing_else(forest: Forest) -> None:
    found = check(forest).problems
    assert sorted(item.place for item in found) == sorted(faults_of(forest))
    assert {item.code for item in found} <= {"unknown_tombstone"}


@pytest.mark.req("B-INHERIT-01", "B-INHERIT-02", "B-INHERIT-03", "B-INHERIT-04")
@pytest.mark.req("B-INHERIT-06", "B-TOMB-04", "B-TOMB-07", "B-TOMB-08")
@given(forests(), st.randoms(use_true_random=False))
@settings(max_examples=80, deadline=None)
def test_what_is_in_force_is_what_the_rules_say(
    forest: Forest, shuffled: random.Random
) -> None:
    forest = mended(forest)
    turned = list(forest)
    shuffled.shuffle(turned)
    for given_order in (forest, turned):
        found = check(given_order)
        assert found.problems == []
        assert found.document is not None
        made = {item.id: item for item in found.document.scopes}
        assert list(made) == [item["id"] for item in given_order]
        for value in forest:
            line = line_of(forest, value)
            effective = made[value["id"]]
            for table in TABLES:
                entries = [
                    (entry.name, _declared_in(table, entry))
                    for entry in getattr(effective, table)
                    if entry.name != BASE
                ]
                assert entries == [
                    item for item in in_force(line, table) if item[0] != BASE
                ]
            assert dict(effective.secret_refs) == secrets_of(line)
            assert effective.enabled == all(item.get("enabled", True) for item in line)
