"""``init`` on a machine whose package has made a folder for the users of a group."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.household import engine, init


def lane(home: Path) -> Any:
    file = home / ".config/open-conduit/config.json"
    (scope,) = json.loads(file.read_text("utf-8"))["scopes"]
    return next(
        entry["config"]
        for entry in scope["extensions"]
        if entry["type"] == "conduck_files"
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


def made(tmp_path: Path, mode: int) -> dict[str, str]:
    """Make the machine's folder; return the variables of who is told of it."""
    folder = tmp_path / "srv"
    folder.mkdir()
    folder.chmod(mode)
    return {"CONDUCK_FILES_DIR": str(folder)}


def test_who_shares_it_is_offered_it(home: Path, tmp_path: Path) -> None:
    environment = made(tmp_path, 0o2770)
    words = ("--yes", "--engine", str(engine(tmp_path)))
    done = init(home, *words, environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert (lane(home)["root"], lane(home)["mode"]) == (str(tmp_path / "srv"), "2770")
    assert not (home / "Conduck").exists()
    assert (tmp_path / "srv").stat().st_mode & 0o7777 == 0o2770


def test_it_is_shared_when_it_is_named_too(home: Path, tmp_path: Path) -> None:
    environment = made(tmp_path, 0o2770)
    words = ("--yes", "--engine", str(engine(tmp_path)), "--folder", "../srv")
    done = init(home, *words, environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert (lane(home)["root"], lane(home)["mode"]) == (str(tmp_path / "srv"), "2770")


@pytest.mark.parametrize("case", ["not shared", "another one is named"])
def test_everybody_else_gets_a_folder_at_home(
    home: Path, tmp_path: Path, case: str
) -> None:
    environment = made(tmp_path, 0o770 if case == "not shared" else 0o2770)
    words = ["--yes", "--engine", str(engine(tmp_path))]
    if case == "another one is named":
        words += ["--folder", str(home / "Conduck")]
    done = init(home, *words, environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert (lane(home)["root"], lane(home)["mode"]) == (str(home / "Conduck"), "0700")


def test_a_group_that_is_named_has_a_folder_of_its_own(
    home: Path, tmp_path: Path
) -> None:
    groups = set(os.getgroups()) - {os.getegid()}
    if os.geteuid() == 0 or not groups:
        pytest.skip("needs a user with a second group")
    environment = made(tmp_path, 0o2770)
    words = ("--yes", "--engine", str(engine(tmp_path)), "--shared-group")
    done = init(home, *words, str(groups.pop()), environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert lane(home)["root"] == str(home / "Conduck")
