"""Names: their form, and that what is no name is never repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.config.rows.lab import (
    TRACKER,
    WORD,
    asked,
    bell,
    binding,
    checked,
    config,
    found,
    route,
    scope,
    told,
)

SECRET = "Canary Value"  # what came into the place of a name by mistake


def misnamed(name: str) -> dict[str, Any]:
    """Return a document in which things have this name and others look for one."""
    above = scope(
        name,
        bindings=[binding(name, secret_names=["word"]), binding("kept")],
        routes=[route(name, binding="kept"), route("b", binding="clerk")],
        extensions=[bell(name)],
        secret_refs={name: "file:word", **WORD},
        authorization={"connections": ["nope"], "read_scopes": ["nope"]},
    )
    below = scope(
        "below",
        parent=name,
        bindings=[{"name": "kept", "disabled": True}],
        extensions=[bell("gate", secret_names=["nope"])],
        secret_refs={"word": False},
    )
    lost = scope("lost", parent="nope")
    budgets = [{"tokens": 1, "window_seconds": 1, "scope": "nope"}]
    return config(
        above,
        below,
        lost,
        connections=[TRACKER | {"id": name}],
        includes=[{"path": "x", "parent": "nope"}],
        settings={"usage_budgets": budgets},
    )


def test_what_is_no_name_is_not_repeated(tmp_path: Path) -> None:
    status, answer, words = asked(tmp_path, misnamed(SECRET))
    assert status == 1
    for problem in answer["problems"]:
        assert SECRET not in problem["message"] + problem["remedy"]
    # A key of the document is in the pointer, which has to lead there.
    assert words.count(SECRET) == 1
    named = [str(problem) for problem in checked(misnamed("fine")).problems]
    for sentence in (
        "use one of fine",
        "route 'fine' refers",
        "binding 'fine' selects",
    ):
        assert any(sentence in line for line in named), sentence


def test_what_is_no_name_is_not_looked_for(tmp_path: Path) -> None:
    value = config(
        scope(
            authorization={
                key: ["No Name"]
                for key in ("connections", "operations", "read_scopes", "file_scopes")
            },
            bindings=[
                binding(executor="No Name", connection="No Name"),
                binding("b", secret_names=["No Name"], operations=["No Name"]),
            ],
            routes=[route(handler="No Name", binding="No Name")],
            extensions=[bell(type="No Name", connection="No Name")],
            secret_refs=WORD,
        ),
        connections=[{"id": "a", "type": "No Name"}],
    )
    problems = told(tmp_path, value)
    assert {code for _, code in problems} == {"invalid_identifier", "invalid_config"}
    assert len({at for at, _ in problems}) == len(problems) == 13


@pytest.mark.parametrize("name", ["a", "a1", "a_b-c", "a" * 63])
def test_names_of_the_right_form_are_taken(name: str) -> None:
    value = config(
        scope(
            name,
            bindings=[binding(name, grants=[{"name": name}])],
            routes=[route(name, binding=name)],
            secret_refs={name: "file:word"},
            authorization={"connections": [name], "read_scopes": [name]},
        ),
        connections=[TRACKER | {"id": name}],
    )
    assert found(value) == []


WRONG = [
    "",
    "A",
    "1a",
    "_a",
    "-a",
    "a b",
    "a.b",
    "a/b",
    "../a",
    "\u00e4",
    "a" * 64,
    "a\n",
]


@pytest.mark.parametrize("name", WRONG)
def test_names_of_another_form_are_refused(name: str) -> None:
    value = config(
        scope(
            name,
            bindings=[binding(name, grants=[{"name": name}])],
            routes=[route(name)],
            extensions=[bell(name)],
        ),
        scope("next", extensions=[{"name": name, "disabled": True}]),
        connections=[TRACKER | {"id": name}],
    )
    places = {at for at, code in found(value) if code == "invalid_identifier"}
    assert places == {
        "connections/0/id",
        "scopes/0/id",
        "scopes/0/bindings/0/name",
        "scopes/0/bindings/0/grants/0/name",
        "scopes/0/routes/0/name",
        "scopes/0/extensions/0/name",
        "scopes/1/extensions/0/name",
    }
