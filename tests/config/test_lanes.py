"""Which folder a file lane serves, and what is refused of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from conduck_service.base.diagnostics import Diagnostic
from conduck_service.domain.scope import Document
from tests.config.build import chat, checked, document, scope

ROOT = "scopes/0/extensions/0/config/root"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path.resolve() / "home"
    for name in ("config/sub", "state/sub", "shared/sub", "other"):
        (home / name).mkdir(parents=True)
    return home


def lane(name: str = "files", **config: Any) -> dict[str, Any]:
    values = {"namespace": f"home_{name}", "port": 8481, **config}
    return {"name": name, "type": "lane", "config": values}


def check(
    home: Path, *scopes: dict[str, Any], named: str = ""
) -> tuple[Document | None, list[Diagnostic]]:
    environment = {"HOME": str(home)}
    if named:
        environment["CONDUCK_FILES_DIR"] = str(home / named)
    return checked(
        json.dumps(document(*scopes)),
        base=home / "config",
        environment=environment,
        state_dir=home / "state",
    )


def refused(
    home: Path, *scopes: dict[str, Any], named: str = ""
) -> list[tuple[str, str]]:
    found, problems = check(home, *scopes, named=named)
    assert found is None
    assert all(item.remedy for item in problems)
    return [(item.place, item.code) for item in problems]


def folders(
    home: Path, *scopes: dict[str, Any], named: str = ""
) -> list[tuple[str | None, bool]]:
    """Return the folder of each scope below home, and whether a lane serves it."""
    found, problems = check(home, *scopes, named=named)
    assert problems == []
    assert found is not None
    return [
        (
            None if item.folder is None else str(item.folder.relative_to(home)),
            item.has_lane,
        )
        for item in found.scopes
    ]


@pytest.mark.req("F-ROOT-04")
def test_a_root_in_the_config_wins_over_the_variable(home: Path) -> None:
    named = scope(extensions=[lane(root=str(home / "other"))])
    assert folders(home, named, named="shared") == [("other", True)]
    assert folders(home, named) == [("other", True)]


@pytest.mark.req("F-ROOT-03")
def test_without_a_root_the_variable_names_it(home: Path) -> None:
    assert folders(home, scope(extensions=[lane()]), named="shared") == [
        ("shared", True)
    ]


@pytest.mark.req("F-ROOT-04")
def test_with_neither_there_is_no_lane(home: Path) -> None:
    (problem,) = check(home, scope(extensions=[lane()]))[1]
    assert (problem.place, problem.code) == (ROOT, "missing_field")
    assert "'root'" in problem.remedy
    assert "CONDUCK_FILES_DIR" in problem.remedy


def test_a_root_is_kept_by_its_real_path(home: Path) -> None:
    (home / "link").symlink_to("shared")
    for root in ("../link", "../shared/sub/..", str(home / "link")):
        assert folders(home, scope(extensions=[lane(root=root)])) == [("shared", True)]


def test_a_scope_without_a_lane_has_what_the_variable_names(home: Path) -> None:
    with_lane = scope(extensions=[lane(root="../other")])
    assert folders(home, with_lane, scope("second"), named="shared") == [
        ("other", True),
        ("shared", False),
    ]
    assert folders(home, with_lane, scope("second")) == [
        ("other", True),
        (None, False),
    ]


@pytest.mark.parametrize(
    "root", ["../missing", "../file", "../dangling", "../loop", "a" * 300, "\ud800"]
)
@pytest.mark.req("F-ROOT-05")
def test_a_root_that_is_no_folder_is_refused(home: Path, root: str) -> None:
    (home / "file").touch()
    (home / "dangling").symlink_to("gone")
    (home / "loop").symlink_to("loop")
    assert refused(home, scope(extensions=[lane(root=root)])) == [
        (ROOT, "invalid_config")
    ]


@pytest.mark.parametrize(
    "root",
    [
        ".",
        "sub",
        "..",
        "../..",
        "../state",
        "../state/sub",
        "../link-to-state",
        "/",
    ],
)
@pytest.mark.req("F-ROOT-16")
def test_a_root_is_apart_from_config_state_and_home(home: Path, root: str) -> None:
    (home / "link-to-state").symlink_to("state")
    assert refused(home, scope(extensions=[lane(root=root)])) == [
        (ROOT, "invalid_config")
    ]


@pytest.mark.req("F-ROOT-16")
def test_a_root_is_not_around_the_state(home: Path) -> None:
    _, problems = checked(
        json.dumps(document(scope(extensions=[lane(root=str(home / "shared"))]))),
        base=home / "config",
        environment={},
        state_dir=home / "shared/sub",
    )
    assert [item.place for item in problems] == [ROOT]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter every folder")
def test_a_root_that_cannot_be_entered_is_refused(home: Path) -> None:
    (home / "shared").chmod(0o600)
    try:
        found = refused(home, scope(extensions=[lane(root="../shared")]))
    finally:
        (home / "shared").chmod(0o700)
    assert found == [(ROOT, "invalid_config")]


@pytest.mark.parametrize(
    ("first", "second"),
    [("shared", "shared"), ("shared", "shared/sub"), ("shared/sub", "shared")],
)
def test_two_lanes_never_share_or_nest_roots(
    home: Path, first: str, second: str
) -> None:
    one = scope(extensions=[lane("one", root=f"../{first}")])
    two = scope("two", extensions=[lane("two", root=f"../{second}", port=8482)])
    assert refused(home, one, two) == [
        ("scopes/1/extensions/0/config/root", "invalid_config")
    ]


def test_the_variable_serves_one_lane(home: Path) -> None:
    one = scope(extensions=[lane("one")])
    two = scope("two", extensions=[lane("two", port=8482)])
    assert refused(home, one, two, named="shared") == [
        ("scopes/1/extensions/0/config/root", "invalid_config")
    ]


def test_a_scope_has_one_lane(home: Path) -> None:
    two = scope(
        extensions=[
            lane("one", root="../shared"),
            lane("two", root="../other", port=8482),
        ]
    )
    assert refused(home, two) == [("scopes/0/extensions/1/type", "duplicate_name")]


def test_a_refused_variable_is_not_told_of_a_second_time(home: Path) -> None:
    assert refused(home, scope(extensions=[lane()]), named="missing") == [
        ("", "invalid_config")
    ]


@pytest.mark.req("F-NET-04")
def test_chat_and_files_have_ports_of_their_own(home: Path) -> None:
    both = scope(extensions=[chat(), lane(root="../shared", port=8480)])
    (problem,) = check(home, both)[1]
    assert problem.code == "duplicate_name"
    for place in ("scopes/0/extensions/0", "scopes/0/extensions/1"):
        assert f"{place}/config/port" in str(problem)


def test_the_lane_of_the_nearest_scope_above_serves_those_below(home: Path) -> None:
    top = scope("top", extensions=[lane("first", root="../shared")])
    middle = scope("middle", parent="top")
    own = scope(
        "own", parent="middle", extensions=[lane("second", root="../home2", port=8482)]
    )
    leaf = scope("leaf", parent="own")
    gone = scope(
        "gone", parent="middle", extensions=[{"name": "first", "disabled": True}]
    )
    below = scope("below", parent="gone")
    (home / "home2").mkdir()
    found, problems = check(home, top, middle, own, leaf, gone, below)
    assert problems == []
    assert found is not None
    folders = {item.id: (item.folder, item.has_lane) for item in found.scopes}
    assert folders == {
        "top": (home / "shared", True),
        "middle": (home / "shared", True),
        "own": (home / "home2", True),
        "leaf": (home / "home2", True),
        "gone": (None, False),
        "below": (None, False),
    }


@pytest.mark.req("F-ROOT-04")
def test_a_folder_of_the_environment_that_nobody_needs_is_not_looked_at(
    home: Path,
) -> None:
    served = scope(extensions=[lane(root="../other")])
    assert folders(home, served, named="not/there") == [("other", True)]
    unserved = scope("without")
    assert refused(home, served, unserved, named="not/there") == [
        ("", "invalid_config")
    ]
