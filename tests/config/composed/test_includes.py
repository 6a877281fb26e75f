"""Included folders: which files are read, and what may stand in them (B-INCL)."""

from __future__ import annotations

import json
import os

import pytest

from tests.config.composed.desk import (
    CANARY,
    Desk,
    binding,
    document,
    fragment,
    including,
    scope,
)

PLACE = "includes/0/path"
UNSAFE = [(PLACE, "unsafe_file")]


@pytest.mark.req("B-INCL-01")
def test_an_include_has_a_path_and_a_parent(desk: Desk) -> None:
    desk.pass_(document(scope("home")))
    desk.accept(including())
    value = including({"parent": "home"}, {"path": "../a"}, {}, 5)
    assert desk.fail(value) == [
        ("includes/0/path", "missing_field"),
        ("includes/1/parent", "missing_field"),
        ("includes/2/parent", "missing_field"),
        ("includes/2/path", "missing_field"),
        ("includes/3", "invalid_type"),
    ]
    extra = {"path": "../a", "parent": "home", "scopes": []}
    assert desk.refuse(including(extra)) == [("includes/0/scopes", "unknown_field")]


@pytest.mark.req("B-INCL-02", "B-INCL-05")
def test_a_path_is_absolute_or_starts_at_the_config_directory(desk: Desk) -> None:
    near = desk.include("near", fragment(scope("near")))
    far = desk.include("far", fragment(scope("far")))
    far["path"] = str(desk.root / "far")
    inside = desk.include("config/inside", fragment(scope("inside")))
    inside["path"] = "inside"
    (desk.root / "config").chmod(0o700)
    value = including(near, far, inside)
    desk.pass_(value)
    made = {item.id: item.source for item in desk.accept(value).scopes}
    assert made == {
        "home": None,
        "near": desk.root / "near",
        "far": desk.root / "far",
        "inside": desk.folder / "inside",
    }


@pytest.mark.req("B-INCL-03")
def test_a_tilde_stands_for_nothing(desk: Desk) -> None:
    home = desk.root / "person"
    desk.include("person/x", fragment(scope("of_home")))
    value = including({"path": "~/x", "parent": "home"})
    status, rows = desk.run(value, environment={"HOME": str(home)})
    assert (status, [row["code"] for row in rows]) == (0, ["include_missing"])
    desk.include("config/~/x", fragment(scope("literal")))
    (desk.root / "config").chmod(0o700)
    assert [item.id for item in desk.accept(value).scopes] == ["home", "literal"]


@pytest.mark.req("B-INCL-04")
def test_the_parent_of_an_include_is_a_scope_of_the_file(desk: Desk) -> None:
    first = desk.include("a", fragment(scope("one")))
    for parent in ("one", "nobody"):
        second = desk.include("b", fragment(scope("two")), parent=parent)
        value = including(first, second)
        assert desk.fail(value) == [("includes/1/parent", "unknown_reference")]


MORE_KEYS = {
    "connections": [{"id": "account", "type": "account"}],
    "settings": {"concurrency": 1},
    "includes": [{"path": "elsewhere", "parent": "home"}],
    "source": CANARY,
    "zzz": CANARY,
}


@pytest.mark.req("B-INCL-05", "B-INCL-06", "B-INCL-07")
def test_a_fragment_has_a_version_and_scopes_only(desk: Desk) -> None:
    include = desk.include("a", fragment(scope("work"), **MORE_KEYS))
    found = desk.fail(including(include))
    assert found == [
        (f"includes/0/{key}", "unknown_field") for key in sorted(MORE_KEYS)
    ]
    _, rows = desk.run(including(include))
    remedies = {row["path"].rpartition("/")[2]: row["remedy"] for row in rows}
    assert remedies["connections"] == "move it into the config file"  # B-INCL-06
    assert remedies["settings"] == "move it into the config file"  # B-INCL-07
    for broken, place in (
        ({"scopes": [scope("work")]}, "includes/0/version"),
        ({"version": 1}, "includes/0/scopes"),
        ({"version": 1, "scopes": []}, "includes/0/scopes"),
        ({"version": 2, "scopes": [scope("work")]}, "includes/0/version"),
        ([], "includes/0"),
    ):
        include = desk.include("a", broken)
        assert [where for where, _ in desk.refuse(including(include))] == [place]


@pytest.mark.req("B-INCL-08", "B-INCL-09")
def test_a_fragment_decides_about_no_secret_and_no_variable(desk: Desk) -> None:
    shelf = {"provider": "shelf", "config": {"path": "."}, "pass_env": []}
    include = desk.include(
        "a",
        fragment(
            scope("work", secret_refs={"key": f"cmd:{CANARY}"}),
            scope("desk", secret_refs={}),
            scope("tool", bindings=[binding("a", pass_env=["TZ"])]),
            scope("help", bindings=[binding("b", resource=shelf)]),
        ),
    )
    value = including(include, secret_refs={"key": "file:key"})
    found = desk.fail(value)
    places = {place for place, code in found if code == "not_authorized"}
    assert places == {
        "includes/0/scopes/0/secret_refs",  # B-INCL-08
        "includes/0/scopes/1/secret_refs",
        "includes/0/scopes/2/bindings/0/pass_env",  # B-INCL-09
        "includes/0/scopes/3/bindings/0/resource/pass_env",
    }
    # What the config file's scope has is there to be selected.
    include = desk.include(
        "a", fragment(scope("work", bindings=[binding(secret_names=["key"])]))
    )
    desk.pass_(including(include, secret_refs={"key": "file:key"}))


@pytest.mark.req("B-INCL-10")
@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_a_fragment_is_a_regular_file(kind: str, desk: Desk) -> None:
    include = desk.include("a", fragment(scope("work")))
    file = desk.root / "a/.open-conduit/config.json"
    file.rename(desk.root / "kept.json")
    if kind == "link":
        file.symlink_to(desk.root / "kept.json")
    elif kind == "folder":
        file.mkdir()
    else:
        os.mkfifo(file)
    assert desk.fail(including(include)) == UNSAFE


@pytest.mark.req("B-INCL-11")
@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a file away")
def test_a_fragment_belongs_to_the_user_of_the_daemon(desk: Desk) -> None:
    include = desk.include("a", fragment(scope("work")))
    os.chown(desk.root / "a/.open-conduit/config.json", 65534, 65534)
    assert desk.fail(including(include)) == UNSAFE


@pytest.mark.req("B-INCL-12", "B-INCL-14")
def test_others_may_read_a_fragment_and_not_change_it(desk: Desk) -> None:
    for mode in (0o664, 0o666, 0o646):
        include = desk.include("a", fragment(scope("work")), mode=mode)
        assert desk.refuse(including(include)) == UNSAFE
    assert desk.fail(including(include)) == UNSAFE  # B-INCL-12
    for mode in (0o600, 0o644, 0o640, 0o400):
        include = desk.include("a", fragment(scope("work")), mode=mode)
        desk.accept(including(include))
    include = desk.include("a", fragment(scope("work")), mode=0o644)
    desk.pass_(including(include))  # B-INCL-14


@pytest.mark.req("B-INCL-13")
def test_a_fragment_has_at_most_a_mebibyte(desk: Desk) -> None:
    text = json.dumps(fragment(scope("work"))).encode()
    whole = desk.include("a", text.ljust(1 << 20))
    desk.pass_(including(whole))
    longer = desk.include("a", text.ljust((1 << 20) + 1))
    assert desk.fail(including(longer)) == UNSAFE


WHOLE = json.dumps(fragment(scope("work"))).encode()

BROKEN = {
    "comma": (b'{"version": 1,\n "scopes": [],}', (2, 14)),
    "mark": (b"\xef\xbb\xbf" + WHOLE, (0, 0)),
    "bytes": (b'{"version": 1, "scopes": "\xff"}', (0, 0)),
    "empty": (b"", (0, 0)),
    "more": (WHOLE + b"\n\n]", (3, 1)),
}
"""Files that are no JSON, and the line and column of the fault, if it has one."""


@pytest.mark.req("B-INCL-36")
@pytest.mark.parametrize("case", BROKEN)
def test_what_cannot_be_read_is_told_at_the_path(case: str, desk: Desk) -> None:
    data, where = BROKEN[case]
    value = including(desk.include("a", data))
    said = desk.fail(value) if case == "comma" else desk.refuse(value)
    assert said == [(PLACE, "invalid_json")]
    (problem,) = desk.check(value).problems
    assert (problem.line, problem.column) == where


@pytest.mark.req("B-INCL-36")
def test_a_file_out_of_reach_is_told_at_the_path(desk: Desk) -> None:
    (desk.root / "file").write_text(CANARY)
    includes = [
        {"path": "../file", "parent": "home"},
        {"path": "x" * 300, "parent": "home"},
    ]
    assert desk.fail(including(*includes)) == [
        ("includes/0/path", "unsafe_file"),
        ("includes/1/path", "unsafe_file"),
    ]


@pytest.mark.req("B-INCL-23")
def test_no_file_says_where_a_scope_comes_from(desk: Desk) -> None:
    include = desk.include("a", fragment(scope("work", source=CANARY)))
    value = including(include, source=CANARY)
    assert desk.fail(value) == [
        ("includes/0/scopes/0/source", "unknown_field"),
        ("scopes/0/source", "unknown_field"),
    ]


@pytest.mark.req("B-INCL-32", "B-INCL-33", "B-INCL-31")
def test_a_missing_folder_is_a_warning(desk: Desk) -> None:
    empty = desk.include("empty", None)
    (desk.root / "bare").mkdir()
    there = desk.include("there", fragment(scope("there")))
    lost = [{"path": f"../{name}", "parent": "home"} for name in ("nowhere", "bare")]
    value = including(lost[0], there, empty, lost[1])
    status, rows = desk.run(value)
    assert status == 0  # B-INCL-32
    assert [(row["path"], row["code"], row["level"]) for row in rows] == [
        (f"includes/{index}/path", "include_missing", "warning")
        for index in (0, 2, 3)  # B-INCL-33
    ]
    found = desk.check(value).document
    assert found is not None
    assert [item.id for item in found.scopes] == ["home", "there"]  # B-INCL-31
