"""Equal documents have one normal form and one hash, whatever was left out."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from conduck_service.config.candidate import candidate_hash, normal_form
from conduck_service.config.check import Checked, check_document
from conduck_service.extension.spec import Decoding
from tests.config.documents import documents
from tests.config.test_schema import SPECS, VALID
from tests.config.test_schema_documents import REGISTRY, SCHEMA

QUICK = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

ENTRIES = {"connection", "scope", "binding", "route", "extension"}
"""Specs that decode a config left out to None; what is made of it comes later."""


def checked(value: Any) -> Checked:
    found = check_document(
        json.dumps(value),
        base=Path("/nowhere"),
        registry=REGISTRY,
        environment={},
        state_dir=None,
    )
    assert [str(item) for item in found.problems if item.level == "error"] == []
    return found


def short() -> dict[str, Any]:
    """Return a document with nothing in it that could be left out."""
    return {
        "version": 1,
        "connections": [{"id": "desk", "type": "account", "config": {"server": "a"}}],
        "scopes": [
            {
                "id": "home",
                "name": "Home",
                "secret_refs": {"token": "file:token", "spare": "env:SPARE"},
                "bindings": [
                    {"name": "coder", "executor": "command", "config": {"argv": ["a"]}},
                    {"name": "other", "executor": "able"},
                ],
                "routes": [
                    {
                        "name": name,
                        "handler": "chat",
                        "binding": name,
                        "active_policy": "queue",
                    }
                    for name in ("coder", "other")
                ],
                "extensions": [
                    {
                        "name": "chat",
                        "type": "conduck_chat",
                        "secret_names": ["token"],
                        "config": {
                            "namespace": "chat",
                            "scope": "home",
                            "port": 8480,
                            "token_secret": "token",
                            "models": [{"id": "coder"}],
                        },
                    }
                ],
            },
            {"id": "child", "name": "Child", "parent": "home"},
        ],
    }


@pytest.mark.req("B-SCHEMA-14", "B-SCHEMA-16")
def test_the_normal_form_has_every_default() -> None:
    normal = checked(short()).normal
    assert normal["settings"]["retry_delays_seconds"] == [300, 600]
    assert normal["connections"][0]["secret_refs"] == {}
    home, child = normal["scopes"]
    coder, other = home["bindings"]
    empty: dict[str, Any] = {
        "operations": [],
        "secret_names": [],
        "grants": [],
        "pass_env": [],
    }
    assert coder.items() >= empty.items()
    assert not any(coder["requires"].values())
    assert coder["config"]["umask"] == "0007"
    assert coder["config"]["kill_grace_seconds"] == 5
    assert coder["config"]["images"] == {"mode": "none", "dir": "temp", "types": []}
    assert "cwd" not in coder["config"]
    assert "timeout_seconds" not in coder
    assert other["config"]["images"] is False
    assert home["routes"][0]["config"] == {}
    assert home["extensions"][0]["config"]["deadline_seconds"] == 285
    assert child["bindings"] == []
    assert child["enabled"] is True


@pytest.mark.req("B-SCHEMA-17")
def test_defaults_that_are_written_down_change_nothing() -> None:
    found = checked(short())
    assert found.hash.startswith("sha256:")
    assert len(found.hash) == len("sha256:") + 64
    assert checked(found.normal).normal == found.normal
    assert checked(found.normal).hash == found.hash
    written = short()
    written["settings"] = {"concurrency": 4.0}
    written["scopes"][0]["bindings"][0] |= {"operations": [], "requires": {}}
    written["scopes"][0]["bindings"][0]["config"] |= {
        "umask": "007",
        "kill_grace_seconds": 5.0,
        "images": {},
    }
    assert checked(written).hash == found.hash


@pytest.mark.req("B-SCHEMA-18")
@pytest.mark.parametrize("table", ["bindings", "routes"])
def test_the_order_of_a_list_matters(table: str) -> None:
    swapped = short()
    swapped["scopes"][0][table].reverse()
    assert checked(swapped).hash != checked(short()).hash


@pytest.mark.req("B-SCHEMA-19")
def test_the_order_of_keys_does_not_matter() -> None:
    assert checked(_reversed(short())).hash == checked(short()).hash


def _reversed(value: Any) -> Any:
    match value:
        case dict():
            return {key: _reversed(value[key]) for key in reversed(value)}
        case list():
            return [_reversed(item) for item in value]
        case _:
            return value


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value["scopes"][0].update(name="Desk"),
        lambda value: value["scopes"][0].update(enabled=False),
        lambda value: value.update(settings={"concurrency": 5}),
        lambda value: value["connections"][0]["config"].update(server="b"),
        lambda value: value["scopes"][0]["bindings"][0]["config"].update(argv=["b"]),
        lambda value: value["scopes"][0]["secret_refs"].update(token="file:b"),
    ],
)
def test_another_value_makes_another_hash(change: Any) -> None:
    value = short()
    change(value)
    assert checked(value).hash != checked(short()).hash


def test_grants_keep_to_what_they_replace_and_tombstones_to_themselves() -> None:
    value = short()
    value["scopes"][0]["bindings"][0]["grants"] = [
        {"name": "more", "config": {"umask": "022"}}
    ]
    value["scopes"][1]["bindings"] = [{"name": "other", "disabled": True}]
    value["scopes"][1]["routes"] = [{"name": "other", "disabled": True}]
    home, child = checked(value).normal["scopes"]
    (grant,) = home["bindings"][0]["grants"]
    assert grant == {"name": "more", "operations": [], "config": {"umask": "0022"}}
    assert child["bindings"] == [{"name": "other", "disabled": True}]


def test_a_scope_of_a_folder_says_where_it_is_from() -> None:
    scope = {"id": "work", "name": "Work", "parent": "home"}
    normal = normal_form({}, [], [(scope, Path("/folder"))], REGISTRY)
    assert normal["scopes"][0]["source"] == "/folder"


def test_half_a_character_in_an_owners_config_can_be_hashed() -> None:
    assert candidate_hash({"a": "\ud800"}) != candidate_hash({"a": "\ud801"})


@pytest.mark.req("B-SCHEMA-17")
@pytest.mark.parametrize("name", SPECS)
@QUICK
@given(data=st.data())
def test_the_normal_form_means_the_same(name: str, data: st.DataObject) -> None:
    spec = SPECS[name]
    value = data.draw(VALID[name])
    before = copy.deepcopy(value)
    normal = spec.normal(value)
    assert value == before
    assert spec.normal(normal) == normal
    assert Draft202012Validator(spec.schema()).is_valid(normal)
    into = Decoding(base=Path("/base"))
    decoded = spec.decode(value, (), into)
    assume(not into.problems)
    again = spec.decode(normal, (), into)
    assert into.problems == []
    if name not in ENTRIES:
        assert again == decoded


@QUICK
@given(documents(REGISTRY))
def test_the_normal_form_of_a_document_is_a_document(value: Any) -> None:
    normal = normal_form(
        value.get("settings", {}),
        value.get("connections", []),
        [(scope, None) for scope in value["scopes"]],
        REGISTRY,
    )
    assert SCHEMA.is_valid(normal)
    again = normal_form(
        normal["settings"],
        normal["connections"],
        [(scope, None) for scope in normal["scopes"]],
        REGISTRY,
    )
    assert again == normal
    assert candidate_hash(again) == candidate_hash(normal)
