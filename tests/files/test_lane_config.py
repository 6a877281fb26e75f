"""The config of a lane as people meet it: ``config check`` and ``serve``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import problems, run, written
from tests.support.documents import document
from tests.support.service import Stub, binding, free_port

ENTRY = "scopes/0/extensions/1"


def lane(tmp_path: Path, *, cwd: str = "../folder", **files: Any) -> dict[str, Any]:
    files = {"port": free_port(), **files}
    engine = binding(Stub(("true",), tmp_path), cwd=cwd)
    return document({"agent": engine}, free_port(), files=files)


def found(tmp_path: Path, value: dict[str, Any]) -> list[tuple[str, str]]:
    return [(item["path"], item["code"]) for item in problems(tmp_path, value)]


def checked(file: Path, environment: dict[str, str] | None = None) -> int:
    return run("config", "check", str(file), environment=environment).returncode


def test_a_good_lane_is_valid(tmp_path: Path) -> None:
    assert checked(written(tmp_path, lane(tmp_path))) == 0


@pytest.mark.req("F-USER-05")
def test_a_username_is_an_unknown_key(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, lane(tmp_path, username="me"))
    assert problem["code"] == "invalid_config"
    assert "there is no such key" in problem["message"]


@pytest.mark.req("F-ROOT-03", "F-ROOT-04")
def test_the_folder_comes_from_the_variable_when_the_config_names_none(
    tmp_path: Path,
) -> None:
    value = lane(tmp_path)
    del value["scopes"][0]["extensions"][1]["config"]["root"]
    file = written(tmp_path, value)
    assert checked(file, {"CONDUCK_FILES_DIR": str(tmp_path / "folder")}) == 0
    assert found(tmp_path, value) == [(f"{ENTRY}/config/root", "missing_field")]


@pytest.mark.req("F-ROOT-05")
def test_serve_refuses_a_folder_that_is_not_there(tmp_path: Path) -> None:
    value = lane(tmp_path, root="../gone")
    done = run("serve", "--config", str(written(tmp_path, value)))
    assert done.returncode == 78
    assert f"{ENTRY}/config/root: invalid_config" in done.stderr
    assert "make it with mkdir" in done.stderr


@pytest.mark.req("F-ROOT-16")
@pytest.mark.parametrize("root", [".", "..", "/"])
def test_a_folder_around_config_or_everything_is_refused(
    tmp_path: Path, root: str
) -> None:
    assert found(tmp_path, lane(tmp_path, root=root))[0] == (
        f"{ENTRY}/config/root",
        "invalid_config",
    )


@pytest.mark.req("F-ROOT-16")
@pytest.mark.parametrize("name", ["folder", "folder/sub", "."])
def test_a_folder_nested_with_the_state_is_refused(tmp_path: Path, name: str) -> None:
    file = written(tmp_path, lane(tmp_path))
    (tmp_path / "folder/sub").mkdir()
    assert checked(file, {"OPEN_CONDUIT_DATA_DIR": str(tmp_path / name)}) == 1
    assert checked(file, {"OPEN_CONDUIT_DATA_DIR": str(tmp_path / "state")}) == 0


@pytest.mark.req("F-NET-04")
def test_equal_ports_are_refused_with_both_places(tmp_path: Path) -> None:
    value = lane(tmp_path)
    chat, files = value["scopes"][0]["extensions"]
    files["config"]["port"] = chat["config"]["port"]
    done = run("config", "check", str(written(tmp_path, value)))
    assert done.returncode == 1
    for index in (0, 1):
        assert f"scopes/0/extensions/{index}/config/port" in done.stderr + done.stdout


def test_an_engine_of_chat_works_in_the_folder_of_the_lane(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to("folder")
    assert checked(written(tmp_path, lane(tmp_path, cwd="../link"))) == 0
    (problem,) = problems(tmp_path, lane(tmp_path, cwd="../other"))
    assert problem["path"] == "scopes/0/bindings/0/config/cwd"
    assert problem["remedy"] == "leave cwd out"


def test_nothing_is_promised_that_is_not_done(tmp_path: Path) -> None:
    assert found(tmp_path, lane(tmp_path, upload_events=True)) == [
        (f"{ENTRY}/config/upload_events", "unsupported_capability")
    ]
