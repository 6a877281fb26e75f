"""The core's objects as a whole: keys, names, defaults, versions."""

from __future__ import annotations

import json
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
    changed,
    checked,
    config,
    found,
    route,
    scope,
    told,
)


def whole() -> dict[str, Any]:
    """Return a document with each of the core's objects in it, none of them faulty."""
    return config(
        scope(
            limits={"ready_limit": 5},
            authorization={"connections": ["tracker"]},
            bindings=[
                binding(
                    requires={"workspace": True},
                    resource={"provider": "shelf", "config": {"path": "."}},
                    grants=[{"name": "more"}],
                )
            ],
            routes=[route()],
            extensions=[bell()],
            secret_refs=WORD,
        ),
        scope("corner", parent="shop", extensions=[{"name": "door", "disabled": True}]),
        connections=[TRACKER],
        includes=[{"path": "/nowhere/else", "parent": "shop"}],
        settings={"usage_budgets": [{"tokens": 5, "window_seconds": 60}]},
    )


MISSING_FOLDER = ("includes/0/path", "include_missing")

OBJECTS = (
    "settings",
    "settings/usage_budgets/0",
    "settings/extensions/sample",
    "connections/0",
    "scopes/0",
    "scopes/0/limits",
    "scopes/0/authorization",
    "scopes/0/bindings/0",
    "scopes/0/bindings/0/requires",
    "scopes/0/bindings/0/resource",
    "scopes/0/bindings/0/grants/0",
    "scopes/0/routes/0",
    "scopes/0/extensions/0",
    "scopes/1/extensions/0",
    "includes/0",
)
"""Where each of the core's objects stands in the whole document."""


@pytest.mark.req("B-SCHEMA-03")
@pytest.mark.parametrize("key", ["key", "source"])
@pytest.mark.parametrize("at", [*OBJECTS, ""])
def test_each_object_refuses_a_key_that_it_does_not_have(at: str, key: str) -> None:
    place = f"{at}/{key}".lstrip("/")
    value = changed(whole(), place, CANARY)
    assert [item for item in found(value) if item != MISSING_FOLDER] == [
        (place, "unknown_field")
    ]


@pytest.mark.req("B-SCHEMA-03")
def test_all_those_keys_are_told_at_once(tmp_path: Path) -> None:
    value = whole() | {"extra": CANARY}
    for at in OBJECTS:
        value = changed(value, f"{at}/extra", CANARY)
    assert {item for item in told(tmp_path, value) if item != MISSING_FOLDER} == {
        ("extra", "unknown_field"),
        *((f"{at}/extra", "unknown_field") for at in OBJECTS),
    }


OPAQUE = (
    "connections/0/config",
    "scopes/0/bindings/0/config",
    "scopes/0/bindings/0/resource/config",
    "scopes/0/bindings/0/grants/0/config",
    "scopes/0/routes/0/config",
    "scopes/0/extensions/0/config",
)
"""Where the config of each kind of owner stands in it."""


@pytest.mark.req("B-SCHEMA-06")
@pytest.mark.parametrize("key", ["api_key", "token", "password", "secret_refs"])
def test_no_config_has_a_place_for_a_credential(key: str, tmp_path: Path) -> None:
    value = whole()
    for at in OPAQUE:
        config_of = dict(_at(value, at) or {})
        value = changed(value, at, config_of | {key: CANARY})
    assert [item for item in told(tmp_path, value) if item != MISSING_FOLDER] == [
        (f"{at}/{key}", "invalid_config") for at in sorted(OPAQUE)
    ]


def _at(value: Any, at: str) -> Any:
    *way, last = (int(step) if step.isdigit() else step for step in at.split("/"))
    for step in way:
        value = value[step]
    return value.get(last)


NAMED = {
    "connections": "id",
    "scopes": "id",
    "scopes/0/bindings": "name",
    "scopes/0/routes": "name",
    "scopes/0/extensions": "name",
    "scopes/0/bindings/0/grants": "name",
}
"""The lists of named things, and the key that names them."""


def doubled(value: Any, at: str) -> tuple[Any, str]:
    """Return the value with one entry of a list twice, and the second one's name."""
    holder, _, key = at.rpartition("/")
    items = _at(value, at) if holder else value[key]
    return changed(value, at, [*items, items[0]]), f"{at}/{len(items)}/{NAMED[at]}"


@pytest.mark.req("B-SCHEMA-08")
@pytest.mark.parametrize("at", NAMED)
def test_a_name_stands_once_in_its_list(at: str) -> None:
    value, place = doubled(whole(), at)
    assert (place, "duplicate_name") in found(value)


@pytest.mark.req("B-SCHEMA-08")
def test_every_name_that_stands_twice_is_told(tmp_path: Path) -> None:
    value, places = whole(), []
    for at in NAMED:
        value, place = doubled(value, at)
        places.append((place, "duplicate_name"))
    problems = told(tmp_path, value)
    for expected in places:
        assert expected in problems


@pytest.mark.req("B-SCHEMA-08")
def test_one_name_may_stand_in_two_lists() -> None:
    grants = [{"name": "same"}]
    value = config(
        scope(
            "same",
            bindings=[binding("same", grants=grants), binding("other", grants=grants)],
            routes=[route("same", binding="same")],
            secret_refs={"same": "file:same"},
        ),
        scope("next", bindings=[binding("same")]),
        connections=[TRACKER | {"id": "same"}],
    )
    assert found(value) == []


def written_out() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a document with what has to be there only, and with each default."""
    short = config(
        scope(
            bindings=[binding(resource={"provider": "shelf", "config": {"path": "."}})],
            routes=[route()],
            extensions=[{"name": "door", "type": "conduck_chat"}],
        ),
        connections=[{"id": "tracker", "type": "account"}],
    )
    del short["scopes"][0]["extensions"]
    long = changed(short, "scopes/0/enabled", True)
    nothing: dict[str, Any] = {
        "connections/0/config": {},
        "connections/0/secret_refs": {},
        "includes": [],
        "settings/extensions/sample/pass_env": [],
        "scopes/0/limits": {},
        "scopes/0/authorization": {},
        "scopes/0/secret_refs": {},
        "scopes/0/extensions": [],
        "scopes/0/bindings/0/config": {"images": False, "quiet": False},
        "scopes/0/bindings/0/requires": {"inject": False},
        "scopes/0/bindings/0/operations": [],
        "scopes/0/bindings/0/secret_names": [],
        "scopes/0/bindings/0/grants": [],
        "scopes/0/bindings/0/pass_env": [],
        "scopes/0/bindings/0/resource/pass_env": [],
        "scopes/0/routes/0/config": {},
    }
    for at, value in nothing.items():
        long = changed(long, at, value)
    return short, long


def hash_of(root: Path, value: Any) -> str:
    """Return the hash of a value without faults, as the real program tells it."""
    status, answer, _ = asked(root, value)
    assert (status, answer["problems"]) == (0, [])
    made: str = answer["hash"]
    assert made == checked(value, root / "config").hash
    return made


@pytest.mark.req("B-SCHEMA-14", "B-SCHEMA-16", "B-SCHEMA-17")
def test_what_is_left_out_is_as_its_default_written_out(tmp_path: Path) -> None:
    short, long = written_out()
    assert hash_of(tmp_path, short) == hash_of(tmp_path, long)
    assert accepted(short) == accepted(long)
    other = changed(long, "scopes/0/bindings/0/config/images", True)
    assert hash_of(tmp_path, other) != hash_of(tmp_path, long)


@pytest.mark.req("B-SCHEMA-14")
def test_what_may_be_empty_is_empty_in_the_normal_form() -> None:
    normal = checked(written_out()[0]).normal
    assert isinstance(normal, dict)
    (shop,) = normal["scopes"]
    (clerk,) = shop["bindings"]
    assert clerk["operations"] == []
    assert clerk["secret_names"] == []
    assert clerk["grants"] == []
    assert not any(clerk["requires"].values())
    assert shop["routes"][0]["config"] == {}
    assert shop["extensions"] == []
    assert normal["connections"][0]["secret_refs"] == {}


@pytest.mark.req("B-SCHEMA-18")
@pytest.mark.parametrize("at", ["routes", "bindings", "extensions"])
def test_the_order_of_a_list_has_a_meaning(at: str, tmp_path: Path) -> None:
    value = config(
        scope(
            bindings=[binding(), binding("other")],
            routes=[route(), route("more")],
            extensions=[bell(), bell("gate")],
            secret_refs=WORD,
        )
    )
    items = value["scopes"][0][at]
    turned = changed(value, f"scopes/0/{at}", items[::-1])
    assert hash_of(tmp_path, value) != hash_of(tmp_path, turned)


@pytest.mark.req("B-SCHEMA-19")
def test_the_order_of_keys_has_none(tmp_path: Path) -> None:
    value = changed(whole(), "includes", [])
    turned = _turned(value)
    assert json.dumps(turned) != json.dumps(value)
    assert hash_of(tmp_path, turned) == hash_of(tmp_path, value)


def _turned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _turned(value[key]) for key in reversed(value)}
    return [_turned(item) for item in value] if isinstance(value, list) else value


@pytest.mark.req("B-SCHEMA-21")
@pytest.mark.parametrize("number", [2, 0, -1, 10**30])
def test_another_version_has_to_be_converted(number: int, tmp_path: Path) -> None:
    status, answer, _ = asked(tmp_path, whole() | {"version": number})
    assert status == 1
    (problem,) = [x for x in answer["problems"] if x["level"] == "error"]
    assert problem["path"] == "version"
    assert "convert" in problem["remedy"]


@pytest.mark.parametrize("number", ["1", 1.5, True, None, [1], {}])
def test_a_version_is_a_number(number: Any) -> None:
    (problem,) = (p for p in found(whole() | {"version": number}) if p[0] == "version")
    assert problem[1] in ("invalid_type", "null_value")


@pytest.mark.req("B-SCHEMA-24")
def test_nothing_works_for_a_scope_that_names_no_executor(tmp_path: Path) -> None:
    entry = {
        "name": "chat",
        "type": "conduck_chat",
        "secret_names": ["word"],
        "config": {
            "namespace": "chat",
            "scope": "shop",
            "port": 8480,
            "token_secret": "word",
            "models": [{"id": "agent"}],
        },
    }
    value = config(
        scope(routes=[route()]),
        scope("next", bindings=[{"name": "clerk"}]),
        scope(
            "more",
            secret_refs=WORD,
            extensions=[changed(entry, "config/scope", "more")],
        ),
    )
    assert told(tmp_path, value) == [
        ("scopes/0/routes/0/binding", "unknown_reference"),
        ("scopes/1/bindings/0/executor", "missing_field"),
        ("scopes/2/extensions/0/config/models/0", "invalid_config"),
    ]
    (alone,) = accepted(config(scope())).scopes
    assert alone.bindings == ()
