"""Tombstones: inherited entries and secrets that a scope takes away (B-TOMB)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.config.composed.desk import (
    Desk,
    bell,
    binding,
    document,
    gone,
    names,
    route,
    scope,
)

KEY = {"key": "file:key"}


def household(*below: dict[str, Any]) -> dict[str, Any]:
    home = scope(
        "home",
        bindings=[binding("coder", "picky"), binding("writer", "picky")],
        routes=[route("a"), route("b", "writer")],
        extensions=[bell("door", "home"), bell("gate", "home")],
        secret_refs=KEY,
    )
    return document(home, *below)


@pytest.mark.req("B-TOMB-01")
def test_a_binding_is_taken_away(desk: Desk) -> None:
    value = household(
        scope("work", "home", bindings=[gone("writer")], routes=[gone("b")]),
        scope("desk", "work"),
    )
    desk.pass_(value)
    checked = [item["binding"] for item in desk.notes if item["what"] == "check"]
    assert checked == ["coder", "writer", "coder", "coder"]
    made = {item.id: names(item.bindings) for item in desk.accept(value).scopes}
    assert made == {"home": ["coder", "writer"], "work": ["coder"], "desk": ["coder"]}


@pytest.mark.req("B-TOMB-03")
def test_an_extension_is_taken_away(desk: Desk) -> None:
    value = household(scope("work", "home", extensions=[gone("gate")]))
    desk.pass_(value)
    made = {item.id: names(item.extensions) for item in desk.accept(value).scopes}
    assert made == {"home": ["door", "gate"], "work": ["door"]}


@pytest.mark.req("B-TOMB-03")
def test_engines_do_not_work_in_the_folder_of_a_lane_that_was_taken_away(
    desk: Desk,
) -> None:
    (desk.root / "shared").mkdir(mode=0o700)
    lane = {
        "name": "files",
        "type": "conduck_files",
        "secret_names": ["key"],
        "config": {
            "namespace": "files",
            "scope": "home",
            "port": 8481,
            "root": "../shared",
            "password_secret": "key",
            "mode": "0700",
        },
    }
    engine = binding("engine", "command", config={"argv": ["true"]})
    value = document(
        scope("home", bindings=[engine], extensions=[lane], secret_refs=KEY),
        scope("work", "home"),
    )
    desk.pass_(value)
    made = desk.scope_of(value, "work")
    assert (made.folder, made.has_lane) == (desk.root / "shared", True)
    value["scopes"][1]["extensions"] = [gone("files")]
    assert desk.fail(value) == [("scopes/1", "missing_field")]


@pytest.mark.req("B-TOMB-02", "B-TOMB-04")
def test_a_tombstone_does_not_move_slots(desk: Desk) -> None:
    value = household(
        scope("work", "home", routes=[gone("a"), route("c")]),
        scope("desk", "work", routes=[route("d"), route("a", "writer")]),
    )
    desk.pass_(value)
    asked = [item["route"] for item in desk.notes if item["what"] == "grants"]
    assert asked == ["a", "b", "b", "c", "a", "b", "c", "d"]
    made = {item.id: item for item in desk.accept(value).scopes}
    assert names(made["work"].routes) == ["b", "c"]  # B-TOMB-02
    assert names(made["desk"].routes) == ["a", "b", "c", "d"]  # B-TOMB-04
    assert made["desk"].routes[0].binding == "writer"


@pytest.mark.req("B-TOMB-04")
@pytest.mark.parametrize("table", ["bindings", "extensions"])
def test_bindings_and_extensions_come_back_in_their_slots(
    table: str, desk: Desk
) -> None:
    first = {
        "bindings": binding("coder", "plain"),
        "extensions": bell("door", "desk"),
    }
    value = household(scope("work", "home"), scope("desk", "work"))
    value["scopes"][0]["routes"] = []
    value["scopes"][1][table] = [gone(first[table]["name"])]
    value["scopes"][2][table] = [first[table]]
    order = [names(getattr(item, table)) for item in desk.accept(value).scopes]
    assert order[0] == order[2]
    assert order[1] == order[0][1:]


@pytest.mark.req("B-TOMB-05")
@pytest.mark.parametrize("table", ["bindings", "routes", "extensions"])
def test_what_is_not_there_cannot_be_taken_away(table: str, desk: Desk) -> None:
    refused = (f"scopes/1/{table}/0/name", "unknown_tombstone")
    value = household(scope("work", "home", **{table: [gone("zzz")]}))
    assert desk.fail(value) == [refused]
    # A name of a scope beside or below it, a name that is gone already, a root.
    value = household(
        scope("work", "home", **{table: [gone("zzz")]}),
        scope("desk", "work", bindings=[binding("zzz")], routes=[route("zzz")]),
        scope("side", "home", bindings=[binding("zzz")], routes=[route("zzz")]),
    )
    assert desk.refuse(value) == [refused]
    taken = {"bindings": "writer", "routes": "b", "extensions": "gate"}[table]
    value = household(
        scope("work", "home", routes=[gone("b")], bindings=[gone("writer")]),
        scope("desk", "work", **{table: [gone(taken)]}),
    )
    value["scopes"][1].setdefault(table, [gone(taken)])
    assert desk.refuse(value) == [(f"scopes/2/{table}/0/name", "unknown_tombstone")]
    value = document(scope("home", **{table: [gone("coder")]}))
    assert desk.refuse(value) == [(f"scopes/0/{table}/0/name", "unknown_tombstone")]


@pytest.mark.req("B-TOMB-06")
def test_a_route_does_not_lead_to_a_binding_that_was_taken_away(desk: Desk) -> None:
    inherited = household(
        scope("work", "home", bindings=[gone("writer")]), scope("desk", "work")
    )
    assert desk.fail(inherited) == [("scopes/1/bindings/0/name", "unknown_reference")]
    own = household(
        scope("work", "home", bindings=[gone("writer")], routes=[route("b", "writer")])
    )
    assert desk.fail(own) == [("scopes/1/routes/0/binding", "unknown_reference")]
    below = household(
        scope("work", "home", bindings=[gone("writer")], routes=[gone("b")]),
        scope("desk", "work", routes=[route("b", "writer")]),
    )
    assert desk.refuse(below) == [("scopes/2/routes/0/binding", "unknown_reference")]
    below["scopes"][2]["bindings"] = [binding("writer")]
    desk.accept(below)


def secrets_of(*overlays: dict[str, Any]) -> dict[str, Any]:
    """Return a document of a chain of scopes; the last one's binding wants ``key``."""
    ids = [f"scope{index}" for index in range(len(overlays))]
    value = document(
        *(
            scope(name, above, secret_refs=refs)
            for name, above, refs in zip(ids, ["", *ids], overlays, strict=False)
        )
    )
    value["scopes"][-1]["bindings"] = [binding(secret_names=["key"])]
    return value


@pytest.mark.req("B-TOMB-07")
def test_false_takes_a_secret_away(desk: Desk) -> None:
    refused = ("bindings/0/secret_names/0", "unknown_reference")
    value = secrets_of(KEY, {"key": False})
    assert desk.fail(value) == [(f"scopes/1/{refused[0]}", refused[1])]
    value = secrets_of(KEY, {"key": False}, {})
    assert desk.refuse(value) == [(f"scopes/2/{refused[0]}", refused[1])]


@pytest.mark.req("B-TOMB-08")
def test_a_secret_that_was_taken_away_can_be_given_again(desk: Desk) -> None:
    value = secrets_of(KEY, {"key": False}, {"key": "env:KEY"})
    desk.pass_(value)
    refs = [dict(item.secret_refs) for item in desk.accept(value).scopes]
    assert refs == [KEY, {}, {"key": "env:KEY"}]


@pytest.mark.req("B-TOMB-05", "B-TOMB-07")
def test_a_secret_that_is_not_there_cannot_be_taken_away(desk: Desk) -> None:
    for overlays in (({"key": False},), (KEY, {"key": False}, {"key": False})):
        value = secrets_of(*overlays)
        value["scopes"][-1]["bindings"] = []
        place = f"scopes/{len(overlays) - 1}/secret_refs/key"
        assert desk.refuse(value) == [(place, "unknown_tombstone")]


@pytest.mark.req("B-TOMB-07")
@pytest.mark.parametrize("table", ["bindings", "extensions"])
def test_an_inherited_entry_keeps_the_secrets_that_it_selects(
    table: str, desk: Desk
) -> None:
    entry = {
        "bindings": binding("door", secret_names=["key"]),
        "extensions": bell("door", "home"),
    }
    value = document(
        scope("home", secret_refs=KEY, **{table: [entry[table]]}),
        scope("work", "home", secret_refs={"key": False}),
        scope("desk", "work"),
    )
    refused = ("scopes/1/secret_refs/key", "unknown_reference")
    assert desk.refuse(value) == [refused]
    value["scopes"][1][table] = [gone("door")]
    desk.accept(value)
