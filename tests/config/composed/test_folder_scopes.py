"""The scopes of included folders, and where they go (B-INCL)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.config.composed.desk import (
    CANARY,
    Desk,
    bell,
    binding,
    fragment,
    gone,
    including,
    names,
    own_registry,
    route,
    scope,
)


@pytest.mark.req("B-INCL-05", "B-INCL-15", "B-INCL-16")
def test_scopes_of_folders_come_after_those_of_the_file(desk: Desk) -> None:
    first = desk.include("b", fragment(scope("one"), scope("two", "one")))
    second = desk.include("a", fragment(scope("three", "side")), parent="side")
    value = including(first, second, scopes=[scope("side", "home")])
    desk.pass_(value)
    made = [(item.id, item.parent) for item in desk.accept(value).scopes]
    assert made[:2] == [("home", None), ("side", "home")]
    assert made[2:] == [  # B-INCL-15
        ("one", "home"),  # B-INCL-16
        ("two", "one"),
        ("three", "side"),
    ]


@pytest.mark.req("B-INCL-17")
@pytest.mark.parametrize("parent", ["side", "other", "nobody", "two"])
def test_a_scope_of_a_folder_stays_below_its_parent(parent: str, desk: Desk) -> None:
    other = desk.include("other", fragment(scope("other")))
    include = desk.include("a", fragment(scope("one"), scope("two", parent)))
    value = including(other, include, scopes=[scope("side", "home")])
    code = "scope_cycle" if parent == "two" else "unknown_reference"
    assert desk.refuse(value) == [("includes/1/scopes/1/parent", code)]
    if parent == "side":
        assert desk.fail(value) == desk.refuse(value)


@pytest.mark.req("B-INCL-18")
def test_a_folder_narrows_what_its_parent_has(desk: Desk) -> None:
    ceiling = {"operations": ["work.list"], "connections": ["account"]}
    limits = {"concurrency": 2}
    connections = [
        {"id": "account", "type": "account"},
        {"id": "more", "type": "other"},
    ]

    def composed(**folder: Any) -> dict[str, Any]:
        include = desk.include("a", fragment(scope("work", **folder)))
        home = including(include, authorization=ceiling, limits=limits)
        return home | {"connections": connections}

    wider = composed(
        authorization={"operations": ["@work"], "connections": ["account", "more"]},
        limits={"concurrency": 3},
        bindings=[binding(secret_names=["key"], operations=["work.list"])],
    )
    at = "includes/0/scopes/0"
    assert desk.fail(wider) == [
        (f"{at}/authorization/connections/1", "not_authorized"),
        (f"{at}/authorization/operations/0", "not_authorized"),
        (f"{at}/bindings/0/secret_names/0", "unknown_reference"),
        (f"{at}/limits/concurrency", "limit_exceeds_parent"),
    ]
    inherits = composed(bindings=[binding(operations=["work.list"])])
    desk.pass_(inherits)
    made = desk.scope_of(inherits, "work").authorization
    assert made.operations == frozenset({"work.list"})
    assert made.connections == frozenset({"account"})
    desk.accept(composed(authorization={"operations": []}, limits={"concurrency": 1}))


@pytest.mark.req("B-INCL-19")
def test_a_scope_of_the_file_is_not_in_a_folder(desk: Desk) -> None:
    include = desk.include("a", fragment(scope("work")))
    value = including(include, scopes=[scope("side", "work")])
    assert desk.fail(value) == [("scopes/1/parent", "unknown_reference")]


@pytest.mark.req("B-INCL-20", "B-INCL-21")
def test_the_composed_document_knows_folders_and_no_includes(desk: Desk) -> None:
    include = desk.include("a", fragment(scope("one"), scope("two", "one")))
    value = including(include)
    composed = desk.check(value)
    assert isinstance(composed.normal, dict)
    scopes = composed.normal["scopes"]
    sources = {item["id"]: item.get("source") for item in scopes}
    folder = str(desk.root / "a")
    assert sources == {"home": None, "one": folder, "two": folder}  # B-INCL-20
    assert "includes" not in composed.normal  # B-INCL-21
    # The hash is that of what was composed, so it follows the folder's file.
    desk.include("a", fragment(scope("one"), scope("two", "one", enabled=False)))
    assert desk.check(value).hash != composed.hash
    desk.include("a", fragment(scope("one"), scope("two", "one", enabled=True)))
    assert desk.check(value).hash == composed.hash


@pytest.mark.req("B-INCL-24")
def test_an_executor_adapts_each_binding_of_a_folder_once(desk: Desk) -> None:
    grants = [{"name": "more", "config": {"loud": True}}]
    adapted = binding("a", "adapting", config={"say": "hello"}, grants=grants)
    kept = binding("b", "adapting", config={"cwd": "/kept"})
    include = desk.include("a", fragment(scope("work", bindings=[adapted, kept])))
    own = binding("own", "adapting")
    value = including(include, bindings=[own], scopes=[scope("side", "home")])
    desk.pass_(value)
    folder = desk.root / "a"
    assert [item["folder"] for item in desk.notes] == [str(folder)] * 2
    made = desk.scope_of(value, "work")
    assert [item.config.cwd for item in made.bindings] == [None, folder, Path("/kept")]
    assert made.bindings[1].grants[0].config.cwd == folder
    assert made.bindings[1].config.say == "hello"
    normal = desk.check(value).normal
    assert isinstance(normal, dict)
    stored = normal["scopes"][2]["bindings"][0]["config"]
    assert stored["cwd"] == str(folder)
    assert "cwd" not in normal["scopes"][0]["bindings"][0]["config"]


@pytest.mark.req("B-INCL-24")
def test_a_command_of_a_folder_runs_in_it(desk: Desk) -> None:
    (desk.root / "a/sub").mkdir(parents=True)
    bindings = [
        binding("plain", "command", config={"argv": ["sh"]}),
        binding("below", "command", config={"argv": ["./run.sh"], "cwd": "sub"}),
    ]
    (desk.root / "a/run.sh").write_text("#!/bin/sh\n")
    (desk.root / "a/run.sh").chmod(0o755)
    include = desk.include("a", fragment(scope("work", bindings=bindings)))
    value = including(include)
    desk.pass_(value)
    folder = desk.root / "a"
    plain, below = desk.scope_of(value, "work").bindings
    assert plain.config.cwd == folder
    assert below.config.cwd == folder / "sub"
    # What is kept says where its program is, wherever it is read again.
    normal = desk.check(value).normal
    assert isinstance(normal, dict)
    stored = normal["scopes"][1]["bindings"][1]["config"]
    assert stored["argv"] == [str(folder / "./run.sh")]
    assert stored["cwd"] == str(folder / "sub")
    assert below.config.argv == (str(folder / "./run.sh"),)
    normal = desk.check(value).normal
    assert isinstance(normal, dict)
    stored = [item["config"]["cwd"] for item in normal["scopes"][1]["bindings"]]
    assert stored == [str(folder), str(folder / "sub")]


def test_every_executor_with_a_working_folder_runs_in_the_included_one(
    desk: Desk,
) -> None:
    types = own_registry().executors
    working = [
        name for name, item in types.items() if item.spec and "cwd" in item.spec.keys
    ]
    assert {"command", "demo", "claude_code"} <= set(working)
    needed = {"command": {"argv": ["sh"]}}
    bindings = [binding(f"b_{x}", x, config=needed.get(x, {})) for x in working]
    include = desk.include("a", fragment(scope("work", bindings=bindings)))
    made = desk.check(including(include)).document  # engines may not be there
    assert made is not None
    found = [item.config.cwd for item in made.scopes[1].bindings]
    assert found == [desk.root / "a"] * len(working)


@pytest.mark.req("B-INCL-26")
def test_what_an_executor_does_not_adapt_is_refused(desk: Desk) -> None:
    include = desk.include(
        "a", fragment(scope("work", bindings=[binding("a", "refusing")]))
    )
    value = including(include)
    assert desk.fail(value) == [
        ("includes/0/scopes/0/bindings/0/config", "invalid_config")
    ]
    assert [item["what"] for item in desk.notes] == ["refuse"]
    _, rows = desk.run(value)
    assert "canary" not in json.dumps(rows)
    assert desk.check(value).normal is None
    # In the config file it is not asked.
    desk.pass_(including(bindings=[binding("a", "refusing")]))
    assert desk.notes == []


@pytest.mark.req("B-INCL-35")
def test_faults_of_a_folder_are_told_below_its_include(desk: Desk) -> None:
    first = desk.include("a", fragment(scope("one")))
    faulty = scope(
        "two",
        zzz=1,
        bindings=[binding(config={"say": CANARY, "sayy": 1}), gone("nobody")],
        routes=[route(to="codr")],
        extensions=[bell("door", "home", "key")],
    )
    second = desk.include("b", fragment(scope("three"), faulty))
    at = "includes/1/scopes/1"
    assert desk.fail(including(first, second)) == [
        (f"{at}/bindings/0/config/sayy", "invalid_config"),
        (f"{at}/bindings/1/name", "unknown_tombstone"),
        (f"{at}/extensions/0/secret_names/0", "unknown_reference"),
        (f"{at}/routes/0/binding", "unknown_reference"),
        (f"{at}/zzz", "unknown_field"),
    ]
    picky = binding("a", "picky", config={"loud": True, "quiet": True})
    third = desk.include("c", fragment(scope("four", bindings=[picky])))
    assert desk.fail(including(third)) == [
        ("includes/0/scopes/0/bindings/0/config/quiet", "invalid_config")
    ]


@pytest.mark.req("B-INCL-37")
def test_a_folder_has_sources_of_its_own(desk: Desk) -> None:
    refs = {"key": "file:key"}
    above = bell("door", "home")
    include = desk.include(
        "a", fragment(scope("work", extensions=[bell("door", "work")]))
    )
    value = including(include, extensions=[above], secret_refs=refs)
    desk.pass_(value)
    assert names(desk.scope_of(value, "work").extensions) == ["door"]
    same = bell("door", "work")
    same["config"]["namespace"] = above["config"]["namespace"]
    include = desk.include("a", fragment(scope("work", extensions=[same])))
    assert desk.fail(value) == [
        ("includes/0/scopes/0/extensions/0/config/namespace", "duplicate_name")
    ]


@pytest.mark.req("B-INCL-15")
def test_ids_are_unique_across_folders(desk: Desk) -> None:
    first = desk.include("a", fragment(scope("work"), scope("home")))
    second = desk.include("b", fragment(scope("work")))
    assert desk.refuse(including(first, second)) == [
        ("includes/0/scopes/1/id", "duplicate_name"),
        ("includes/1/scopes/0/id", "duplicate_name"),
    ]
