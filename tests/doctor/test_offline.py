"""``doctor`` without a running service: config, permissions, secrets, engines."""

from __future__ import annotations

import contextlib
import os
import pty
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.doctor.asking import doctor, places
from tests.support.commands import run
from tests.support.documents import document
from tests.support.service import (
    PROGRAM,
    binding,
    free_port,
    prepared,
    stub,
    variables,
    write_private,
)


def household(
    root: Path, *, files: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """Write a service that is not started; return its config."""
    secrets = more.pop("secret_refs", None)
    engine = binding(stub(root, ["obey"]), **more)
    lane = None if files is None else {"port": free_port(), **files}
    config = document({"agent": engine}, free_port(), files=lane, secret_refs=secrets)
    prepared(root, config)
    return config


@pytest.mark.req("B-CLI-23")
def test_a_service_that_is_not_running_is_told_and_nothing_else(tmp_path: Path) -> None:
    household(tmp_path, files={})
    found = doctor(tmp_path)
    assert found.codes == {"service_down"}
    assert found.status == 0
    assert found.is_fine("config.valid")
    assert found.is_fine("engine.program")
    assert all(row["remedy"] for row in found.rows if row["level"] == "warn")


def test_every_fault_of_the_config_is_told_and_explains_the_rest(
    tmp_path: Path,
) -> None:
    config = household(tmp_path)
    config["scopes"][0]["routes"][0]["binding"] = "nobody"
    del config["scopes"][0]["extensions"][0]["config"]["models"]
    write_private(tmp_path / "config/config.json", config)
    found = doctor(tmp_path)
    assert found.status == 1
    assert found.codes == {"config_invalid"}
    messages = [row["message"] for row in found.rows if row["level"] == "fail"]
    assert any("unknown_reference" in text for text in messages)
    assert len(messages) == 2


def test_files_that_others_can_read_are_told(tmp_path: Path) -> None:
    household(tmp_path)
    (tmp_path / "config/secrets.json").chmod(0o644)
    (tmp_path / "state").chmod(0o755)
    found = doctor(tmp_path, "--check-secrets")
    # That no secret can be read is the same cause.
    assert found.codes == {"secrets_file_open", "state_unsafe"}
    assert "chmod" in found.row("state_unsafe")["remedy"]
    (tmp_path / "config/config.json").chmod(0o644)
    assert "config_invalid" in doctor(tmp_path).codes


def test_a_secrets_file_that_is_broken_is_told_once(tmp_path: Path) -> None:
    household(tmp_path, secret_refs={"key": "file:key", "other": "file:other"})
    broken = tmp_path / "config/secrets.json"
    broken.write_text("{", "utf-8")
    found = doctor(tmp_path, "--check-secrets")
    assert found.codes == {"secrets_file_unreadable", "service_down"}
    assert "line 1" in found.row("secrets_file_unreadable")["message"]
    # Without leave nothing in it is read.
    assert doctor(tmp_path).codes == {"service_down"}


def test_a_missing_config_is_told(tmp_path: Path) -> None:
    household(tmp_path)
    (tmp_path / "config/config.json").unlink()
    found = doctor(tmp_path)
    assert found.codes == {"config_invalid"}


def test_who_has_the_port_is_told_instead_of_what_follows(tmp_path: Path) -> None:
    config = household(tmp_path)
    port = config["scopes"][0]["extensions"][0]["config"]["port"]
    with socket.create_server(("127.0.0.1", port)):
        found = doctor(tmp_path)
    assert found.codes == {"chat_port_taken"}
    assert str(port) in found.row("chat_port_taken")["message"]
    if os.uname().sysname == "Linux":
        assert f"process {os.getpid()}" in found.row("chat_port_taken")["message"]


@pytest.mark.req("B-SECRET-34", "B-CLI-23")
def test_secrets_are_asked_for_only_when_that_is_wanted(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    household(
        tmp_path,
        secret_refs={"key": f"cmd:touch {asked}; echo canary-of-a-value"},
    )
    plain = doctor(tmp_path)
    assert not asked.exists()
    assert "--check-secrets" in plain.text
    found = doctor(tmp_path, "--check-secrets")
    assert asked.exists()
    assert found.is_fine("secrets.resolved")
    assert "canary" not in found.text


@pytest.mark.req("B-SECRET-19", "B-SECRET-20", "B-CLI-23")
def test_a_missing_program_of_a_secret_is_named_without_arguments(
    tmp_path: Path,
) -> None:
    household(
        tmp_path,
        secret_refs={
            "key": "cmd:A=canary nosuch-program canary-argument",
            "inner": "cmd:sh -c 'nosuch-inner canary'",
            "gone": "env:NOSUCH_VARIABLE",
            "lost": "file:canary_key",
            "failing": "cmd:echo canary-output; exit 3",
        },
    )
    found = doctor(tmp_path, "--check-secrets")
    rows = {row["subject"]: row for row in found.rows if row["level"] == "fail"}
    assert rows["home/key"]["code"] == "command_not_found"
    assert "nosuch-program" in rows["home/key"]["message"]
    assert "/usr/bin:/bin" in rows["home/key"]["remedy"]
    assert rows["home/inner"]["code"] == "command_not_found"
    assert rows["home/gone"]["code"] == "secret_missing"
    assert rows["home/failing"]["code"] == "command_failed"
    assert rows["home/lost"]["code"] == "secret_missing"
    store = "open-conduit secret set NAME, where NAME stands behind file: in its"
    assert store in rows["home/lost"]["remedy"]
    assert found.status == 1
    assert "canary" not in found.text


@pytest.mark.req("F-PERM-11")
def test_a_folder_that_does_not_fit_two_users_is_told(tmp_path: Path) -> None:
    household(tmp_path, files={"mode": "2770"})
    (tmp_path / "folder").chmod(0o755)
    found = doctor(tmp_path)
    rows = [row for row in found.rows if row["code"] == "lane_folder_mode"]
    assert {row["level"] for row in rows} == {"warn"}
    assert all("chmod 2770" in row["remedy"] for row in rows)
    (tmp_path / "folder").rmdir()
    assert doctor(tmp_path).codes == {"config_invalid"}


def test_what_has_gathered_in_the_folder_is_told(tmp_path: Path) -> None:
    household(tmp_path, files={"keep_days": 1})
    conversation = tmp_path / "folder/E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
    outbound = conversation / f"out-{'0a' * 16}"
    outbound.mkdir(parents=True)
    (outbound / "good.txt").touch()
    (outbound / "bad[name].txt").touch()
    found = doctor(tmp_path)
    assert "1 of them" in found.row("lane_hidden_names")["message"]
    assert "bad[name]" not in found.text
    assert "lane_keeps_all" not in found.text


def test_a_program_that_only_a_shell_would_find_is_told(tmp_path: Path) -> None:
    config = household(tmp_path)
    config["scopes"][0]["bindings"][0]["config"]["argv"] = ["my-engine"]
    write_private(tmp_path / "config/config.json", config)
    found = doctor(tmp_path, environment={"PATH": "/usr/bin:/bin"})
    assert found.codes == {"engine_program_missing", "service_down"}
    message = found.row("engine_program_missing")["message"]
    assert "my-engine" in message
    assert "/usr/bin:/bin" in message


def test_a_script_whose_interpreter_is_missing_is_told(tmp_path: Path) -> None:
    config = household(tmp_path)
    script = tmp_path / "engine"
    script.write_bytes(b"#!/bin/sh\r\necho pong\r\n")
    script.chmod(0o755)
    config["scopes"][0]["bindings"][0]["config"]["argv"] = [str(script)]
    write_private(tmp_path / "config/config.json", config)
    assert "engine_interpreter_missing" in doctor(tmp_path).codes
    script.write_bytes(b"#!/usr/bin/env sh\necho pong\n")
    assert "engine_interpreter_missing" not in doctor(tmp_path).codes


def test_a_preset_is_asked_for_its_version_and_its_login(tmp_path: Path) -> None:
    config = household(tmp_path)
    engine = config["scopes"][0]["bindings"][0]
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho '0.0.1 (Claude Code)'\n", "utf-8")
    program.chmod(0o755)
    engine["executor"] = "claude_code"
    engine["config"] = {"program": str(program), "cwd": "../folder"}
    write_private(tmp_path / "config/config.json", config)
    home = tmp_path / "home"
    home.mkdir()
    found = doctor(tmp_path, environment={"HOME": str(home)})
    assert "0.0.1; tried with" in found.row("engine_version_other")["message"]
    assert "ANTHROPIC_API_KEY" in found.row("engine_login_missing")["message"]
    program.write_text("#!/bin/sh\nexit 3\n", "utf-8")
    engine["config"]["env"] = {"ANTHROPIC_API_KEY": "made-up"}
    write_private(tmp_path / "config/config.json", config)
    found = doctor(tmp_path, environment={"HOME": str(home)})
    assert "exit status 3" in found.row("engine_version_failed")["message"]
    assert "engine_login_missing" not in found.codes
    assert "made-up" not in found.text


def test_a_model_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    config = household(tmp_path)
    port = free_port()
    base = f"http://127.0.0.1:{port}/v1"
    config["connections"] = [
        {"id": "server", "type": "openai_http", "config": {"base_url": base}}
    ]
    scope = config["scopes"][0]
    scope["authorization"] = {"connections": ["server"]}
    scope["bindings"][0] |= {
        "executor": "http", "config": {}, "connection": "server"
    }  # fmt: skip
    write_private(tmp_path / "config/config.json", config)
    assert "engine_upstream_silent" in doctor(tmp_path).codes
    with socket.create_server(("127.0.0.1", port)):
        assert doctor(tmp_path).is_fine("engine.upstream")


def test_people_get_lines_with_the_remedy_below(tmp_path: Path) -> None:
    household(tmp_path)
    done = run("doctor", *places(tmp_path))
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    place = next(i for i, line in enumerate(lines) if "service_down" in line)
    assert lines[place].startswith("warn service.running")
    assert "→" in lines[place + 1]
    assert "1 warn, 0 fail" in lines[-1]
    assert done.stderr == ""


def test_a_terminal_shows_the_step_and_a_file_gets_the_lines(tmp_path: Path) -> None:
    household(tmp_path)
    leader, terminal = pty.openpty()
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [*PROGRAM, "doctor", *places(tmp_path)],
            env=variables({"TERM": "xterm"}),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=terminal,
            check=False,
            timeout=60,
        )
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal, on Linux
        while piece := os.read(leader, 1 << 16):
            shown += piece
    os.close(leader)
    assert done.returncode == 0
    text = (tmp_path / "out").read_text("utf-8")
    assert "service_down" in text
    assert "\x1b" not in text
    assert b"service_down" not in shown
    assert b"\x1b" in shown
