"""``doctor --turn``: what only a real turn shows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.doctor.asking import Report, doctor
from tests.support.service import Stub, free_port, running, stub

EXPECTED = {"service_root"} if os.geteuid() == 0 else set()


def asked(root: Path, *steps: list[Any], **config: Any) -> Report:
    """Return what is found for a stub engine that does these steps."""
    with running(root, stub(root, *steps), files={"port": free_port()}, **config):
        return doctor(root, "--turn")


def test_one_that_fails_is_told_with_its_code(tmp_path: Path) -> None:
    found = asked(tmp_path, ["exit", 3])
    assert found.codes - EXPECTED == {"turn_failed"}
    assert "status 502 upstream_failure" in found.row("turn_failed")["message"]
    assert found.status == 1


def test_a_missing_program_is_the_one_cause_of_what_follows(tmp_path: Path) -> None:
    engine = Stub((str(tmp_path / "nosuch"),), tmp_path)
    with running(tmp_path, engine, files={"port": free_port()}):
        found = doctor(tmp_path, "--turn")
    assert found.codes - EXPECTED == {"engine_program_missing"}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("I am a helpful persona.", "turn_unrelated"),
        ("Looking around first. pong", "turn_framing"),
    ],
)
def test_one_that_says_something_else_is_told(
    tmp_path: Path, words: str, code: str
) -> None:
    found = asked(tmp_path, ["print", words])
    assert code in found.codes
    assert "turn_file_missing" in found.codes
    assert words not in found.text


def test_one_without_eyes_that_takes_pictures_is_told(tmp_path: Path) -> None:
    images = {"mode": "argument", "flag": "--image"}
    found = asked(tmp_path, ["obey"], images=images)
    assert "turn_blind" in found.codes


def test_one_that_reads_what_chat_text_names_is_told(tmp_path: Path) -> None:
    script = 'tr " " "\\n" | sed -n "s/^@//p" | head -n 1 | xargs cat; echo pong'
    engine = Stub(("/bin/sh", "-c", script), tmp_path)
    with running(tmp_path, engine, files={"port": free_port()}):
        found = doctor(tmp_path, "--turn")
    assert "turn_reads_outside" in found.codes
    assert "turn_framing" not in found.codes
    with running(
        tmp_path, engine, files={"port": free_port()}, confine="auto"
    ) as service:
        confined = doctor(tmp_path, "--turn")
        assert service.process.poll() is None
    if "engine_confined" in confined.text:
        assert "turn_reads_outside" not in confined.codes
