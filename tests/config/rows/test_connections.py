"""Connections: defined once for the whole config, used where the ceiling allows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.config.rows.lab import (
    CANARY,
    TRACKER,
    WORD,
    accepted,
    asked,
    bell,
    binding,
    config,
    found,
    scope,
    told,
)

ARCHIVE = {"id": "archive", "type": "other"}


@pytest.mark.req("B-CONN-01")
def test_a_connection_arrives_with_its_config_and_slots(tmp_path: Path) -> None:
    whole = TRACKER | {"config": {"server": "desk"}}
    value = config(scope(), connections=[whole, ARCHIVE])
    assert told(tmp_path, value) == []
    made = accepted(value).connections
    assert list(made) == ["tracker", "archive"]
    assert made["tracker"].type == "account"
    assert made["tracker"].config.server == "desk"
    assert dict(made["tracker"].secret_refs) == {"token": "file:token"}
    assert made["archive"].config.server == "tracker"  # the default of its type
    assert dict(made["archive"].secret_refs) == {}


@pytest.mark.req("B-CONN-01", "B-CONN-02", "B-CONN-05")
def test_wrong_connections_are_told_one_by_one(tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [
        {"type": "account"},
        {"id": "b"},
        {"id": "c", "type": "nope"},
        {"id": "d", "type": "account", "config": {"host": CANARY}},
        {"id": "e", "type": "account", "secret_refs": {"key": "file:key"}},
        {"id": "f", "type": "other", "secret_refs": {"token": "file:token"}},
        {"id": "g", "type": "account", "secret_refs": {"token": CANARY}},
        {"id": "h", "type": "account", "secret_refs": {"token": False}},
    ]
    assert told(tmp_path, config(scope(), connections=wrong)) == [
        ("connections/0/id", "missing_field"),
        ("connections/1/type", "missing_field"),
        ("connections/2/type", "unregistered"),
        ("connections/3/config/host", "invalid_config"),
        ("connections/4/secret_refs/key", "unknown_field"),
        ("connections/5/secret_refs/token", "unknown_field"),
        ("connections/6/secret_refs/token", "invalid_secret_ref"),
        ("connections/7/secret_refs/token", "invalid_type"),
    ]


@pytest.mark.req("B-CONN-03", "B-BIND-02", "B-EXT-02")
def test_a_connection_is_used_where_its_scope_is_granted_it(tmp_path: Path) -> None:
    def using(**authorization: Any) -> dict[str, Any]:
        shop = scope(
            authorization=authorization,
            bindings=[binding(connection="tracker")],
            extensions=[bell(connection="tracker")],
            secret_refs=WORD,
        )
        return config(shop, scope("next"), connections=[TRACKER, ARCHIVE])

    places = ("scopes/0/bindings/0/connection", "scopes/0/extensions/0/connection")
    refused = [(place, "not_authorized") for place in places]
    assert told(tmp_path, using()) == refused
    assert told(tmp_path, using(connections=["archive"])) == refused
    granted = using(connections=["tracker"])
    assert told(tmp_path, granted) == []
    (shop, _) = accepted(granted).scopes
    assert shop.binding("clerk").connection == "tracker"
    assert shop.extensions[0].connection == "tracker"


@pytest.mark.req("B-CONN-03")
def test_what_one_scope_is_granted_its_sibling_is_not(tmp_path: Path) -> None:
    granted = {"connections": ["tracker"]}
    user = [binding(connection="tracker")]
    value = config(
        scope(authorization=granted, bindings=user),
        scope("sibling", bindings=user),
        scope("child", parent="shop", bindings=user),
        scope("narrow", parent="shop", authorization={"connections": []}),
        connections=[TRACKER],
    )
    problems = told(tmp_path, value)
    assert problems == [
        ("scopes/1/bindings/0/connection", "not_authorized"),
        ("scopes/3/authorization/connections", "not_authorized"),
    ]


def test_a_connection_that_is_nowhere_is_told_with_the_nearest(tmp_path: Path) -> None:
    shop = scope(
        authorization={"connections": ["tracker"]},
        bindings=[binding(connection="traker")],
    )
    value = config(shop, connections=[TRACKER])
    _, answer, _ = asked(tmp_path, value)
    (problem,) = answer["problems"]
    assert problem["path"] == "scopes/0/bindings/0/connection"
    assert problem["code"] == "unknown_reference"
    assert "'tracker'" in problem["remedy"]


def test_an_executor_says_which_connection_it_needs() -> None:
    def dialing(**more: Any) -> list[tuple[str, str]]:
        shop = scope(
            authorization={"connections": ["tracker", "archive"]},
            bindings=[{"name": "caller", "executor": "dialing", **more}],
        )
        return found(config(shop, connections=[TRACKER, ARCHIVE]))

    at = "scopes/0/bindings/0/connection"
    assert dialing() == [(at, "missing_field")]
    assert dialing(connection="archive") == [(at, "invalid_config")]
    assert dialing(connection="tracker") == []
