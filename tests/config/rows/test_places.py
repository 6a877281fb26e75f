"""Where the config and the state lie, and who may look into them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conduck_service.cli.main import EXIT_HOPELESS
from tests.config.rows.lab import config, scope
from tests.support.commands import run, written
from tests.support.documents import document
from tests.support.service import (
    PROGRAM,
    Service,
    Stub,
    binding,
    free_port,
    prepared,
    started,
    stub,
    variables,
    write_private,
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def served(root: Path) -> Service:
    engine = stub(root, ["obey"])
    return prepared(root, document({"agent": binding(engine)}, free_port()))


def refused(service: Service) -> str:
    """Return what ``serve`` says when it refuses to start."""
    words = ("--config", str(service.root / "config/config.json"))
    done = run("serve", *words, "--data-dir", str(service.state))
    assert done.returncode == EXIT_HOPELESS
    return done.stderr


@pytest.mark.req("B-PERM-02")
def test_the_state_directory_is_made_for_its_owner_only(tmp_path: Path) -> None:
    service = served(tmp_path)
    service.state.rmdir()
    before = os.umask(0)
    try:
        with started(service):
            assert mode(service.state) == 0o700
            assert service.chat("Reply with exactly: pong") == "pong"
            found = [path for path in service.state.rglob("*") if not path.is_symlink()]
            assert not [str(path) for path in found if mode(path) & 0o077]
    finally:
        os.umask(before)


@pytest.mark.req("B-PERM-10")
@pytest.mark.parametrize("wrong", [0o755, 0o750, 0o701, 0o720])
def test_a_state_directory_that_others_enter_is_refused(
    wrong: int, tmp_path: Path
) -> None:
    service = served(tmp_path)
    service.state.chmod(wrong)
    told = refused(service)
    assert str(service.state) in told
    assert "chmod 700" in told
    assert mode(service.state) == wrong
    assert list(service.state.iterdir()) == []


@pytest.mark.req("B-PERM-11")
@pytest.mark.parametrize("wrong", [0o770, 0o755, 0o705])
def test_a_private_directory_that_others_enter_is_refused(
    wrong: int, tmp_path: Path
) -> None:
    service = served(tmp_path)
    private = service.state / "private"
    private.mkdir()
    private.chmod(wrong)
    told = refused(service)
    assert str(private) in told
    assert "chmod 700" in told
    assert mode(private) == wrong


@pytest.mark.req("B-PERM-03")
def test_the_private_directory_is_made_for_its_owner_only(tmp_path: Path) -> None:
    file = written(tmp_path, document({"a": binding(Stub(("true",), tmp_path))}, 8480))
    state = tmp_path / "state"
    words = [
        "secret",
        "set",
        "chat_token",
        "--config",
        str(file),
        "--data-dir",
        str(state),
    ]
    before = os.umask(0)
    try:
        subprocess.run(
            [*PROGRAM, *words],
            input=b"a-new-token",
            env=variables({"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}),
            check=True,
            capture_output=True,
            timeout=60,
        )
    finally:
        os.umask(before)
    assert mode(state / "private") == 0o700
    assert mode(state) == 0o700
    assert {mode(path) for path in (state / "private").iterdir()} == {0o600}


def fragment(root: Path, value: Any) -> None:
    folder = root / ".open-conduit"
    folder.mkdir(mode=0o700)
    write_private(folder / "config.json", value)


@pytest.mark.req("B-PATH-14")
@pytest.mark.parametrize(
    "inside", [{"version": 1, "scopes": [scope("near")]}, "broken"]
)
def test_a_folder_that_is_not_included_is_not_read(inside: Any, tmp_path: Path) -> None:
    own = config(scope())
    del own["settings"]
    file = written(tmp_path, own)
    words = ("config", "check", str(file), "--json")
    outside = run(*words, cwd=tmp_path / "folder")
    for name in ("", "folder", "config"):
        fragment(tmp_path / name, inside)
    for name in ("", "folder", "config"):
        there = run(*words, cwd=tmp_path / name)
        assert there.stdout == outside.stdout
        assert json.loads(there.stdout)["valid"]
    shown = run("config", "show", "--config", str(file), cwd=tmp_path / "folder")
    assert "near" not in shown.stdout


@pytest.mark.req("B-PATH-14")
def test_no_config_is_looked_for_in_the_folder_of_the_caller(tmp_path: Path) -> None:
    fragment(tmp_path, config(scope()))
    write_private(tmp_path / "config.json", config(scope()))
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    for command in (("config", "check"), ("config", "path"), ("serve",)):
        done = run(*command, cwd=tmp_path, environment={"HOME": str(home)})
        assert (
            str(home / ".config/open-conduit/config.json") in done.stdout + done.stderr
        )
        assert f"{tmp_path}/.open-conduit" not in done.stdout + done.stderr


@pytest.mark.req("B-PATH-14")
def test_a_daemon_that_starts_in_a_folder_serves_nothing_of_it(tmp_path: Path) -> None:
    service = served(tmp_path)
    near = free_port()
    other = document({"near": binding(Stub(("true",), tmp_path))}, near)
    other["scopes"][0]["id"] = "near"
    fragment(service.folder, {"version": 1, "scopes": other["scopes"]})
    before = Path.cwd()
    os.chdir(service.folder)
    try:
        with started(service):
            assert [item["id"] for item in service.models().json()["data"]] == ["agent"]
            assert f":{near}" not in service.log
    finally:
        os.chdir(before)
