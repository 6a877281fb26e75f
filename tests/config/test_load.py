from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from conduck_service.base.diagnostics import Diagnostic
from conduck_service.config.load import LIMIT, read

TEXT = '{"version": 1}'


@pytest.fixture
def config(tmp_path: Path) -> Path:
    folder = tmp_path / "open-conduit"
    folder.mkdir(0o700)
    path = folder / "config.json"
    path.write_text(TEXT)
    path.chmod(0o600)
    return path


def refusal(path: Path) -> Diagnostic:
    found = read(path)
    assert isinstance(found, Diagnostic)
    assert found.remedy
    assert found.pointer == ()
    assert "canary" not in str(found)
    return found


@pytest.mark.parametrize("bits", [0o600, 0o400])
def test_a_private_file_in_a_private_folder_is_read(config: Path, bits: int) -> None:
    config.chmod(bits)
    assert read(config) == TEXT


@pytest.mark.req("B-PERM-09")
@pytest.mark.parametrize("bits", [0o750, 0o701, 0o777])
def test_a_folder_open_to_others_is_refused(config: Path, bits: int) -> None:
    config.parent.chmod(bits)
    problem = refusal(config)
    assert problem.code == "unsafe_file"
    assert str(config.parent) in problem.message
    assert problem.remedy == f"chmod 700 {config.parent}"
    assert stat.S_IMODE(config.parent.stat().st_mode) == bits


@pytest.mark.req("B-PERM-12")
@pytest.mark.parametrize("bits", [0o644, 0o640, 0o604, 0o660])
def test_a_file_open_to_others_is_refused(config: Path, bits: int) -> None:
    config.chmod(bits)
    problem = refusal(config)
    assert problem.code == "unsafe_file"
    assert problem.remedy == f"chmod 600 {config}"
    assert stat.S_IMODE(config.stat().st_mode) == bits


def test_a_link_is_refused(config: Path) -> None:
    link = config.with_name("link.json")
    link.symlink_to(config)
    assert refusal(link).code == "unsafe_file"


def test_a_pipe_is_refused_without_waiting(config: Path) -> None:
    pipe = config.with_name("pipe.json")
    os.mkfifo(pipe, 0o600)
    assert refusal(pipe).code == "unsafe_file"


def test_a_missing_file_is_told_with_a_way_out(config: Path) -> None:
    config.unlink()
    problem = refusal(config)
    assert problem.code == "invalid_config"
    assert "another file" in problem.remedy
    config.parent.rmdir()
    assert "another file" in refusal(config).remedy


def test_a_mistyped_path_is_told_before_the_folder_is_looked_at(config: Path) -> None:
    config.parent.chmod(0o755)
    problem = refusal(config.with_name("confg.json"))
    assert "there is no such file" in problem.message
    assert problem.remedy == "make one with open-conduit init, or name another file"
    problem = refusal(config.parent)
    assert "it is a folder" in problem.message
    assert "name the file in it" in problem.remedy


def test_a_config_in_the_home_folder_is_to_move_not_the_home_to_close(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.parent.chmod(0o755)
    monkeypatch.setenv("HOME", str(config.parent))
    problem = refusal(config)
    assert problem.code == "unsafe_file"
    assert problem.remedy.startswith("move the config into a private folder of its own")
    assert "~/.config/open-conduit" in problem.remedy


def test_a_file_has_at_most_one_mebibyte(config: Path) -> None:
    config.write_text(" " * LIMIT)
    assert read(config) == " " * LIMIT
    config.write_text("canary" * LIMIT)
    assert refusal(config).code == "invalid_config"


@pytest.mark.req("B-SCHEMA-30")
def test_bytes_that_are_not_utf8_have_a_position(config: Path) -> None:
    config.write_bytes("{\n  ä".encode() + b'"\xff": "canary"}')
    problem = refusal(config)
    assert problem.code == "invalid_json"
    assert (problem.line, problem.column) == (2, 5)
    config.write_bytes(b"\xef\xbb\xbf{}")
    problem = refusal(config)
    assert problem.code == "invalid_json"
    assert (problem.line, problem.column) == (1, 1)
