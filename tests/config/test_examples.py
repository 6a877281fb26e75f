"""The shipped examples are valid, and their check has teeth."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import examples
from tests.support.service import write_private
from tests.support.trace import ROOT

SCRIPT = ROOT / "scripts" / "check-examples"
SHIPPED = examples.shipped()


def _problems(done: subprocess.CompletedProcess[str]) -> list[tuple[str, str, str]]:
    found = json.loads(done.stdout)["problems"]
    return [(item["level"], item["path"], item["code"]) for item in found]


def test_the_examples_are_there() -> None:
    names = {str(path.relative_to(examples.FOLDER)) for path in SHIPPED}
    assert names == {
        "household.json",
        "included-folder/config.json",
        "local-server.json",
        "one-engine.json",
        "two-engines.json",
    }


@pytest.mark.parametrize("example", SHIPPED, ids=lambda path: path.parent.name)
def test_an_example_is_valid(example: Path, tmp_path: Path) -> None:
    done = examples.check(example, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert _problems(done) == []


@pytest.mark.parametrize("example", SHIPPED, ids=lambda path: path.parent.name)
def test_an_example_is_explained(example: Path) -> None:
    page = (examples.FOLDER.parent / "configure.md").read_text(encoding="utf-8")
    assert f"](examples/{example.relative_to(examples.FOLDER)})" in page


def test_the_snippets_of_the_page_are_valid_in_a_config(tmp_path: Path) -> None:
    page = (examples.FOLDER.parent / "scopes.md").read_text(encoding="utf-8")
    found = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    tombstones, secret, ceiling, clerk, package = map(json.loads, found)
    careful = {"name": "careful", "executor": "able"}
    route = {
        "name": "chat_careful",
        "handler": "sees_grants",
        "binding": "careful",
        "active_policy": "queue",
    }
    shop = {
        **{"id": "shop", "name": "Shop", "bindings": [clerk, careful]},
        **{"routes": [route], "secret_refs": {"agent_key": "file:key"}, **ceiling},
    }
    corner = {"id": "corner", "name": "Corner", "parent": "shop"}
    config = {
        **{"version": 1, "connections": [{"id": "tracker", "type": "account"}]},
        **package,
        "scopes": [
            shop,
            {"id": "kitchen", "name": "Kitchen"},
            {**corner, **tombstones, **secret},
        ],
    }
    file = tmp_path / "config.json"
    tmp_path.chmod(0o700)
    write_private(file, config)
    assert _problems(examples.check_placed(file, tmp_path)) == []


@pytest.mark.req("B-INCL-02")
def test_a_folder_is_included_by_a_path_of_both_forms(tmp_path: Path) -> None:
    file = examples.placed(examples.FOLDER / "included-folder/config.json", tmp_path)
    value = json.loads(file.read_text(encoding="utf-8"))
    for path in ("garden", str(file.parent / "garden")):
        value["includes"][0]["path"] = path
        write_private(file, value)
        assert _problems(examples.check_placed(file, tmp_path)) == []
    # That both were read shows when something is wrong in there.
    fragment = file.parent / "garden" / examples.FRAGMENT
    broken = json.loads(fragment.read_text(encoding="utf-8"))
    del broken["scopes"][0]["name"]
    write_private(fragment, broken)
    for path in ("garden", str(file.parent / "garden")):
        value["includes"][0]["path"] = path
        write_private(file, value)
        assert _problems(examples.check_placed(file, tmp_path)) == [
            ("error", "includes/0/scopes/0/name", "missing_field")
        ]


def _set(*steps: str | int, to: Any) -> Callable[[Any], None]:
    """Return a fault: the value at a place becomes another one."""

    def apply(document: Any) -> None:
        for step in steps[:-1]:
            document = document[step]
        document[steps[-1]] = to

    return apply


FAULTS = {
    "version": _set("version", to=2),
    "unknown key": _set("scopes", 0, "bindngs", to=[]),
    "null": _set("scopes", 0, "limits", to=None),
    "wrong type": _set("scopes", 0, "name", to=7),
    "name": _set("scopes", 0, "bindings", 0, "name", to="Clerk"),
    "duplicate": _set("scopes", 0, "bindings", 1, "name", to="clerk"),
    "secret in clear": _set("connections", 0, "secret_refs", "token", to="canary"),
    "parent": _set("scopes", 1, "parent", to="street"),
    "binding": _set("scopes", 0, "routes", 0, "binding", to="nobody"),
    "secret name": _set("scopes", 0, "extensions", 0, "secret_names", to=["other"]),
    "owner's config": _set("scopes", 0, "bindings", 0, "config", to={"volume": 11}),
    "not granted": _set("scopes", 0, "authorization", "connections", to=["archive"]),
    "wider ceiling": _set("scopes", 1, "authorization", "connections", to=["attic"]),
    "operation": _set("scopes", 0, "bindings", 0, "operations", to=["work.cancel"]),
    "executor": _set("scopes", 0, "bindings", 0, "executor", to="nobody"),
    "no inject": _set("scopes", 0, "bindings", 0, "executor", to="plain"),
    "not required": _set("scopes", 0, "bindings", 0, "requires", to={}),
    "no images": _set("scopes", 0, "bindings", 0, "requires", "image", to=True),
    "no provider": _set("scopes", 0, "bindings", 0, "resource", "provider", to="x"),
    "wrong connection": _set("scopes", 0, "bindings", 1, "connection", to="archive"),
    "tombstone": _set("scopes", 1, "extensions", 0, "name", to="window"),
    "package": _set("settings", "extensions", to={}),
}


def _seeded(fault: str, folder: Path) -> Path:
    document = json.loads(examples.SAMPLE.read_text(encoding="utf-8"))
    FAULTS[fault](document)
    file = folder / "faulty.json"
    write_private(file, document)
    return file


@pytest.mark.req("B-SCHEMA-26")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_seeded_fault_is_found(
    fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert examples.main([str(_seeded(fault, tmp_path))]) == 1
    told = capsys.readouterr().out
    assert "canary" not in told
    assert json.loads(told.split("\n", 1)[1])["valid"] is False


@pytest.mark.req("B-SCHEMA-26")
def test_the_script_says_what_the_check_says(tmp_path: Path) -> None:
    bad = _script(str(_seeded("binding", tmp_path)))
    assert bad.returncode == 1, bad.stdout + bad.stderr
    good = _script()
    assert good.returncode == 0, good.stdout + good.stderr
    assert good.stdout.count("good ") == len(SHIPPED) + 1


def test_a_file_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    done = _script(str(tmp_path / "none.json"))
    assert (done.returncode, done.stderr) == (1, "")
    assert "there is no such file" in done.stdout


def _script(*files: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, *files], capture_output=True, text=True, check=False, timeout=60
    )
