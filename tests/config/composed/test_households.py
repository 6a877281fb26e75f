"""A household served by the real daemon: what is in force can be seen at work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests

from tests.config.composed.desk import Desk, bell, document, fragment, gone, scope
from tests.config.composed.household import (
    Home,
    chat,
    engine,
    folders,
    lane,
    own_token,
    route,
    served,
)
from tests.support.service import PASSWORD, Stub, binding, stub

KEY = {"secret_names": ["key"], "secret_env": {"KEY": "key"}}


@dataclass(slots=True)
class Family:
    """A served household whose engines answer with their own name.

    Attributes:
        home: The household: anna replaces an engine, a secret and the lane; ben does
            without an engine, a secret and an entry.
        one: Runs the model ``quick``.
        two: Runs the model ``careful``.
        three: Runs anna's own ``quick``.
    """

    home: Home
    one: Stub
    two: Stub
    three: Stub


@pytest.fixture
def family(desk: Desk) -> Iterator[Family]:
    folders(desk, "shared", "annas")
    engines = [stub(desk.root, ["print", x], name=x) for x in ("one", "two", "three")]
    config = document(_parents(desk, *engines[:2]), *_children(desk, *engines))
    with served(desk, config) as home:
        yield Family(home, *engines)


def _parents(desk: Desk, one: Stub, two: Stub) -> dict[str, Any]:
    return scope(
        "home",
        secret_refs=own_token("home", key="file:one", password="file:password"),
        bindings=[
            engine(one, name="quick", env={"ABOVE": "1"}, **KEY),
            engine(two, name="careful", **KEY),
        ],
        routes=[route("quick", "quick"), route("careful", "careful")],
        extensions=[
            chat("home", "quick", "careful"),
            lane("home", desk.root / "shared"),
            bell("door", "home", "key"),
        ],
    )


def _children(desk: Desk, one: Stub, _two: Stub, three: Stub) -> list[dict[str, Any]]:
    anna = scope(
        "anna",
        "home",
        secret_refs=own_token("anna", key="file:two"),
        bindings=[engine(three, name="quick", env={"OWN": "1"}, **KEY)],
        extensions=[
            chat("anna", "quick", "careful"),
            lane("anna", desk.root / "annas"),
        ],
    )
    ben = scope(
        "ben",
        "home",
        secret_refs=own_token("ben", key=False),
        bindings=[gone("careful"), engine(one, name="quick")],
        routes=[gone("careful")],
        extensions=[chat("ben", "quick"), gone("door")],
    )
    return [anna, ben]


@pytest.mark.req("B-INHERIT-01", "B-INHERIT-06", "B-INHERIT-07")
def test_a_child_gets_what_it_replaces(family: Family, desk: Desk) -> None:
    assert family.home.of("home").chat("who") == "one"
    assert family.one.only["environment"]["KEY"] == "value-of-one"
    assert family.one.only["cwd"] == str(desk.root / "shared")
    assert family.home.of("anna").chat("who") == "three"  # B-INHERIT-01
    environment = family.three.only["environment"]
    assert environment["KEY"] == "value-of-two"  # B-INHERIT-06
    assert environment["OWN"] == "1"
    assert "ABOVE" not in environment  # B-INHERIT-07
    assert family.three.only["cwd"] == str(desk.root / "annas")


@pytest.mark.req("B-INHERIT-01", "B-INHERIT-06")
def test_an_inherited_engine_works_with_what_the_child_has(
    family: Family, desk: Desk
) -> None:
    assert family.home.models("anna") == ["quick", "careful"]
    assert family.home.of("anna").chat("who", model="careful") == "two"
    assert family.two.only["environment"]["KEY"] == "value-of-two"
    assert family.two.only["cwd"] == str(desk.root / "annas")


@pytest.mark.req("B-TOMB-01", "B-TOMB-02", "B-TOMB-07")
def test_a_child_does_without_what_it_takes_away(family: Family, desk: Desk) -> None:
    assert family.home.models("ben") == ["quick"]  # B-TOMB-02
    # An id that is not on the list is served by the entry's first model.
    assert family.home.of("ben").chat("who", model="careful") == "one"
    assert family.two.records == []  # B-TOMB-01
    assert "KEY" not in family.one.only["environment"]  # B-TOMB-07
    assert family.one.only["cwd"] == str(desk.root / "shared")


@pytest.mark.req("B-EXT-09")
def test_an_inherited_entry_runs_in_its_own_scope_only(
    family: Family, desk: Desk
) -> None:
    rung = [item for item in desk.notes if item["what"] == "bell"]
    assert [item["entry"] for item in rung] == ["door"]
    for where in ("home", "anna", "ben"):
        seen = family.home.of(where)
        assert seen.models().status_code == 200
        for other in {"home", "anna", "ben"} - {where}:
            seen.token = f"token-{other}"
            assert seen.models().status_code == 401


@pytest.mark.req("B-TOMB-08")
def test_a_secret_comes_back_for_those_below(desk: Desk) -> None:
    folders(desk, "shared")
    made = stub(desk.root, ["print", "x"])
    home = scope(
        "home",
        secret_refs=own_token("home", key="file:one", password="file:password"),
        bindings=[engine(made, name="quick")],
        routes=[route("quick", "quick")],
        extensions=[chat("home", "quick"), lane("home", desk.root / "shared")],
    )
    ben = scope("ben", "home", secret_refs={"key": False})
    anna = scope(
        "anna",
        "ben",
        secret_refs=own_token("anna", key="file:two"),
        bindings=[engine(made, name="quick", **KEY)],
        extensions=[chat("anna", "quick")],
    )
    with served(desk, document(home, ben, anna)) as family:
        assert family.of("anna").chat("who") == "x"
        assert made.only["environment"]["KEY"] == "value-of-two"


def _with_folder(desk: Desk, above: Stub, below: Stub) -> dict[str, Any]:
    """Return a config with a folder that has an engine and a chat of its own."""
    home = scope(
        "home",
        secret_refs=own_token("home", anna="file:token_anna"),
        bindings=[binding(above, name="quick", cwd="../shared")],
        routes=[route("quick", "quick")],
        extensions=[chat("home", "quick"), bell("door", "home", "anna")],
    )
    inside = scope(
        "anna",
        bindings=[engine(below, name="own")],
        routes=[route("own", "own")],
        extensions=[chat("anna", "quick", "own", secret="anna")],
    )
    include = desk.include("annas", fragment(inside))
    lost = {"path": "../nowhere", "parent": "home"}
    return document(home, includes=[lost, include])


@pytest.mark.req("B-INCL-24", "B-INCL-31", "B-INCL-34", "B-INCL-37")
def test_a_folder_serves_its_own_with_its_own_engine(desk: Desk) -> None:
    folders(desk, "shared")
    above, below = (
        stub(desk.root, ["print", name], name=name) for name in ("above", "below")
    )
    with served(desk, _with_folder(desk, above, below)) as home:
        assert "include_missing" in home.service.log  # B-INCL-31
        assert home.models("anna") == ["quick", "own"]  # B-INCL-37
        assert home.of("anna").chat("who", model="own") == "below"
        assert below.only["cwd"] == str(desk.root / "annas")  # B-INCL-24
        # What is inherited works where it worked before.
        assert home.of("anna").chat("who", model="quick") == "above"
        assert above.only["cwd"] == str(desk.root / "shared")
        # The entry above has its own routes and never the folder's.
        assert home.models("home") == ["quick"]  # B-INCL-34
        assert home.of("home").chat("who", model="own") == "above"
        rung = [item for item in desk.notes if item["what"] == "bell"]
        assert [item["entry"] for item in rung] == ["door"]


@pytest.mark.req("B-INCL-34")
def test_no_entry_above_offers_what_only_a_folder_routes(desk: Desk) -> None:
    made = stub(desk.root, ["print", "x"])
    home = scope(
        "home",
        secret_refs=own_token("home"),
        bindings=[binding(made, name="quick")],
        routes=[route("quick", "quick")],
        extensions=[chat("home", "quick", "own")],
    )
    inside = scope("anna", routes=[route("own", "quick")])
    config = document(home, includes=[desk.include("annas", fragment(inside))])
    assert desk.fail(config) == [
        ("scopes/0/extensions/0/config/models/1", "invalid_config")
    ]


@pytest.mark.req("B-TOMB-03", "B-INHERIT-05")
def test_a_lane_is_served_where_it_is_declared(desk: Desk) -> None:
    folders(desk, "shared", "annas")
    made = stub(desk.root, ["print", "x"])
    home = scope(
        "home",
        secret_refs=own_token("home", password="file:password"),
        bindings=[engine(made, name="quick")],
        routes=[route("quick", "quick")],
        extensions=[chat("home", "quick"), lane("home", desk.root / "shared")],
    )
    anna = scope(
        "anna",
        "home",
        secret_refs=own_token("anna"),
        bindings=[binding(made, name="quick", cwd="../annas")],
        extensions=[chat("anna", "quick"), gone("files")],
    )
    config = document(home, anna)
    with served(desk, config) as family:
        assert family.of("anna").chat("who") == "x"
        assert made.only["cwd"] == str(desk.root / "annas")
        port = home["extensions"][1]["config"]["port"]
        listing = requests.request(
            "PROPFIND",
            f"http://127.0.0.1:{port}/",
            auth=("conduck", PASSWORD),
            headers={"Depth": "0"},
            timeout=20,
        )
        assert listing.status_code == 207
