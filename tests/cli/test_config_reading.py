"""``config path``, ``show``, ``get`` and ``schema``: what they print and where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.household import CANARY, Household, household
from tests.support.commands import run, tree

req = pytest.mark.req


@pytest.fixture
def home(tmp_path: Path) -> Household:
    return household(tmp_path)


@req("B-CLI-02")
def test_the_path_is_printed(home: Household) -> None:
    done = home.config("path")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{home.file}\n", "")
    assert json.loads(home.config("path", "--json").stdout) == {"path": str(home.file)}


@req("B-PATH-06", "B-PATH-07")
def test_the_option_stands_before_the_command_or_after_it(home: Household) -> None:
    for words in (
        ("--config", "/a/c.json", "config", "path"),
        ("config", "path", "--config", "/a/c.json"),
        ("--config", "/b/c.json", "config", "path", "--config", "/a/c.json"),
    ):
        done = run(*words, environment={"OPEN_CONDUIT_CONFIG": "/c/c.json"})
        assert done.stdout == "/a/c.json\n"
    assert home.config("path").stdout == f"{home.file}\n"


def test_serve_takes_both_options_from_the_front(tmp_path: Path) -> None:
    file, state = tmp_path / "none.json", tmp_path / "state"
    done = run("--config", str(file), "--data-dir", str(state), "serve")
    assert done.returncode == 78
    assert f"{file}: (whole document)" in done.stderr
    assert state.is_dir()


@req("B-PATH-21")
def test_without_a_home_the_remedy_is_the_option() -> None:
    done = run("config", "path", environment={"HOME": ""})
    assert (done.returncode, done.stdout) == (1, "")
    assert "--config" in done.stderr


@req("B-CLI-03", "B-CLI-30")
def test_show_hides_references_and_what_owners_keep_back(home: Household) -> None:
    done = home.config("show")
    assert (done.returncode, done.stderr) == (0, "")
    assert CANARY not in done.stdout
    assert "cmd:" not in done.stdout
    assert "file:" not in done.stdout
    shown = json.loads(done.stdout)
    scope = shown["scopes"][0]
    assert scope["secret_refs"] == {
        "chat_token": "[redacted]",
        "spare": "[redacted]",
    }
    config = scope["bindings"][0]["config"]
    assert (config["argv"], config["env"], config["model"]) == (
        "[set]",
        "[set]",
        "large",
    )
    assert scope["extensions"][0]["config"]["models"] == [{"id": "agent"}]
    assert shown["settings"] == {"concurrency": 2}
    assert json.loads(home.config("show", "--json").stdout) == shown


@req("B-CLI-03")
def test_show_hides_what_stands_in_a_wrong_place(home: Household) -> None:
    value = home.value
    scope = value["scopes"][0]
    value["api_key"] = scope["password"] = scope["name"] = {"x": CANARY}
    scope["secret_refs"] = {"chat_token": CANARY, "deep": {"x": CANARY}}
    scope["bindings"][0]["secret_names"] = [f"{CANARY} blank"]
    scope["bindings"][0]["config"]["model"] = {"x": CANARY}
    scope["routes"] = CANARY
    scope["extensions"][0]["type"] = {"x": CANARY}
    home.file.write_text(json.dumps(value))
    assert home.config("check").returncode == 1
    done = home.config("show")
    assert done.returncode == 0
    assert CANARY not in done.stdout + done.stderr


@req("B-CLI-04", "B-CLI-30")
@pytest.mark.parametrize(
    ("pointer", "printed"),
    [
        ("version", "1\n"),
        ("/settings/concurrency", "2\n"),
        ("scopes/0/id", "home\n"),
        ("scopes/home/bindings/engine/config/model", "large\n"),
        ("scopes/home/extensions/chat/config/models/agent", '{\n  "id": "agent"\n}\n'),
        ("scopes/home/secret_refs/spare", "[redacted]\n"),
        ("scopes/home/secret_refs", None),
        ("", None),
    ],
)
def test_get_prints_a_value(home: Household, pointer: str, printed: str | None) -> None:
    done = home.config("get", pointer)
    assert (done.returncode, done.stderr) == (0, "")
    assert printed in (None, done.stdout)
    assert "cmd:" not in done.stdout
    plain = home.config("get", pointer, "--json").stdout
    assert plain.count("\n") == 1
    assert json.loads(plain) is not None


@req("B-CLI-30", "B-CLI-25")
@pytest.mark.parametrize(
    ("pointer", "hint"),
    [
        ("setings", "did you mean 'settings'?"),
        ("scopes/home/bindings/enginee", "did you mean 'engine'?"),
        ("scopes/7", "home"),
        ("scopes/0/bindings/0/config/argv/9", "count from 0 to"),
        ("version/x", "nothing is inside a single value"),
        ("scopes/", "home"),
    ],
)
def test_get_says_where_a_pointer_goes_astray(
    home: Household, pointer: str, hint: str
) -> None:
    done = home.config("get", pointer)
    assert (done.returncode, done.stdout) == (1, "")
    assert hint in done.stderr


@req("B-CLI-25")
@pytest.mark.parametrize("command", ["show", "get", "set", "unset"])
def test_a_broken_file_is_told_by_place(home: Household, command: str) -> None:
    home.file.write_text('{"version": 1,\n "scopes" []}')
    words = {"show": (), "get": ("x",), "set": ("x", "1"), "unset": ("x",)}[command]
    before = tree(home.root)
    done = home.config(command, *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert "line 2, column 11" in done.stderr
    after = tree(home.root)
    after.pop("config/.config.json.lock", None)
    assert {name: kept for name, kept in after.items() if name != "config"} == {
        name: kept for name, kept in before.items() if name != "config"
    }


@req("B-CLI-25")
@pytest.mark.parametrize("command", [("show",), ("get", ""), ("check",)])
@pytest.mark.parametrize("levels", [200, 700, 100_000])
def test_deep_nesting_is_no_fault(
    home: Household, command: tuple[str, ...], levels: int
) -> None:
    home.file.write_text(f'{{"version": {"[" * levels}{"]" * levels}}}')
    done = home.config(*command)
    assert done.returncode in (0, 1)
    assert done.stderr.count("\n") == done.returncode or command == ("check",)
    assert "Traceback" not in done.stderr
    assert "a fault of the program" not in done.stderr


def test_the_schema_is_printed(home: Household) -> None:
    done = home.config("schema", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    schema = json.loads(done.stdout)
    assert "2020-12" in schema["$schema"]
    assert json.loads(home.config("schema").stdout) == schema


@req("B-CLI-07")
def test_check_tells_a_hash_of_the_meaning(home: Household) -> None:
    first = json.loads(home.config("check", "--json").stdout)
    assert first["valid"] is True
    assert first["hash"] in home.config("check").stdout
    home.file.write_text(json.dumps(dict(reversed(home.value.items()))))
    assert json.loads(home.config("check", "--json").stdout)["hash"] == first["hash"]
    assert home.config("set", "settings/concurrency", "3").returncode == 0
    assert json.loads(home.config("check", "--json").stdout)["hash"] != first["hash"]


@req("B-CLI-25")
def test_wrong_usage_is_two(home: Household) -> None:
    for words in (("get",), ("set", "x"), ("nothing",), ("show", "--nothing")):
        done = home.config(*words)
        assert (done.returncode, done.stdout) == (2, "")
