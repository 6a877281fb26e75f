"""``doctor`` against a running service: what the process and its listeners tell."""

from __future__ import annotations

import os
import pty
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.doctor.asking import doctor
from tests.support.demo import demo
from tests.support.documents import document
from tests.support.service import (
    PASSWORD,
    PROGRAM,
    TOKEN,
    Service,
    binding,
    free_port,
    prepared,
    running,
    started,
    stub,
    wait_until,
    write_private,
)

EXPECTED = {"service_root"} if os.geteuid() == 0 else set()
"""What is found because of who runs the tests."""

ON_LINUX = pytest.mark.skipif(
    os.uname().sysname != "Linux", reason="other systems do not show it"
)


def household(root: Path, **files: Any) -> Service:
    config = document(
        {"agent": binding(stub(root, ["obey"]))},
        free_port(),
        files={"port": free_port(), **files},
    )
    return prepared(root, config)


def test_the_demo_is_fine_from_end_to_end(tmp_path: Path) -> None:
    with demo(tmp_path / "demo", tmp_path, "--photos") as found:
        before = sorted((found.folder / "folder").rglob("*"))
        report = doctor(found.folder, "--turn")
        assert sorted((found.folder / "folder").rglob("*")) == before
    assert report.codes == EXPECTED
    assert report.status == 0
    for check in ("chat.models", "chat.body", "lane.trial", "turn.pong", "turn.file"):
        assert report.is_fine(check), check
    assert found.token not in report.text
    assert found.secret("files_password") not in report.text


def test_a_service_with_other_secrets_is_told_once_each(tmp_path: Path) -> None:
    with running(
        tmp_path, stub(tmp_path, ["obey"]), files={"port": free_port()}
    ) as service:
        assert service.chat("Reply with exactly: pong") == "pong"
        other = {"chat_token": "another-token", "files_password": "another-password"}
        write_private(tmp_path / "config/secrets.json", other)
        found = doctor(tmp_path, "--turn")
    wanted = {"chat_token_refused", "lane_password_refused"}
    assert found.codes - EXPECTED == wanted
    assert found.status == 1
    assert all(value not in found.text for value in (*other.values(), TOKEN, PASSWORD))


def test_a_config_that_the_service_has_not_read_is_told(tmp_path: Path) -> None:
    with running(tmp_path, stub(tmp_path, ["obey"])):
        file = tmp_path / "config/config.json"
        later = time.time() + 3600
        os.utime(file, (later, later))
        found = doctor(tmp_path)
    if os.uname().sysname == "Linux":
        assert found.codes - EXPECTED == {"config_newer"}


def test_other_ports_and_models_than_the_running_ones_are_told(tmp_path: Path) -> None:
    service = household(tmp_path)
    with started(service):
        config = document(
            {"other": binding(stub(tmp_path, ["obey"]))},
            service.port,
            files={"port": free_port()},
        )
        write_private(tmp_path / "config/config.json", config)
        found = doctor(tmp_path, "--check-secrets")
    assert found.codes - EXPECTED == {"chat_models_differ", "lane_silent"}


@ON_LINUX
def test_the_variables_of_the_service_count_not_those_of_the_shell(
    tmp_path: Path,
) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/my-engine"
    program.write_text("#!/bin/sh\necho pong\n", "utf-8")
    program.chmod(0o755)
    engine = binding(stub(tmp_path, ["obey"]))
    engine["config"]["argv"] = ["my-engine"]
    service = prepared(tmp_path, document({"agent": engine}, free_port()))
    shell = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    with started(service):
        found = doctor(tmp_path, environment=shell)
    assert "engine_program_missing" in found.codes
    assert "engine_program_missing" not in doctor(tmp_path, environment=shell).codes


@ON_LINUX
def test_a_service_that_hangs_on_a_terminal_is_told(tmp_path: Path) -> None:
    service = household(tmp_path)
    leader, terminal = pty.openpty()
    file = str(tmp_path / "config/config.json")
    program = ["setsid", "-c", *PROGRAM, "serve"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [*program, "--config", file, "--data-dir", str(service.state)],
            stdin=terminal,
            stdout=log,
            stderr=log,
            env=service.environment,
        )
    try:
        wait_until(lambda: " ready " in service.log, 20)
        found = doctor(tmp_path)
    finally:
        process.terminate()
        process.wait(20)
        os.close(leader)
        os.close(terminal)
    assert "service_in_terminal" in found.codes


def test_what_an_engine_left_for_nobody_to_read_is_told(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    service = household(tmp_path)
    closed = service.folder / "closed"
    closed.mkdir(mode=0o500)
    with started(service):
        found = doctor(tmp_path, "--check-secrets")
    assert "1 of them" in found.row("lane_closed_parts")["message"]


def test_a_lane_of_another_folder_is_told(tmp_path: Path) -> None:
    service = household(tmp_path)
    with started(service):
        other = tmp_path / "other"
        other.mkdir(mode=0o700)
        config = document(
            {"agent": binding(stub(tmp_path, ["obey"]), cwd="../other")},
            service.port,
            files={"port": service.files_port, "root": "../other"},
        )
        write_private(tmp_path / "config/config.json", config)
        found = doctor(tmp_path, "--check-secrets")
        assert list(other.iterdir()) == []
    assert "lane_elsewhere" in found.codes
    assert list(service.folder.iterdir()) == []
