"""``config check`` as a process: its words, its JSON and its status."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import run, tree, written
from tests.support.documents import document
from tests.support.service import (
    TOKEN,
    Stub,
    binding,
    free_port,
    write_private,
)

VALID = "the config is valid (secrets were not looked at)\n"


@pytest.fixture
def good(tmp_path: Path) -> dict[str, Any]:
    return document({"agent": binding(Stub(("true",), tmp_path))}, free_port())


def found(file: Path, **options: Any) -> tuple[int, dict[str, Any]]:
    """Return the status and the JSON of a check."""
    done = run("config", "check", str(file), "--json", **options)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    answer: dict[str, Any] = json.loads(done.stdout)
    assert ("hash" in answer) == answer["valid"]
    answer.pop("hash", None)
    assert set(answer) == {"valid", "problems"}
    return done.returncode, answer


def test_a_good_config_is_said_to_be_valid(
    tmp_path: Path, good: dict[str, Any]
) -> None:
    file = written(tmp_path, good)
    done = run("config", "check", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{file}: {VALID}{file}: sha256:")
    assert found(file) == (0, {"valid": True, "problems": []})


def test_every_problem_is_a_line_with_place_code_and_remedy(
    tmp_path: Path, good: dict[str, Any]
) -> None:
    entry = good["scopes"][0]["extensions"][0]
    entry["config"]["port"] = 70000
    entry["config"]["modls"] = []
    good["scopes"][0]["routes"][0]["binding"] = "engin"
    file = written(tmp_path, good)
    done = run("config", "check", str(file))
    assert done.returncode == 1
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    status, answer = found(file)
    assert (status, answer["valid"]) == (1, False)
    assert len(lines) == len(answer["problems"]) == 3
    for line, problem in zip(lines, answer["problems"], strict=True):
        assert set(problem) == {"level", "path", "code", "message", "remedy"}
        assert problem["level"] == "error"
        assert all(problem.values())
        assert line == (
            f"{file}: {problem['path']}: {problem['code']}: {problem['message']}; "
            f"{problem['remedy']}"
        )
    assert {problem["path"] for problem in answer["problems"]} == {
        "scopes/0/extensions/0/config/port",
        "scopes/0/extensions/0/config/modls",
        "scopes/0/routes/0/binding",
    }
    assert "'engine'" in done.stderr  # the nearest name


def test_a_missing_program_is_a_warning_only(
    tmp_path: Path, good: dict[str, Any]
) -> None:
    good["scopes"][0]["bindings"][0]["config"]["argv"] = ["no-such-engine-anywhere"]
    file = written(tmp_path, good)
    done = run("config", "check", str(file))
    assert done.returncode == 0
    assert done.stdout.startswith(f"{file}: {VALID}{file}: sha256:")
    place = "scopes/0/bindings/0/config/argv/0"
    assert done.stderr.startswith(f"{file}: warning: {place}: program_not_found: ")
    status, answer = found(file)
    assert (status, answer["valid"]) == (0, True)
    (problem,) = answer["problems"]
    assert (problem["level"], problem["path"]) == ("warning", place)


PROGRAMS = {
    "sh": True,
    "/bin/sh": True,
    "./engine": True,
    "engine": True,
    "./not-executable": False,
    "./folder": False,
    "./nothing": False,
    "relative-engine": False,
}
"""Programs that a binding may name, and whether they are found."""


def test_a_program_is_looked_for_as_it_is_at_its_start(tmp_path: Path) -> None:
    path = f"{tmp_path / 'bin'}:rel:/usr/bin:/bin"
    bindings = {
        f"model-{index}": binding(
            Stub((program,), tmp_path), name=f"engine_{index}", env={"PATH": path}
        )
        for index, program in enumerate(PROGRAMS)
    }
    file = written(tmp_path, document(bindings, free_port()))
    for name, mode in (
        ("config/engine", 0o700),
        ("config/not-executable", 0o600),
        ("bin/engine", 0o700),
        ("rel/relative-engine", 0o700),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("#!/bin/sh\ntouch was-run\n")
        (tmp_path / name).chmod(mode)
    (tmp_path / "config/folder").mkdir()
    _, answer = found(file, cwd=tmp_path)
    assert {(item["path"], item["code"]) for item in answer["problems"]} == {
        (f"scopes/0/bindings/{index}/config/argv/0", "program_not_found")
        for index, is_there in enumerate(PROGRAMS.values())
        if not is_there
    }


def test_a_check_runs_nothing_and_changes_nothing(
    tmp_path: Path, good: dict[str, Any]
) -> None:
    engine = tmp_path / "engine"
    engine.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    engine.chmod(0o700)
    scope = good["scopes"][0]
    scope["bindings"][0]["config"]["argv"] = [str(engine)]
    scope["secret_refs"]["chat_token"] = "env:NOT_SET"
    file = written(tmp_path, good)
    (tmp_path / "config/secrets.json").unlink()
    before = tree(tmp_path)
    status, answer = found(file)
    assert (status, answer["problems"]) == (0, [])
    assert tree(tmp_path) == before


BROKEN = [
    ('{"version": 1,\n  "scopes": [,]}', 2, 14),
    ('{"version": 1,\n\n\n "scopes" []}', 4, 11),
    ("", 1, 1),
    ('{"version": 1}\n{}', 2, 1),
    ('{"version": "\u00e9\u00e9" x}', 1, 18),
]


@pytest.mark.parametrize(("words", "line", "column"), BROKEN)
def test_broken_json_is_told_with_its_line_and_column(
    tmp_path: Path, words: str, line: int, column: int
) -> None:
    file = written(tmp_path, {})
    file.write_text(words, encoding="utf-8")
    status, answer = found(file)
    assert status == 1
    (problem,) = answer["problems"]
    assert problem["code"] == "invalid_json"
    assert (problem["line"], problem["column"]) == (line, column)


def test_the_line_and_the_column_stand_in_the_text_too(tmp_path: Path) -> None:
    file = written(tmp_path, {})
    words, line, column = BROKEN[0]
    file.write_text(words)
    done = run("config", "check", str(file))
    assert f"{file}: line {line}, column {column}: invalid_json: " in done.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (b'{"version": 1, "version": 1}', "twice"),
        (b'{"version": NaN}', "NaN"),
        (b"\xff\xfe{}", "UTF-8"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b"[" * 100_000, "nested too deeply"),
        (b" " * (16 << 20) + b"{}", "larger than"),
    ],
)
def test_other_broken_files_are_told_in_words(
    tmp_path: Path, words: bytes, problem: str
) -> None:
    file = written(tmp_path, {})
    file.write_bytes(words)
    status, answer = found(file)
    assert status == 1
    (only,) = answer["problems"]
    assert problem in only["message"]


def test_a_missing_file_is_told_with_its_path(tmp_path: Path) -> None:
    file = written(tmp_path, {})
    file.unlink()
    status, answer = found(file)
    assert status == 1
    (problem,) = answer["problems"]
    assert str(file) in problem["message"]
    assert "another file" in problem["remedy"]


@pytest.mark.parametrize("path", ["/nope.json", "/tmp/nope.json", "/", "/tmp", "~"])
def test_a_wrong_path_asks_for_no_change_of_a_folder(tmp_path: Path, path: str) -> None:
    tmp_path.chmod(0o755)
    name = path.replace("~", str(tmp_path))
    done = run("config", "check", name, environment={"HOME": str(tmp_path)})
    assert done.returncode == 1
    word = "there is no such file" if "nope" in path else "it is a folder"
    assert word in done.stderr
    assert done.stderr.count(f"{name}: ") == 1
    assert "chmod" not in done.stderr
    assert "chown" not in done.stderr


@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_what_is_no_file_is_refused(
    tmp_path: Path, good: dict[str, Any], kind: str
) -> None:
    file = written(tmp_path, good)
    file.rename(tmp_path / "elsewhere")
    if kind == "folder":
        file.mkdir(mode=0o700)
    elif kind == "link":
        file.symlink_to(tmp_path / "elsewhere")
    else:
        os.mkfifo(file, 0o600)
    status, answer = found(file)
    assert status == 1
    (problem,) = answer["problems"]
    assert problem["code"] == "unsafe_file"
    word = "symbolic link" if kind == "link" else "regular file"
    assert word in problem["message"]


@pytest.mark.parametrize(
    ("name", "mode", "remedy"),
    [("config.json", 0o644, "chmod 600"), ("", 0o750, "chmod 700")],
)
def test_what_others_can_read_is_refused(
    tmp_path: Path, good: dict[str, Any], name: str, mode: int, remedy: str
) -> None:
    file = written(tmp_path, good)
    path = file.parent / name
    path.chmod(mode)
    status, answer = found(file)
    assert status == 1
    (problem,) = answer["problems"]
    assert problem["code"] == "unsafe_file"
    assert remedy in problem["remedy"]
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_an_unreadable_file_is_told(tmp_path: Path, good: dict[str, Any]) -> None:
    file = written(tmp_path, good)
    file.chmod(0o000)
    status, answer = found(file)
    if os.geteuid() == 0:  # root reads everything
        assert status == 0
        return
    assert status == 1
    assert str(file) in answer["problems"][0]["message"]


def test_what_a_first_config_gets_wrong_is_told_with_what_to_write(
    tmp_path: Path, good: dict[str, Any]
) -> None:
    engine = good["scopes"][0]["bindings"][0]
    engine["config"]["argv"] = "engine --print"
    engine["config"]["timeout_seconds"] = 60
    engine["images"] = {"mode": "file"}
    done = run("config", "check", str(written(tmp_path, good)))
    place = "scopes/0/bindings/0"
    lines = {line.split(": ")[1]: line for line in done.stderr.splitlines()}
    assert lines[f"{place}/config/argv"].endswith('as in ["one", "two"]')
    assert lines[f"{place}/config/timeout_seconds"].endswith("higher, beside config")
    assert lines[f"{place}/images"].endswith("deeper, inside config")


def test_a_claim_of_images_names_the_binding_that_takes_none(
    tmp_path: Path, good: dict[str, Any]
) -> None:
    config = good["scopes"][0]["extensions"][0]["config"]
    config["models"][0]["input_modalities"] = ["text", "image"]
    _, answer = found(written(tmp_path, good))
    (problem,) = answer["problems"]
    assert problem["code"] == "unsupported_capability"
    assert "binding 'engine' takes none" in problem["message"]
    assert problem["remedy"] == "configure images there, or remove image here"


def test_without_a_file_the_default_one_is_looked_at(
    tmp_path: Path, good: dict[str, Any]
) -> None:
    file = written(tmp_path, good)
    by_name = run("config", "check", environment={"OPEN_CONDUIT_CONFIG": str(file)})
    assert by_name.stdout.startswith(f"{file}: {VALID}{file}: sha256:")
    home = tmp_path / "home"
    default = home / ".config/open-conduit/config.json"
    default.parent.mkdir(mode=0o700, parents=True)
    write_private(default, {})
    by_home = run("config", "check", environment={"HOME": str(home)})
    assert by_home.returncode == 1
    assert str(default) in by_home.stderr


def test_no_value_of_the_config_is_repeated(
    tmp_path: Path, good: dict[str, Any]
) -> None:
    scope = good["scopes"][0]
    scope["secret_refs"]["chat_token"] = TOKEN
    scope["bindings"][0]["config"]["cwd"] = {"value": TOKEN}
    scope["extensions"][0]["config"]["port"] = TOKEN
    scope["extensions"][0]["config"]["token_secret"] = f"{TOKEN} x"
    file = written(tmp_path, good)
    done = run("config", "check", str(file))
    assert done.returncode == 1
    assert TOKEN not in done.stderr + done.stdout


def test_wrong_usage_is_status_2(tmp_path: Path) -> None:
    for words in ((), ("chek",), ("check", "--jason"), ("check", "a", "b")):
        done = run("config", *words, cwd=tmp_path)
        assert done.returncode == 2, words
        assert done.stderr.startswith("Usage: ")
