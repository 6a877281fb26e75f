"""``config set``, ``unset`` and ``include``: a valid file, or the file as it was."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from conduck_service.config.load import LIMIT
from tests.cli.household import CANARY, Household, household
from tests.support.commands import tree

req = pytest.mark.req


@pytest.fixture
def home(tmp_path: Path) -> Household:
    return household(tmp_path)


def without_lock(root: Path) -> dict[str, Any]:
    """Return every file but the lock, and no times of folders."""
    found = tree(root)
    found.pop("config/.config.json.lock", None)
    return {name: kept for name, kept in found.items() if not (root / name).is_dir()}


@req("B-CLI-05", "B-CLI-09", "B-PERM-04")
def test_set_saves_and_keeps_the_text_before(home: Household) -> None:
    before = home.file.read_bytes()
    order = list(home.value["scopes"][0])
    done = home.config("set", "scopes/home/bindings/engine/timeout_seconds", "40")
    assert (done.returncode, done.stderr) == (0, "")
    assert home.value["scopes"][0]["bindings"][0]["timeout_seconds"] == 40
    assert list(home.value["scopes"][0]) == order
    text = home.file.read_text("utf-8")
    assert text.startswith('{\n  "version": 1,\n  ')
    assert text.endswith("}\n")
    assert home.last_good.read_bytes() == before
    for file in (home.file, home.last_good):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert home.config("check").returncode == 0


@req("B-CLI-05", "B-CLI-30")
@pytest.mark.parametrize(
    ("pointer", "value", "place"),
    [
        ("setings/concurrency", "3", "setings: unknown_field"),
        ("settings/concurrency", "many", "settings/concurrency: invalid_type"),
        ("settings/concurrency", "null", "settings/concurrency: null_value"),
        ("settings/concurrency", "1e999", "a number is too large"),
        ("scopes/home/secret_refs/spare", CANARY, "secret_refs/spare: invalid_secret"),
        ("scopes/home/routes/-", '{"name": "x"}', "routes/1/handler: missing_field"),
        ("scopes/home/bindings/engine", '{"name": "x"}', "executor: missing_field"),
        ("scopes/home/bindings/nobody/name", "x", "scopes/home/bindings/nobody"),
        ("version/x", "1", "version/x: nothing is inside"),
        ("scopes", "[]", "scopes: invalid_config"),
    ],
)
def test_what_would_be_faulty_is_not_saved(
    home: Household, pointer: str, value: str, place: str
) -> None:
    before = without_lock(home.root)
    done = home.config("set", pointer, value)
    assert (done.returncode, done.stdout) == (1, "")
    assert place in done.stderr
    assert CANARY not in done.stderr
    assert without_lock(home.root) == before


def test_every_fault_is_told(home: Household) -> None:
    value = json.dumps({"concurrency": "x", "timeout_seconds": 0, "nothing": 1})
    done = home.config("set", "settings", value)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 3


def test_a_file_with_two_mistakes_is_for_an_editor(home: Household) -> None:
    value = home.value
    value["settings"] = {"concurrency": 0, "timeout_seconds": 0}
    home.file.write_text(json.dumps(value))
    done = home.config("set", "settings/concurrency", "2")
    assert done.returncode == 1
    assert "mend them together, in an editor" in done.stderr
    assert "settings/timeout_seconds" in done.stderr
    value["settings"] = {"concurrency": 0}
    home.file.write_text(json.dumps(value))
    assert home.config("set", "settings/concurrency", "2").returncode == 0


@req("B-CLI-25")
@pytest.mark.parametrize("value", ['{"a": 1,}', '["x"', '"x', '{"a": 1, "a": 2}'])
def test_a_value_that_is_meant_as_json_has_to_be_json(
    home: Household, value: str
) -> None:
    done = home.config("set", "scopes/home/name", value)
    assert (done.returncode, done.stdout) == (2, "")
    assert "not JSON" in done.stderr


@pytest.mark.parametrize(
    ("words", "stored"),
    [
        (("My desk",), "My desk"),
        (('"My desk"',), "My desk"),
        (("--text", "12"), "12"),
        (("--text", '{"x"'), '{"x"'),
        (("--text", "--", "-5"), "-5"),
        (("Käse \u2603",), "Käse \u2603"),
    ],
)
def test_a_text_needs_no_quotes(
    home: Household, words: tuple[str, ...], stored: str
) -> None:
    done = home.config("set", "scopes/home/name", *words)
    assert done.returncode == 0, done.stderr
    assert home.value["scopes"][0]["name"] == stored


def test_an_entry_is_added_to_a_list(home: Household) -> None:
    config = {"argv": ["cat"], "cwd": "../folder"}
    more = {"name": "more", "executor": "command", "config": config}
    done = home.config("set", "scopes/home/bindings/-", json.dumps(more))
    assert done.returncode == 0, done.stderr
    assert home.value["scopes"][0]["bindings"][1:] == [more]


@req("B-CLI-06")
def test_unset_brings_the_default_back(home: Household) -> None:
    def meaning() -> Any:
        return json.loads(home.config("check", "--json").stdout)["hash"]

    assert home.config("set", "settings/concurrency", "4").returncode == 0
    default = meaning()
    assert home.config("set", "settings/concurrency", "5").returncode == 0
    assert meaning() != default
    done = home.config("unset", "settings/concurrency")
    assert (done.returncode, done.stderr) == (0, "")
    assert "concurrency" not in home.value["settings"]
    assert meaning() == default


@req("B-CLI-06")
@pytest.mark.parametrize(
    "pointer",
    ["scopes/home/bindings/engine", "version", "settings/nothing", "scopes/3"],
)
def test_what_is_needed_or_not_there_cannot_be_unset(
    home: Household, pointer: str
) -> None:
    before = without_lock(home.root)
    done = home.config("unset", pointer)
    assert (done.returncode, done.stdout) == (1, "")
    assert without_lock(home.root) == before


@pytest.mark.parametrize("command", [("set", "", "1"), ("unset", "/")])
def test_the_whole_config_is_no_value(
    home: Household, command: tuple[str, ...]
) -> None:
    assert home.config(*command).returncode == 2


def test_what_changes_nothing_is_not_written(home: Household) -> None:
    before = without_lock(home.root)
    done = home.config("set", "settings/concurrency", "2")
    assert done.returncode == 0
    assert "nothing was to be changed" in done.stdout
    assert without_lock(home.root) == before
    # 2 and 2.0 are equal in Python, and true equals 1.
    assert home.config("set", "version", "true").returncode == 1


@req("B-CLI-08")
def test_a_folder_is_included_and_taken_out(home: Household) -> None:
    shared = home.root / "shared" / ".open-conduit"
    shared.mkdir(parents=True)
    scope = {"id": "below", "name": "Below"}
    (shared / "config.json").write_text(json.dumps({"version": 1, "scopes": [scope]}))
    (shared / "config.json").chmod(0o644)
    before = home.value
    done = home.config("include", "add", "./shared", "--parent", "home")
    assert (done.returncode, done.stderr) == (0, "")
    entry = {"path": str(home.root / "shared"), "parent": "home"}
    assert home.value["includes"] == [entry]
    again = home.config("include", "add", str(home.root / "shared"), "--parent", "home")
    assert (again.returncode, again.stdout) == (1, "")
    assert "included already" in again.stderr
    done = home.config("include", "remove", "shared")
    assert (done.returncode, done.stderr) == (0, "")
    assert home.value == before
    assert home.config("include", "remove", "shared").returncode == 1


@req("B-CLI-08")
def test_an_include_of_an_unknown_scope_is_refused(home: Household) -> None:
    (home.root / "shared").mkdir()
    before = without_lock(home.root)
    done = home.config("include", "add", "shared", "--parent", "nobody")
    assert (done.returncode, done.stdout) == (1, "")
    assert "includes/0/parent" in done.stderr
    assert without_lock(home.root) == before
    assert home.config("include", "add", "shared").returncode == 2


@pytest.mark.parametrize("kind", ["nothing", "file"])
def test_a_folder_that_is_not_there_is_not_included(home: Household, kind: str) -> None:
    if kind == "file":
        (home.root / "shared").write_text("")
    before = without_lock(home.root)
    done = home.config("include", "add", "shared", "--parent", "home")
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no such folder; correct the path" in done.stderr
    assert without_lock(home.root) == before


def test_a_folder_without_scopes_is_a_warning(home: Household) -> None:
    (home.root / "shared").mkdir()
    done = home.config("include", "add", "shared", "--parent", "home")
    assert done.returncode == 0
    assert "warning: includes/0/path" in done.stderr
    assert home.value["includes"][0]["parent"] == "home"


@req("B-CLI-09")
@pytest.mark.parametrize("fault", ["open file", "open folder", "link", "last-good"])
def test_an_unsafe_place_is_not_written_to(home: Household, fault: str) -> None:
    if fault == "open file":
        home.file.chmod(0o644)
    elif fault == "open folder":
        home.file.parent.chmod(0o755)
    elif fault == "link":
        home.file.rename(home.root / "config" / "elsewhere")
        home.file.symlink_to("elsewhere")
    else:
        (home.root / "victim").write_bytes(b"")
        home.last_good.symlink_to(home.root / "victim")
    before = without_lock(home.root)
    done = home.config("set", "settings/concurrency", "3")
    assert (done.returncode, done.stdout) == (1, "")
    assert "unsafe_file" in done.stderr
    assert without_lock(home.root) == before


def test_a_missing_file_is_not_made(tmp_path: Path) -> None:
    home = Household(tmp_path, tmp_path / "none" / "config.json")
    done = home.config("set", "settings/concurrency", "3")
    assert (done.returncode, done.stdout) == (1, "")
    assert not os.path.lexists(tmp_path / "none")


def test_a_config_cannot_outgrow_its_limit(home: Household) -> None:
    value = home.value
    value["scopes"][0]["name"] = "x" * (LIMIT - 10_000)
    home.file.write_text(json.dumps(value))
    done = home.config("set", "scopes/home/bindings/engine/config/model", "y" * 20_000)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"larger than {LIMIT} bytes" in done.stderr
    assert home.value == value
