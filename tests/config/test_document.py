from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conduck_service.base.diagnostics import Diagnostic
from conduck_service.domain.scope import ActivePolicy, Limits, Settings
from tests.config.build import (
    BASE,
    accept,
    binding,
    chat,
    check,
    document,
    refuse,
    route,
    scope,
)


def whole() -> dict[str, Any]:
    """Return a document that has every key there is."""
    return document(
        scope(
            enabled=False,
            bindings=[
                binding(
                    config={"cwd": "work", "images": True},
                    secret_names=["key"],
                    timeout_seconds=60,
                    pass_env=["HTTPS_PROXY"],
                )
            ],
            routes=[route(config={"models": ["coder"]})],
            extensions=[chat(wants_images=True) | {"secret_names": ["token"]}],
            secret_refs={"key": "env:ENGINE_KEY", "token": "file:token"},
            limits={"ready_limit": 5},
        ),
        settings={"concurrency": 0, "ready_limit": 7, "timeout_seconds": 9},
    )


def objects(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[Any]:
    """Yield place and object for each of the core's objects in a document."""
    yield at, value
    for index, item in enumerate(value["scopes"]):
        place = ("scopes", index)
        yield place, item
        yield (*place, "limits"), item["limits"]
        for key in ("bindings", "routes", "extensions"):
            for number, entry in enumerate(item[key]):
                yield (*place, key, number), entry
    yield ("settings",), value["settings"]


def problems_of(value: Any) -> list[Diagnostic]:
    return check(value)[1]


def test_every_key_arrives_in_the_document() -> None:
    made = accept(whole())
    assert made.settings == Settings(concurrency=0, ready_limit=7, timeout_seconds=9)
    (home,) = made.scopes
    assert (home.id, home.name, home.enabled) == ("home", "My desk", False)
    assert home.limits.ready_limit == 5
    assert dict(home.secret_refs) == {"key": "env:ENGINE_KEY", "token": "file:token"}
    coder = home.binding("coder")
    assert (coder.executor, coder.secret_names) == ("engine", ("key",))
    assert (coder.timeout_seconds, coder.pass_env) == (60, ("HTTPS_PROXY",))
    (chosen,) = home.routes
    assert (chosen.name, chosen.handler, chosen.binding) == ("all", "chat", "coder")
    assert chosen.active_policy is ActivePolicy.QUEUE
    assert chosen.config == {"models": ("coder",)}
    (entry,) = home.extensions
    assert (entry.name, entry.type, entry.secret_names) == (
        "chat",
        "conduck_chat",
        ("token",),
    )
    assert entry.config.port == 8480


@pytest.mark.req("B-PATH-13")
def test_paths_of_owners_begin_at_the_config_directory() -> None:
    made = accept(document(scope(bindings=[binding(config={"cwd": "work"})])))
    assert made.scopes[0].bindings[0].config.cwd == BASE / "work"


def test_what_is_left_out_takes_its_default() -> None:
    made = accept(document())
    assert made.settings == Settings(
        concurrency=4, ready_limit=10, timeout_seconds=3600
    )
    (home,) = made.scopes
    assert home.enabled
    assert (home.bindings, home.routes, home.extensions) == ((), (), ())
    assert (home.secret_refs, home.limits, home.folder) == ({}, Limits(), None)


@pytest.mark.req("B-SCHEMA-11", "B-SCHEMA-13")
def test_a_binding_and_an_extension_need_two_keys() -> None:
    made = accept(
        document(
            scope(
                bindings=[{"name": "coder", "executor": "engine"}],
                extensions=[{"name": "quiet", "type": "quiet"}],
            )
        )
    )
    coder = made.scopes[0].bindings[0]
    assert (coder.name, coder.secret_names) == ("coder", ())  # B-SCHEMA-11
    assert made.scopes[0].extensions[0].type == "quiet"  # B-SCHEMA-13


@pytest.mark.req("B-SCHEMA-12")
@pytest.mark.parametrize("key", ["name", "handler", "binding", "active_policy"])
def test_a_route_needs_four_keys(key: str) -> None:
    accept(document(scope(bindings=[binding()], routes=[route()])))
    short = route()
    del short[key]
    assert refuse(document(scope(bindings=[binding()], routes=[short]))) == [
        (f"scopes/0/routes/0/{key}", "missing_field")
    ]


@pytest.mark.req("B-SCHEMA-07")
@pytest.mark.parametrize(
    ("at", "key"),
    [
        ((), "version"),
        ((), "scopes"),
        (("scopes", 0), "id"),
        (("scopes", 0), "name"),
        (("scopes", 0, "bindings", 0), "name"),
        (("scopes", 0, "bindings", 0), "executor"),
        (("scopes", 0, "extensions", 0), "name"),
        (("scopes", 0, "extensions", 0), "type"),
    ],
)
def test_a_missing_key_is_an_error(at: tuple[str | int, ...], key: str) -> None:
    value = whole()
    place = dict(objects(value))[at]
    del place[key]
    expected = ("/".join(map(str, (*at, key))), "missing_field")
    assert expected in refuse(value)


def test_every_object_of_the_core_refuses_an_unknown_key() -> None:
    value = whole()
    places = []
    for at, item in objects(value):
        item["zzz"] = "canary"
        places.append(("/".join(map(str, (*at, "zzz"))), "unknown_field"))
    found = refuse(value)
    assert sorted(found) == sorted(places)
    assert len(found) == 7


@pytest.mark.req("B-SCHEMA-10")
def test_null_is_an_error_for_every_key_of_the_core() -> None:
    tried = 0
    for at, item in objects(whole()):
        for key in item:
            value = whole()
            dict(objects(value))[at][key] = None
            expected = ("/".join(map(str, (*at, key))), "null_value")
            assert expected in refuse(value)
            tried += 1
    assert tried == 30


@pytest.mark.req("B-SCHEMA-09")
@pytest.mark.parametrize(
    ("at", "key", "wrong"),
    [
        ((), "scopes", {}),
        ((), "settings", []),
        (("settings",), "concurrency", "4"),
        (("settings",), "ready_limit", 4.5),
        (("settings",), "timeout_seconds", True),
        (("scopes", 0), "name", 1),
        (("scopes", 0), "enabled", "true"),
        (("scopes", 0), "bindings", {}),
        (("scopes", 0), "routes", "x"),
        (("scopes", 0), "extensions", 1),
        (("scopes", 0), "secret_refs", []),
        (("scopes", 0), "limits", 1),
        (("scopes", 0, "bindings", 0), "config", []),
        (("scopes", 0, "bindings", 0), "secret_names", "key"),
        (("scopes", 0, "bindings", 0), "pass_env", {}),
        (("scopes", 0, "routes", 0), "binding", 1),
        (("scopes", 0, "extensions", 0), "type", []),
    ],
)
def test_a_wrong_type_is_an_error(
    at: tuple[str | int, ...], key: str, wrong: Any
) -> None:
    value = whole()
    dict(objects(value))[at][key] = wrong
    expected = ("/".join(map(str, (*at, key))), "invalid_type")
    assert expected in refuse(value)


def test_an_entry_that_is_no_object_is_an_error() -> None:
    value = document(scope(bindings=[1], routes=[None], extensions=["x"]))
    assert refuse(value) == [
        ("scopes/0/bindings/0", "invalid_type"),
        ("scopes/0/extensions/0", "invalid_type"),
        ("scopes/0/routes/0", "invalid_type"),
    ]
    assert refuse(document(scope(), 1)) == [("scopes/1", "invalid_type")]  # type: ignore[arg-type]  # the fault is the subject
    assert refuse([]) == [("", "invalid_type")]


@pytest.mark.req("B-SCHEMA-20")
@pytest.mark.parametrize("version", [0, 2, -1, "1", True, 1.5, [1]])
def test_the_version_is_exactly_one(version: Any) -> None:
    ((place, code),) = refuse(document() | {"version": version})
    assert place == "version"
    assert code in {"invalid_config", "invalid_type"}


def test_a_later_version_is_refused_and_its_remedy_names_this_one() -> None:
    (problem,) = problems_of(document() | {"version": 2})
    assert "version 1" in problem.remedy


@pytest.mark.req("B-SCHEMA-22")
def test_a_document_without_scopes_is_refused() -> None:
    assert refuse({"version": 1, "scopes": []}) == [("scopes", "invalid_config")]


@pytest.mark.req("B-PATH-10")
def test_the_config_cannot_say_where_the_state_is() -> None:
    for value in (document(data_dir="/x"), document(settings={"data_dir": "/x"})):
        ((place, code),) = refuse(value)
        assert place.endswith("data_dir")
        assert code == "unknown_field"


@pytest.mark.req("B-NAME-06")
@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("a", True),
        ("a1_-b", True),
        ("a" * 63, True),
        ("A", False),
        ("1a", False),
        ("-a", False),
        ("_a", False),
        ("a" * 64, False),
        ("a.b", False),
        ("a\n", False),
        ("", False),
    ],
)
def test_names_are_stable_identifiers(name: str, good: bool) -> None:
    value = document(
        scope(
            name,
            bindings=[binding(name)],
            routes=[route(name, binding=name)],
            extensions=[{"name": name, "type": "quiet"}],
        )
    )
    found = [] if good else ["invalid_identifier"] * 5
    assert [item.code for item in problems_of(value)] == found


@pytest.mark.req("B-NAME-07")
def test_the_label_of_a_scope_is_any_text() -> None:
    made = accept(document(scope() | {"name": "My Desk ✓"}))
    assert made.scopes[0].name == "My Desk ✓"
    assert refuse(document(scope() | {"name": ""})) == [
        ("scopes/0/name", "invalid_config")
    ]


@pytest.mark.req("B-SCHEMA-15")
@pytest.mark.parametrize("text", ["$HOME", "${HOME}", "%HOME%", "~"])
def test_texts_are_taken_as_they_are(text: str) -> None:
    found, _ = check(document(scope() | {"name": text}), {"HOME": "/canary"})
    assert found is not None
    assert found.scopes[0].name == text


@pytest.mark.req("B-SET-24")
def test_a_timeout_has_bounds() -> None:
    for number in (1, 2147483647):
        accept(
            document(
                scope(bindings=[binding(timeout_seconds=number)]),
                settings={"timeout_seconds": number},
            )
        )
    for wrong in (0, 2147483648, 1.5):
        found = refuse(
            document(
                scope(bindings=[binding(timeout_seconds=wrong)]),
                settings={"timeout_seconds": wrong},
            )
        )
        assert [place for place, _ in found] == [
            "scopes/0/bindings/0/timeout_seconds",
            "settings/timeout_seconds",
        ]


def test_concurrency_may_be_unbounded_but_not_negative() -> None:
    assert accept(document(settings={"concurrency": 0})).settings.concurrency == 0
    assert refuse(document(settings={"concurrency": -1})) == [
        ("settings/concurrency", "invalid_config")
    ]


@pytest.mark.req("B-SCOPE-06")
def test_the_limit_of_a_scope_is_not_above_the_setting() -> None:
    for number in (1, 10):
        accept(document(scope(limits={"ready_limit": number})))
    assert refuse(document(scope(limits={"ready_limit": 11}))) == [
        ("scopes/0/limits/ready_limit", "limit_exceeds_parent")
    ]
    accept(document(scope(limits={})))


@pytest.mark.req("B-SCHEMA-23")
def test_no_scope_is_added() -> None:
    made = accept(document(scope("home"), scope("away")))
    assert [item.id for item in made.scopes] == ["home", "away"]


@pytest.mark.req("B-SCHEMA-01")
@pytest.mark.parametrize(
    "text",
    [
        "version: 1\nscopes: []",
        '{"version": 1, // comment\n "scopes": []}',
        '{"version": 1, "scopes": [],}',
        "{'version': 1}",
        "",
    ],
)
def test_the_text_is_json_and_nothing_else(text: str) -> None:
    assert refuse(text) == [("", "invalid_json")]


@pytest.mark.req("B-SCHEMA-02")
@pytest.mark.parametrize(
    "text",
    [
        '{"version": 1, "version": 1, "scopes": []}',
        '{"version": 1, "settings": {"concurrency": 1, "concurrency": 1}}',
        '{"scopes": [{"bindings": [{"config": {"a": [{"b": 1, "b": 1}]}}]}]}',
    ],
)
def test_the_same_key_twice_is_refused_at_any_depth(text: str) -> None:
    assert refuse(text) == [("", "invalid_json")]


@pytest.mark.req("B-SCHEMA-29")
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_are_finite(number: str) -> None:
    text = json.dumps(document(settings={"timeout_seconds": 12345}))
    assert len(refuse(text.replace("12345", number))) == 1


@pytest.mark.req("B-DIAG-08")
def test_broken_json_has_a_line_and_a_column() -> None:
    (problem,) = problems_of('{\n  "version": 1,\n      oops: 2\n}')
    assert (problem.line, problem.column) == (3, 7)
    assert "line 3, column 7" in str(problem)
    assert "oops" not in str(problem)


def test_the_path_of_a_test_document_is_not_looked_at() -> None:
    assert not Path(BASE).exists()
