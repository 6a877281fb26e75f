"""The ceiling of a scope: what its bindings can be given at most."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conduck_service.domain.scope import Authorization
from tests.config.rows.lab import (
    TRACKER,
    accepted,
    asked,
    binding,
    checked,
    config,
    found,
    scope,
    scopes_of,
    told,
)

CONNECTIONS = [TRACKER, {"id": "archive", "type": "other"}]

WORK = ["work.create", "work.cancel", "work.list"]

WHOLE: dict[str, list[str]] = {
    "connections": ["tracker"],
    "operations": ["work.create", "work.list"],
    "read_scopes": ["corner"],
    "file_scopes": ["shop"],
}

WIDER = {
    "connections": "archive",
    "operations": "work.cancel",
    "read_scopes": "shop",
    "file_scopes": "corner",
}
"""What stands in none of those lists, though it is there."""

LISTS = tuple(WHOLE)


def household(
    above: dict[str, Any] | None, below: dict[str, Any] | None
) -> dict[str, Any]:
    """Return a document with two scopes, each with its authorization or none."""
    shop, corner = scope(), scope("corner", parent="shop")
    if above is not None:
        shop["authorization"] = above
    if below is not None:
        corner["authorization"] = below
    return config(shop, corner, connections=CONNECTIONS)


def ceiling(value: Any, name: str = "shop") -> Authorization:
    return scopes_of(value)[name].authorization


def as_lists(made: Authorization) -> dict[str, list[str]]:
    return {key: sorted(getattr(made, key)) for key in LISTS}


UNKNOWN = {
    "connections": ("nope", "unknown_reference", "tracker"),  # B-AUTHZ-01
    "operations": ("work.destroy", "unregistered", "tracker.file"),  # B-AUTHZ-02
    "read_scopes": ("nope", "unknown_reference", "corner"),
    "file_scopes": ("nope", "unknown_reference", "corner"),
}


@pytest.mark.req("B-AUTHZ-01", "B-AUTHZ-02")
@pytest.mark.parametrize("key", LISTS)
def test_what_a_list_names_has_to_be_there(key: str, tmp_path: Path) -> None:
    name, code, known = UNKNOWN[key]
    value = household({key: [*WHOLE[key], name]}, None)
    place = f"scopes/0/authorization/{key}/{len(WHOLE[key])}"
    assert told(tmp_path, value) == [(place, code)]
    _, answer, _ = asked(tmp_path, value)
    assert (
        known in answer["problems"][0]["remedy"]
        or "mean" in answer["problems"][0]["remedy"]
    )
    assert getattr(ceiling(household({key: WHOLE[key]}, None)), key) == set(WHOLE[key])


@pytest.mark.req("B-AUTHZ-03", "B-AUTHZ-17")
def test_a_toolset_stands_for_what_it_holds(tmp_path: Path) -> None:
    value = config(
        scope(
            authorization={"operations": ["@work"]},
            bindings=[binding(operations=["@work"]), binding("two", operations=WORK)],
        )
    )
    assert told(tmp_path, value) == []
    (shop,) = accepted(value).scopes
    assert shop.authorization.operations == set(WORK)
    assert [item.operations for item in shop.bindings] == [frozenset(WORK)] * 2
    outside = binding("three", operations=["tracker.file"])
    value["scopes"][0]["bindings"].append(outside)
    assert told(tmp_path, value) == [
        ("scopes/0/bindings/2/operations/0", "not_authorized")
    ]


@pytest.mark.req("B-AUTHZ-17")
def test_the_normal_form_has_names_of_operations_only(tmp_path: Path) -> None:
    def made(lists: list[str], less: list[str]) -> dict[str, Any]:
        grants = [{"name": "more", "operations": less}]
        clerk = binding(operations=less, grants=grants)
        return config(scope(authorization={"operations": lists}, bindings=[clerk]))

    by_toolset = made(["@work", "tracker.file"], ["@work", "!work.cancel"])
    by_name = made([*WORK, "tracker.file"], ["work.create", "work.list"])
    normal = checked(by_toolset).normal
    assert isinstance(normal, dict)
    assert normal == checked(by_name).normal
    (shop,) = normal["scopes"]
    assert shop["authorization"]["operations"] == [*WORK, "tracker.file"]
    (clerk,) = shop["bindings"]
    assert clerk["operations"] == ["work.create", "work.list"]
    assert clerk["grants"][0]["operations"] == ["work.create", "work.list"]
    assert asked(tmp_path, by_toolset)[1]["hash"] == asked(tmp_path, by_name)[1]["hash"]


DENIED: list[tuple[list[str], list[str]]] = [
    (["@work", "!work.cancel"], ["work.create", "work.list"]),
    (["!work.cancel", "@work"], ["work.create", "work.list"]),
    (["work.cancel", "!work.cancel"], []),
    (["!work.cancel"], []),
    (["work.list", "@work", "!work.cancel", "!work.create"], ["work.list"]),
]


@pytest.mark.req("B-AUTHZ-04")
@pytest.mark.parametrize(("lists", "left"), DENIED)
def test_a_denial_takes_an_operation_out(lists: list[str], left: list[str]) -> None:
    value = config(scope(authorization={"operations": lists}))
    assert sorted(ceiling(value).operations) == left


@pytest.mark.req("B-AUTHZ-04")
def test_a_binding_cannot_have_what_is_denied(tmp_path: Path) -> None:
    denied = {"operations": ["@work", "!work.cancel"]}
    bindings = [binding(operations=["work.create"]), binding("b", operations=["@work"])]
    bindings.append(binding("c", operations=["@work", "!work.cancel"]))
    bindings.append(binding("d", operations=["work.list", "work.cancel"]))
    assert told(tmp_path, config(scope(authorization=denied, bindings=bindings))) == [
        ("scopes/0/bindings/1/operations/0", "not_authorized"),
        ("scopes/0/bindings/3/operations/1", "not_authorized"),
    ]


@pytest.mark.req("B-AUTHZ-08")
def test_a_root_without_a_word_is_granted_nothing(tmp_path: Path) -> None:
    bindings = [
        binding("a", operations=["work.list"]),
        binding("b", connection="tracker"),
        binding("c", grants=[{"name": "more", "operations": ["work.list"]}]),
    ]
    value = config(scope(bindings=bindings), connections=CONNECTIONS)
    assert told(tmp_path, value) == [
        ("scopes/0/bindings/0/operations/0", "not_authorized"),
        ("scopes/0/bindings/1/connection", "not_authorized"),
        ("scopes/0/bindings/2/grants/0/operations/0", "not_authorized"),
    ]
    assert ceiling(config(scope())) == Authorization()


@pytest.mark.req("B-AUTHZ-09")
def test_a_child_without_a_word_has_what_its_parent_has(tmp_path: Path) -> None:
    value = household(WHOLE, None)
    bindings = [binding(operations=["work.list"], connection="tracker")]
    value["scopes"][1]["bindings"] = bindings
    assert told(tmp_path, value) == []
    made = scopes_of(value)
    assert made["corner"].authorization == made["shop"].authorization
    assert as_lists(made["corner"].authorization) == WHOLE


@pytest.mark.req("B-AUTHZ-09")
@pytest.mark.parametrize("key", LISTS)
def test_each_list_that_is_left_out_is_that_of_the_parent(key: str) -> None:
    made = ceiling(household(WHOLE, {key: []}), "corner")
    assert as_lists(made) == WHOLE | {key: []}


SUBSET = {
    "connections": "B-AUTHZ-10",
    "operations": "B-AUTHZ-11",
    "read_scopes": "B-AUTHZ-12",
    "file_scopes": "B-AUTHZ-13",
}


@pytest.mark.req("B-AUTHZ-10", "B-AUTHZ-11", "B-AUTHZ-12", "B-AUTHZ-13")
def test_a_child_has_nothing_that_its_parent_has_not(tmp_path: Path) -> None:
    below = {key: [*WHOLE[key], WIDER[key]] for key in LISTS}
    problems = told(tmp_path, household(WHOLE, below))
    for key, row in SUBSET.items():
        place = f"scopes/1/authorization/{key}/{len(WHOLE[key])}"
        assert (place, "not_authorized") in problems, row
    assert len(problems) == len(SUBSET)
    assert found(household(WHOLE, WHOLE)) == []


@pytest.mark.req("B-AUTHZ-10", "B-AUTHZ-11", "B-AUTHZ-12", "B-AUTHZ-13")
@pytest.mark.parametrize("key", LISTS)
def test_the_list_that_counts_is_the_one_in_effect_above(
    key: str, tmp_path: Path
) -> None:
    value = household(WHOLE, {key: []})
    leaf = scope("leaf", parent="corner", authorization={key: WHOLE[key][:1]})
    value["scopes"].append(leaf)
    assert told(tmp_path, value) == [
        (f"scopes/2/authorization/{key}/0", "not_authorized")
    ]
    # A list that nobody in between mentions comes from further above.
    value["scopes"][1] = scope("corner", parent="shop", authorization={})
    assert found(value) == []


@pytest.mark.req("B-AUTHZ-15")
@pytest.mark.parametrize("word", ["*", "work.*", "@*", "!*", "!@work", "**", "%"])
def test_no_list_has_a_wildcard(word: str, tmp_path: Path) -> None:
    lists = {key: [word] for key in LISTS}
    value = household(lists, None)
    value["scopes"][0]["bindings"] = [binding(operations=[word])]
    problems = found(value)
    for key in LISTS:
        assert f"scopes/0/authorization/{key}/0" in [at for at, _ in problems]
    assert "scopes/0/bindings/0/operations/0" in [at for at, _ in problems]
    if word == "*":
        assert told(tmp_path, value) == problems


@pytest.mark.req("B-AUTHZ-18")
def test_an_unknown_toolset_is_told_with_the_known_ones(tmp_path: Path) -> None:
    value = config(
        scope(
            authorization={"operations": ["@nope", "@work"]},
            bindings=[binding(operations=["@wor"])],
        )
    )
    status, answer, _ = asked(tmp_path, value)
    assert status == 1
    assert [(item["path"], item["code"]) for item in answer["problems"]] == [
        ("scopes/0/authorization/operations/0", "unregistered"),
        ("scopes/0/bindings/0/operations/0", "unregistered"),
    ]
    assert all("@work" in item["remedy"] for item in answer["problems"])


def test_a_name_stands_once_in_a_list() -> None:
    twice = {key: [*WHOLE[key], WHOLE[key][0]] for key in LISTS}
    assert found(household(twice, None)) == [
        (f"scopes/0/authorization/{key}/{len(WHOLE[key])}", "duplicate_name")
        for key in sorted(LISTS)
    ]
