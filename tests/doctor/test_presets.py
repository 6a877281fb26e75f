"""``doctor`` and the programs of presets: login, sandbox, and nothing left of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.doctor.asking import Report, doctor
from tests.support.documents import document
from tests.support.service import free_port, prepared, wait_until

ON_LINUX = pytest.mark.skipif(
    os.uname().sysname != "Linux", reason="elsewhere a sandbox needs no leave"
)


def asked(root: Path, executor: str, script: str, **config: Any) -> Report:
    """Return what is found for a script in the place of an engine."""
    program = root / "engine"
    program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    program.chmod(0o755)
    (root / "home").mkdir(exist_ok=True)
    secret_refs = dict.fromkeys(config.get("secret_env", {}).values(), "file:key")
    engine = {
        "name": "agent",
        "executor": executor,
        "secret_names": list(secret_refs),
        "config": {"program": str(program), "cwd": "../folder", **config},
    }
    made = document({"agent": engine}, free_port(), secret_refs=secret_refs)
    prepared(root, made)
    return doctor(root, environment={"HOME": str(root / "home")})


SOUND = "echo 0.171.0"
BROKEN = 'test "$1" = sandbox || exec echo 0.171.0; echo no namespace >&2; exit 1'


@ON_LINUX
@pytest.mark.parametrize("confine", ["auto", "required"])
def test_a_sandbox_that_does_not_work_is_told(tmp_path: Path, confine: str) -> None:
    found = asked(tmp_path, "codex", BROKEN, confine=confine)
    assert found.status == 1
    assert "exit status 1" in found.row("engine_sandbox_broken")["message"]
    assert "user namespaces" in found.row("engine_sandbox_broken")["remedy"]
    assert "engine_confined" not in found.text


def test_a_sandbox_that_works_confines(tmp_path: Path) -> None:
    found = asked(tmp_path, "codex", SOUND)
    assert "a sandbox of its own" in found.row("engine_confined")["message"]


def test_a_sandbox_that_is_not_wanted_is_not_tried(tmp_path: Path) -> None:
    found = asked(tmp_path, "codex", BROKEN, confine="off")
    assert "engine_sandbox_broken" not in found.codes
    assert "engine_confine_off" in found.text


def test_a_version_that_cannot_be_tried_is_believed(tmp_path: Path) -> None:
    found = asked(tmp_path, "codex", BROKEN.replace("exit 1", "exit 2"))
    assert "engine_sandbox_broken" not in found.codes


@ON_LINUX
def test_a_program_of_an_engine_leaves_nothing(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    stays = f"setsid sh -c 'echo $$ > {pid}; exec sleep 600' &"
    waits = f"until test -s {pid}; do sleep 0.01; done"
    asked(tmp_path, "codex", f"{stays}\n{waits}\n{SOUND}")
    # A dead one waits for whoever has adopted it.
    wait_until(lambda: is_gone(int(pid.read_text("ascii"))))


def is_gone(pid: int) -> bool:
    """Say whether no process lives under a number."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("latin-1")
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


@pytest.mark.parametrize("shape", ["empty", "folder"])
def test_a_login_is_a_file_with_something_in_it(tmp_path: Path, shape: str) -> None:
    login = tmp_path / "home/.codex/auth.json"
    login.parent.mkdir(parents=True)
    if shape == "folder":
        login.mkdir()
    else:
        login.touch()
    assert "engine_login_missing" in asked(tmp_path, "codex", SOUND).codes


def test_a_login_that_is_there_is_seen(tmp_path: Path) -> None:
    login = tmp_path / "home/.codex/auth.json"
    login.parent.mkdir(parents=True)
    login.write_text("{}", "utf-8")
    found = asked(tmp_path, "codex", SOUND)
    assert found.is_fine("engine.login")


@pytest.mark.parametrize(
    "config",
    [
        {"secret_env": {"MY_KEY": "my_key"}},
        {
            "arguments": ["--config", 'model_providers.mine={env_key="MY_KEY"}'],
            "env": {"MY_KEY": "made-up"},
        },
    ],
)
def test_a_key_of_any_name_is_a_key(tmp_path: Path, config: dict[str, Any]) -> None:
    found = asked(tmp_path, "codex", SOUND, **config)
    assert "config_invalid" not in found.codes, found.text
    assert "engine_login_missing" not in found.codes


def test_a_key_of_another_thing_is_none(tmp_path: Path) -> None:
    found = asked(tmp_path, "codex", SOUND, env={"EDITOR": "ed"})
    assert "engine_login_missing" in found.codes
