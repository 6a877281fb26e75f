"""Extension entries: their type, their secrets, their scope and their namespace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.config.rows.lab import (
    CANARY,
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
    told,
)

CHAT = {
    "name": "chat",
    "type": "conduck_chat",
    "secret_names": ["word"],
    "config": {
        "namespace": "chat_ns",
        "scope": "shop",
        "port": 8480,
        "token_secret": "word",
        "models": [{"id": "agent"}],
    },
}

FILES = {
    "name": "files",
    "type": "conduck_files",
    "secret_names": ["word"],
    "config": {
        "namespace": "files_ns",
        "scope": "shop",
        "port": 8481,
        "root": "../folder",
        "password_secret": "word",
        "mode": "0700",
    },
}

INGRESSES = {"conduck_chat": CHAT, "conduck_files": FILES, "bell": bell()}
"""An entry of each type, all of them of the scope ``shop``."""


def with_entry(entry: Any, *more: dict[str, Any], **other: Any) -> dict[str, Any]:
    """Return a document whose scope ``shop`` has the entry, and an engine for chat."""
    shop = scope(
        bindings=[binding()],
        routes=[route(handler="chat")],
        extensions=[entry],
        secret_refs=WORD,
    )
    return config(shop | other, *more)


@pytest.mark.req("B-EXT-01")
def test_the_type_of_an_entry_has_to_be_registered(tmp_path: Path) -> None:
    entries = [bell() | {"type": "nope"}, {"name": "b"}, bell("c", type=7)]
    value = with_entry(None, extensions=entries)
    status, answer, _ = asked(tmp_path, value)
    assert status == 1
    assert [(item["path"], item["code"]) for item in answer["problems"]] == [
        ("scopes/0/extensions/0/type", "unregistered"),
        ("scopes/0/extensions/1/type", "missing_field"),
        ("scopes/0/extensions/2/type", "invalid_type"),
    ]
    for name in INGRESSES:
        assert name in answer["problems"][0]["remedy"]


@pytest.mark.req("B-EXT-03")
def test_secret_names_are_secrets_of_the_scope(tmp_path: Path) -> None:
    entry = bell(secret_names=["word", "words", "other"])
    value = with_entry(entry, scope("next", secret_refs={"other": "file:other"}))
    status, answer, _ = asked(tmp_path, value)
    assert status == 1
    assert [(item["path"], item["code"]) for item in answer["problems"]] == [
        ("scopes/0/extensions/0/secret_names/1", "unknown_reference"),
        ("scopes/0/extensions/0/secret_names/2", "unknown_reference"),
    ]
    assert "'word'" in answer["problems"][0]["remedy"]
    both = changed(value, "scopes/0/extensions/0/secret_names", ["word", "more"])
    both["scopes"][0]["secret_refs"] = WORD | {"more": "env:MORE"}
    assert told(tmp_path, both) == []
    assert accepted(both).scopes[0].extensions[0].secret_names == ("word", "more")


@pytest.mark.req("B-EXT-03")
def test_a_secret_of_a_scope_above_can_be_selected(tmp_path: Path) -> None:
    inner = changed(bell(), "config/scope", "corner")
    above = scope(secret_refs=WORD)
    below = scope("corner", parent="shop", extensions=[inner])
    assert told(tmp_path, config(above, below)) == []
    below["secret_refs"] = {"word": False}
    assert told(tmp_path, config(above, below)) == [
        ("scopes/1/extensions/0/secret_names/0", "unknown_reference")
    ]


@pytest.mark.req("B-EXT-04", "B-EXT-05")
@pytest.mark.parametrize("key", ["namespace", "scope"])
@pytest.mark.parametrize("kind", INGRESSES)
def test_an_ingress_names_its_source_and_its_scope(
    kind: str, key: str, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    entry = INGRESSES[kind]
    assert told(tmp_path, with_entry(entry)) == []
    missing = with_entry(changed(entry, f"config/{key}", ...))
    at = f"scopes/0/extensions/0/config/{key}"
    assert told(tmp_path, missing) == [(at, "invalid_config")]


@pytest.mark.req("B-EXT-05")
@pytest.mark.parametrize("kind", INGRESSES)
@pytest.mark.parametrize("name", ["next", "above", "below", "nope"])
def test_the_scope_of_an_ingress_is_the_one_that_holds_it(
    kind: str, name: str, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    value = with_entry(
        changed(INGRESSES[kind], "config/scope", name),
        scope("next"),
        scope("above"),
        scope("below", parent="shop"),
        parent="above",
    )
    assert told(tmp_path, value) == [
        ("scopes/0/extensions/0/config/scope", "unknown_reference")
    ]


@pytest.mark.req("B-EXT-06")
def test_a_namespace_has_one_owner(tmp_path: Path) -> None:
    other = changed(bell(), "config/scope", "next")
    following = scope("next", extensions=[other], secret_refs=WORD)
    value = with_entry(bell(), following)
    assert told(tmp_path, value) == [
        ("scopes/1/extensions/0/config/namespace", "duplicate_name")
    ]
    two = changed(value, "scopes/1/extensions/0/config/namespace", "next_ns")
    assert told(tmp_path, two) == []


@pytest.mark.req("B-EXT-06")
def test_what_is_disabled_below_still_owns_its_namespace(tmp_path: Path) -> None:
    inner = changed(bell("gate"), "config/scope", "corner")
    inner = changed(inner, "config/namespace", "door_ns")
    gone = {"name": "door", "disabled": True}
    corner = scope("corner", parent="shop", extensions=[gone, inner])
    value = with_entry(bell(), corner)
    place = "scopes/1/extensions/1/config/namespace"
    assert told(tmp_path, value) == [(place, "duplicate_name")]


@pytest.mark.req("B-EXT-08")
def test_a_scope_keeps_the_secrets_of_what_it_inherits(tmp_path: Path) -> None:
    value = config(
        scope(extensions=[bell()], secret_refs=WORD),
        scope("corner", parent="shop", secret_refs={"word": False}),
        scope("far", parent="corner"),
    )
    assert told(tmp_path, value) == [("scopes/1/secret_refs/word", "unknown_reference")]
    gone = [{"name": "door", "disabled": True}]
    assert told(tmp_path, changed(value, "scopes/1/extensions", gone)) == []


@pytest.mark.req("B-EXT-08")
def test_a_scope_keeps_the_connection_of_what_it_inherits(tmp_path: Path) -> None:
    value = config(
        scope(
            authorization={"connections": ["archive"]},
            extensions=[bell(connection="archive")],
            secret_refs=WORD,
        ),
        scope("corner", parent="shop", authorization={"connections": []}),
        connections=[{"id": "archive", "type": "other"}],
    )
    assert told(tmp_path, value) == [
        ("scopes/1/authorization/connections", "not_authorized")
    ]
    gone = [{"name": "door", "disabled": True}]
    assert told(tmp_path, changed(value, "scopes/1/extensions", gone)) == []


def test_the_config_of_an_entry_is_checked_by_its_type() -> None:
    for entry in INGRESSES.values():
        (problem,) = found(with_entry(changed(entry, "config/key", CANARY)))
        assert problem == ("scopes/0/extensions/0/config/key", "invalid_config")


@pytest.mark.req("B-SCHEMA-14")
def test_an_entry_needs_a_name_and_a_type_of_the_core(tmp_path: Path) -> None:
    assert told(tmp_path, with_entry({})) == [
        ("scopes/0/extensions/0/name", "missing_field"),
        ("scopes/0/extensions/0/type", "missing_field"),
    ]
