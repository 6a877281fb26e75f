from __future__ import annotations

import json
from pathlib import Path

import pytest

from conduck_service.base.diagnostics import Diagnostic
from conduck_service.domain.scope import Document
from tests.config.build import chat, checked, document, scope


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path.resolve() / "home"
    for name in ("config/sub", "state/sub", "shared/sub"):
        (home / name).mkdir(parents=True)
    return home


def check(home: Path, folder: str) -> tuple[Document | None, list[Diagnostic]]:
    return checked(
        json.dumps(document(scope(extensions=[chat()]), scope("other"))),
        base=home / "config",
        environment={"HOME": str(home), "CONDUCK_FILES_DIR": folder},
        state_dir=home / "state",
    )


def test_every_scope_has_the_real_path_of_the_shared_folder(home: Path) -> None:
    (home / "link").symlink_to("shared")
    for name in ("shared", "link", "shared/../shared/"):
        found, problems = check(home, f"{home}/{name}")
        assert problems == []
        assert found is not None
        assert [item.folder for item in found.scopes] == [home / "shared"] * 2


def test_no_variable_means_no_folder(home: Path) -> None:
    found, _ = check(home, "")
    assert found is not None
    assert found.scopes[0].folder is None


@pytest.mark.parametrize(
    "name",
    [
        "config",
        "config/sub",
        "state",
        "state/sub",
        ".",
        "..",
        "missing",
        "file",
        "dangling",
        "link-to-config",
    ],
)
def test_a_folder_that_cannot_be_shared_is_refused(home: Path, name: str) -> None:
    (home / "file").touch()
    (home / "dangling").symlink_to("gone")
    (home / "link-to-config").symlink_to("config")
    refuse(home, f"{home}/{name}")


@pytest.mark.parametrize("name", ["a" * 300, "x/" * 3000, "file/x", "loop"])
def test_a_folder_that_cannot_be_looked_at_is_refused(home: Path, name: str) -> None:
    (home / "file").touch()
    (home / "loop").symlink_to("loop")
    refuse(home, f"{home}/{name}")


@pytest.mark.parametrize("folder", ["/", "shared", "./shared", "~/shared"])
def test_a_folder_is_named_by_its_absolute_path_below_the_root(
    home: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    refuse(home, folder)


def test_the_root_is_refused_where_no_home_is_known(tmp_path: Path) -> None:
    _, problems = checked(
        json.dumps(document()),
        base=tmp_path,
        environment={"CONDUCK_FILES_DIR": "/"},
        state_dir=None,
    )
    (problem,) = problems
    assert "home" in problem.message


@pytest.mark.parametrize("name", ["home", "."])
def test_a_home_apart_from_the_config_is_not_shared(home: Path, name: str) -> None:
    _, problems = checked(
        json.dumps(document()),
        base=Path("/nowhere/config"),
        environment={
            "HOME": str(home),
            "CONDUCK_FILES_DIR": f"{home.parent}/{name}",
        },
        state_dir=None,
    )
    (problem,) = problems
    assert "home folder" in problem.message


def test_the_config_directory_is_compared_by_its_real_path(home: Path) -> None:
    (home / "link").symlink_to("shared")
    _, problems = checked(
        json.dumps(document()),
        base=home / "link",
        environment={"CONDUCK_FILES_DIR": f"{home}/shared"},
        state_dir=None,
    )
    assert len(problems) == 1


def test_owners_are_not_asked_when_the_folder_is_refused(home: Path) -> None:
    broken = {"name": "a", "executor": "broken_check"}
    found, problems = checked(
        json.dumps(document(scope(bindings=[broken]))),
        base=home / "config",
        environment={"CONDUCK_FILES_DIR": "relative"},
        state_dir=None,
    )
    assert found is None
    assert [item.place for item in problems] == [""]


def test_the_folder_is_not_around_the_config_or_the_state(home: Path) -> None:
    for key in ("base", "state_dir"):
        places = {"base": home / "config", "state_dir": home / "state"}
        places[key] = home / "shared" / "sub"
        _, problems = checked(
            json.dumps(document()),
            environment={"CONDUCK_FILES_DIR": f"{home}/shared"},
            **places,
        )
        assert [(item.place, item.code) for item in problems] == [
            ("", "invalid_config")
        ]


def refuse(home: Path, folder: str) -> None:
    found, problems = check(home, folder)
    assert found is None
    (problem,) = problems
    assert (problem.place, problem.code) == ("", "invalid_config")
    assert "CONDUCK_FILES_DIR" in problem.message
    assert problem.remedy
