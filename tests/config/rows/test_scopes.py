"""Scopes: what one is, which one it is in, and its limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conduck_service.domain.scope import Authorization, Limits
from tests.config.rows.lab import (
    CANARY,
    TRACKER,
    WORD,
    accepted,
    asked,
    bell,
    binding,
    changed,
    config,
    found,
    route,
    scope,
    scopes_of,
    told,
)

FULL = scope(
    enabled=False,
    limits={"concurrency": 2, "job_concurrency": 1, "ready_limit": 3},
    authorization={
        "connections": ["tracker"],
        "operations": ["work.list"],
        "read_scopes": ["shop"],
        "file_scopes": ["shop"],
    },
    bindings=[binding()],
    routes=[route()],
    extensions=[bell()],
    secret_refs=WORD,
)


@pytest.mark.req("B-SCOPE-01")
def test_a_scope_needs_an_id_and_a_name(tmp_path: Path) -> None:
    value = config(scope(), connections=[TRACKER])
    assert told(tmp_path, value) == []
    (small,) = accepted(value).scopes
    assert (small.id, small.name, small.parent) == ("shop", "A scope", None)
    assert small.enabled
    assert small.limits == Limits()
    assert small.authorization == Authorization()
    assert (small.bindings, small.routes, small.extensions) == ((), (), ())
    assert dict(small.secret_refs) == {}
    assert told(
        tmp_path, changed(changed(value, "scopes/0/id", ...), "scopes/0/name", ...)
    ) == [
        ("scopes/0/id", "missing_field"),
        ("scopes/0/name", "missing_field"),
    ]


@pytest.mark.req("B-SCOPE-01")
def test_a_scope_can_have_all_the_rest(tmp_path: Path) -> None:
    child = scope("corner", parent="shop") | {"name": "Ecke \u2013 hinten"}
    value = config(FULL, child, connections=[TRACKER])
    assert told(tmp_path, value) == []
    shop, corner = accepted(value).scopes
    assert not shop.enabled
    assert shop.limits == Limits(concurrency=2, job_concurrency=1, ready_limit=3)
    assert shop.authorization == Authorization(
        connections=frozenset({"tracker"}),
        operations=frozenset({"work.list"}),
        read_scopes=frozenset({"shop"}),
        file_scopes=frozenset({"shop"}),
    )
    assert [item.name for item in shop.bindings] == ["clerk"]
    assert [item.name for item in shop.routes] == ["all"]
    assert [item.name for item in shop.extensions] == ["door"]
    assert dict(shop.secret_refs) == WORD
    assert (corner.parent, corner.name) == ("shop", "Ecke \u2013 hinten")


WRONG: list[tuple[str, Any, str, str]] = [
    ("id", "Shop", "id", "invalid_identifier"),
    ("id", "", "id", "invalid_identifier"),
    ("id", "a" * 64, "id", "invalid_identifier"),
    ("id", "../etc", "id", "invalid_identifier"),
    ("name", "", "name", "invalid_config"),
    ("name", 7, "name", "invalid_type"),
    ("enabled", "yes", "enabled", "invalid_type"),
    ("enabled", None, "enabled", "null_value"),
    ("parent", 7, "parent", "invalid_type"),
    ("limits", [], "limits", "invalid_type"),
    ("limits", {"ready_limit": 0}, "limits/ready_limit", "invalid_config"),
    ("limits", {"concurrency": 0}, "limits/concurrency", "invalid_config"),
    ("authorization", [], "authorization", "invalid_type"),
    ("bindings", {}, "bindings", "invalid_type"),
    ("routes", "x", "routes", "invalid_type"),
    ("extensions", 7, "extensions", "invalid_type"),
    ("secret_refs", [], "secret_refs", "invalid_type"),
    ("secret_refs", {"word": CANARY}, "secret_refs/word", "invalid_secret_ref"),
    ("secret_refs", {"word": True}, "secret_refs/word", "invalid_type"),
]


@pytest.mark.parametrize(("key", "value", "at", "code"), WRONG)
def test_a_wrong_key_of_a_scope_is_told(
    key: str, value: Any, at: str, code: str
) -> None:
    assert found(config(scope() | {key: value})) == [(f"scopes/0/{at}", code)]


@pytest.mark.req("B-SCOPE-02")
def test_a_parent_has_to_be_there(tmp_path: Path) -> None:
    value = config(scope(), scope("corner", parent="shopp"), scope("x", parent="nope"))
    assert told(tmp_path, value) == [
        ("scopes/1/parent", "unknown_reference"),
        ("scopes/2/parent", "unknown_reference"),
    ]
    _, answer, _ = asked(tmp_path, value)
    assert "'shop'" in answer["problems"][0]["remedy"]
    assert "corner" in answer["problems"][1]["remedy"]


def ring(size: int) -> list[dict[str, Any]]:
    """Return scopes of which each is in the next one, the last in the first."""
    return [scope(f"s{at}", parent=f"s{(at + 1) % size}") for at in range(size)]


@pytest.mark.req("B-SCOPE-03")
@pytest.mark.parametrize("size", [1, 2, 3, 60])
def test_no_scope_is_in_itself(size: int, tmp_path: Path) -> None:
    outside = scope("outside", parent="s0", enabled=True)
    assert told(tmp_path, config(*ring(size), outside, scope("fine"))) == [
        (f"scopes/{at}/parent", "scope_cycle") for at in range(size)
    ]


def test_a_parent_may_stand_after_its_child() -> None:
    value = config(
        scope("leaf", parent="twig"), scope("twig", parent="root"), scope("root")
    )
    assert list(scopes_of(value)) == ["leaf", "twig", "root"]


@pytest.mark.req("B-SCOPE-04")
@pytest.mark.parametrize("off", [None, "root", "twig", "leaf"])
def test_a_scope_is_on_when_all_above_it_are(off: str | None, tmp_path: Path) -> None:
    names = ["root", "twig", "leaf"]
    chain = [
        scope(name, enabled=name != off, **({"parent": above} if above else {}))
        for name, above in zip(names, [None, *names], strict=False)
    ]
    value = config(*chain, scope("other"))
    assert told(tmp_path, value) == []
    is_on = {name: item.enabled for name, item in scopes_of(value).items()}
    last = names.index(off) if off else len(names)
    assert is_on == {name: at < last for at, name in enumerate(names)} | {"other": True}


LIMITS = ("concurrency", "job_concurrency", "ready_limit")


@pytest.mark.req("B-SCOPE-05")
@pytest.mark.parametrize("key", LIMITS)
def test_a_limit_only_narrows_those_above(key: str, tmp_path: Path) -> None:
    def limited(*limits: int | None) -> dict[str, Any]:
        return config(
            *(
                scope(
                    f"s{at}",
                    limits={} if limit is None else {key: limit},
                    **({"parent": f"s{at - 1}"} if at else {}),
                )
                for at, limit in enumerate(limits)
            )
        )

    def refused(*limits: int | None) -> list[int]:
        problems = found(limited(*limits))
        assert {code for _, code in problems} <= {"limit_exceeds_parent"}
        assert all(at.endswith(f"/limits/{key}") for at, _ in problems)
        return [int(at.split("/")[1]) for at, _ in problems]

    assert refused(3, 3, 2, 2) == []
    assert refused(2, 3) == [1]
    assert refused(2, None, 3) == [2]  # of the nearest scope above that has one
    assert refused(3, 2, 3) == [2]
    assert refused(2, 4, 3) == [1, 2]
    assert told(tmp_path, limited(2, 3)) == [
        (f"scopes/1/limits/{key}", "limit_exceeds_parent")
    ]


@pytest.mark.req("B-SCOPE-05", "B-SCOPE-06")
@pytest.mark.parametrize("key", LIMITS)
def test_a_limit_is_not_above_the_setting(key: str, tmp_path: Path) -> None:
    value = config(scope(limits={key: 4}), settings={key: 3})
    assert told(tmp_path, value) == [(f"scopes/0/limits/{key}", "limit_exceeds_parent")]
    assert (
        found(changed(value, "settings", {"extensions": {"sample": {}}, key: 4})) == []
    )
    default = 10 if key == "ready_limit" else 4
    assert found(config(scope(limits={key: default}))) == []
    assert found(config(scope(limits={key: default + 1}))) != []


@pytest.mark.parametrize("key", ["concurrency", "job_concurrency"])
def test_a_setting_of_0_bounds_no_scope(key: str) -> None:
    value = config(
        scope(limits={key: 50}),
        scope("corner", parent="shop", limits={key: 51}),
        settings={key: 0},
    )
    assert found(value) == [(f"scopes/1/limits/{key}", "limit_exceeds_parent")]
