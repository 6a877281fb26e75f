"""Config of a command binding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conduck_service.executors.command_settings import COMMAND_SPEC, Images
from conduck_service.executors.outputs import Output
from tests.unit.executors.decoding import BASE, decode, refusals

ARGV = {"argv": ["agent", "--print"]}


def test_an_argv_is_enough() -> None:
    made = decode(COMMAND_SPEC, ARGV)
    assert made.argv == ("agent", "--print")
    assert (made.prompt, made.format, made.model) == ("stdin", "auto", None)
    assert (made.cwd, made.images, made.output) == (None, Images(), Output())
    assert (made.history_images, made.empty_prompt) == ("disclose", "accept")
    assert made.strip == ("think", "tool_lines")
    assert made.serialize is True
    assert (made.transfer_argv, made.env, made.secret_env) == ((), {}, {})
    assert (made.max_request_bytes, made.max_output_bytes) == (None, 8_388_608)
    assert (made.umask, made.kill_grace_seconds) == (0o007, 5.0)


@pytest.mark.parametrize(
    ("program", "wanted"),
    [
        ("agent", "agent"),
        ("/opt/agent", "/opt/agent"),
        ("bin/agent", str(BASE / "bin/agent")),
        ("./agent", str(BASE / "agent")),
        ("../agent", str(BASE / "../agent")),
        ("~/agent", str(BASE / "~/agent")),
    ],
)
def test_a_program_with_a_slash_starts_at_the_config(program: str, wanted: str) -> None:
    assert decode(COMMAND_SPEC, {"argv": [program, "a/b"]}).argv == (wanted, "a/b")


def test_everything_can_be_said() -> None:
    made = decode(
        COMMAND_SPEC,
        {
            "argv": ["agent", "", "{answer_file}"],
            "prompt": "argument",
            "model": "vendor/m-2",
            "cwd": "work",
            "images": {
                "mode": "argument",
                "flag": "-i",
                "dir": "working",
                "dir_argument": "--add-dir",
                "types": ["image/png", "image/svg+xml"],
            },
            "history_images": "forward",
            "empty_prompt": "carrier",
            "output": {"format": "file"},
            "strip": [],
            "serialize": False,
            "transfer_argv": ["--allow-write", ""],
            "env": {"MODE": ""},
            "secret_env": {"API_KEY": "agent_key"},
            "max_request_bytes": 1,
            "max_output_bytes": 1,
            "umask": "022",
            "kill_grace_seconds": 0.5,
        },
    )
    assert made.argv == ("agent", "", "{answer_file}")
    assert made.cwd == Path(BASE, "work")
    assert made.images.types == ("image/png", "image/svg+xml")
    assert (made.umask, made.strip) == (0o022, ())


@pytest.mark.parametrize(
    ("more", "place", "code"),
    [
        ({"argv": []}, "argv", "invalid_config"),
        ({"argv": [""]}, "argv/0", "invalid_config"),
        ({"argv": "agent --print"}, "argv", "invalid_type"),
        ({"argv": ["agent", 1]}, "argv/1", "invalid_type"),
        ({"argv": ["agent", "a\0b"]}, "argv/1", "invalid_config"),
        ({"prompt": "pipe"}, "prompt", "invalid_config"),
        ({"images": {"mode": "argument"}}, "images", "invalid_config"),
        ({"images": {"mode": "file", "flag": "-i"}}, "images", "invalid_config"),
        ({"images": {"mode": "inline"}}, "images/mode", "invalid_config"),
        ({"images": {"types": ["PNG"]}}, "images/types/0", "invalid_config"),
        ({"history_images": "forward"}, "", "invalid_config"),
        ({"output": {"format": "file"}}, "", "invalid_config"),
        ({"strip": ["think", "think"]}, "strip/1", "duplicate_name"),
        ({"strip": ["html"]}, "strip/0", "invalid_config"),
        ({"env": {"OS_TOKEN": "x"}}, "", "invalid_config"),
        ({"env": {"CONDUCK_FILES_DIR": "x"}}, "", "invalid_config"),
        ({"secret_env": {"OPEN_CONDUIT_X": "x"}}, "", "invalid_config"),
        ({"env": {"1A": "x"}}, "env/1A", "invalid_config"),
        ({"env": {"A": 1}}, "env/A", "invalid_type"),
        ({"secret_env": {"A": "not a name"}}, "secret_env/A", "invalid_identifier"),
        ({"max_output_bytes": 0}, "max_output_bytes", "invalid_config"),
        ({"max_request_bytes": True}, "max_request_bytes", "invalid_type"),
        ({"umask": 7}, "umask", "invalid_type"),
        ({"umask": "0088"}, "umask", "invalid_config"),
        ({"kill_grace_seconds": 11}, "kill_grace_seconds", "invalid_config"),
        ({"modell": "m"}, "modell", "unknown_field"),
        ({"model": None}, "model", "null_value"),
    ],
)
def test_what_makes_no_sense_is_refused(more: Any, place: str, code: str) -> None:
    assert refusals(COMMAND_SPEC, {**ARGV, **more}) == [(place, code)]


def test_every_fault_is_told_at_once() -> None:
    value = {"argv": [], "umask": "9", "images": {"mode": "x", "dir": "y"}, "env": 1}
    places = [place for place, _ in refusals(COMMAND_SPEC, value)]
    assert sorted(places) == ["argv", "env", "images/dir", "images/mode", "umask"]


def test_what_may_be_shown_is_listed() -> None:
    shown = {item.name for item in COMMAND_SPEC.fields if item.shown}
    assert not shown & {"argv", "env", "secret_env", "cwd", "transfer_argv"}
