"""What holds for every preset, and what their configs may not say."""

from __future__ import annotations

import base64
import fnmatch
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from conduck_service.domain.conversation import ImagePart
from conduck_service.executors.preset.executor import preset_types
from conduck_service.executors.preset.frame import (
    ESCALATING,
    Channel,
    Expansion,
    Limit,
    Preset,
    Within,
)
from conduck_service.executors.preset.home import make_home
from conduck_service.executors.preset.input import is_sound
from conduck_service.executors.preset.settings import (
    HOME_VARIABLES,
    PresetConfig,
    preset_spec,
)
from conduck_service.executors.presets import PRESETS
from conduck_service.extension.spec import INVALID, Decoding
from tests.presets.recording import BY_NAME
from tests.support.service import PIXEL
from tests.support.trace import ROOT

DOCS = ROOT / "docs"
req = pytest.mark.req
every = pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: str(preset.name))


def decoded(preset: Preset, **value: Any) -> tuple[Any, list[tuple[object, ...]]]:
    """Return a decoded config, and the places of what was wrong with it."""
    into = Decoding(base=Path("/config"))
    config = preset_spec(preset).decode(value, (), into)
    return config, [problem.pointer for problem in into.problems]


def config_of(preset: Preset, **value: Any) -> PresetConfig:
    config, problems = decoded(preset, **value)
    assert isinstance(config, PresetConfig), problems
    return config


@every
@req("C-SEC-07", "C-SEC-08")
def test_no_policy_approves_everything(preset: Preset) -> None:
    blanket = [item for item in ESCALATING if item != "*bypass*"]
    for policy in preset.policies.values():
        words = (*preset.arguments, *policy.arguments, *preset.last)
        assert not any(
            fnmatch.fnmatchcase(word.lower(), pattern)
            for word in words
            if len(word) < 100
            for pattern in blanket
        )
        assert policy.reach


@every
@req("C-SEC-08")
@pytest.mark.parametrize(
    "word",
    [
        "--dangerously-skip-permissions",
        "--dangerously-bypass-approvals-and-sandbox",
        "--dangerouslySkipPermissions",
        "--dangerously_skip_permissions=true",
        "--yolo",
        "--YOLO=1",
        "--allow-all-tools",
        "--full-auto",
        "bypassPermissions",
        "danger-full-access",
        "--approval-mode=yolo",
        "-y",
        "-nf",
        "-pc",
        "-",
        "--",
        "--y",
        "--y=true",
        "--s",
    ],
)
def test_an_argument_that_widens_the_policy_is_refused(
    preset: Preset, word: str
) -> None:
    config, problems = decoded(preset, arguments=["--harmless", word])
    assert config is INVALID
    assert ("arguments", 1) in problems


def test_the_policy_of_a_preset_is_its_own() -> None:
    words = {
        "claude_code": ("--tools", "--allowedTools", "--permission-mode=plan", "-r"),
        "codex": (
            *("-sworkspace-write", "--sandbox", 'sandbox_mode="x"', "-C", "-c"),
            *("--config=mcp_servers.e={}", "mcp_servers.e={}", "-cmcp_servers.e={}"),
            *('notify=["/bin/sh"]', "--config=hooks.x=1", "--ignore-rules"),
            *("shell_environment_policy.exclude=[]", 'web_search="live"'),
            *("--config=features.x=true", "tools={x=true}", "projects.x=1"),
        ),
        "llm": ("-nf", "-nT", "--fragment=/x", "--system-fragment"),
        "gemini": ("--y", "-my", "--e", "--s"),
    }
    for name, options in words.items():
        for word in options:
            assert decoded(BY_NAME[name], arguments=[word])[0] is INVALID, word


def test_options_of_other_things_are_taken() -> None:
    words = {
        "codex": (
            "--config",
            'model_provider="mine"',
            'model_providers.mine={name="mine", base_url="http://x", env_key="K"}',
            "--config=model_reasoning_effort=high",
        ),
        "llm": ("--option", "temperature", "0.2", "-1"),
        "vibe": ("--max-price", "2"),
        "claude_code": ("--effort", "low", "--fallback-model=haiku"),
    }
    for name, options in words.items():
        assert config_of(BY_NAME[name], arguments=list(options)).arguments == options


@every
def test_a_variable_of_the_preset_cannot_be_set(preset: Preset) -> None:
    for name in (*preset.environment, *HOME_VARIABLES):
        assert decoded(preset, env={name: "x"})[0] is INVALID
        assert decoded(preset, secret_env={name: "key"})[0] is INVALID


@every
def test_a_file_stays_in_the_home(preset: Preset) -> None:
    for place in ("../x", "/x", "a/../../x", "a/./b", ".."):
        assert decoded(preset, home_files={place: "/config/own"})[0] is INVALID, place


@every
def test_photos_have_a_way_or_none(preset: Preset) -> None:
    config = config_of(preset)
    assert config.images is (preset.photos.channel is not Channel.NONE)
    assert preset.photos.seen
    assert preset.expansion_words


@every
def test_a_config_without_keys_is_whole(preset: Preset) -> None:
    config = config_of(preset)
    assert config.program == preset.program
    assert config.policy == preset.default_policy
    assert config.command.confine == "auto"
    assert config_of(preset, program="bin/x").program == "/config/bin/x"


@every
@req("C-SEC-06")
def test_the_docs_say_what_chat_text_can_read(preset: Preset) -> None:
    pages = (DOCS / "reference/engines.md").read_text("utf-8").split("\n## ")
    (own,) = (page for page in pages if f"(`{preset.name}`)\n" in page)
    says = "**Chat text can read files of the working folder**" in own
    assert says is (preset.expansion is Expansion.CONFINED)


@every
@req("C-SEC-14")
def test_steps_have_an_end_where_the_engine_has_one(preset: Preset) -> None:
    if preset.steps:
        assert any("{steps}" in word for word in preset.steps)
        assert config_of(preset, max_steps=3).max_steps == 3


def test_an_own_sandbox_is_told_what_there_is() -> None:
    sandbox = BY_NAME["codex"].own_sandbox
    assert sandbox is not None
    read, write = Path('/opt/a "b"'), Path("/home/me/cache")
    for policy, access in (("edit", "write"), ("read", "read")):
        words = sandbox(Within(policy=policy, read=(read,), write=(write,)))
        table = tomllib.loads("\n".join(word for word in words if word != "-c"))
        files = table["permissions"]["conduck"]["filesystem"]
        assert files == {
            ":minimal": "read",
            ":workspace_roots": {".": access},
            str(read): "read",
            str(write): "write",
        }
        assert table["permissions"]["conduck"]["network"] == {"enabled": False}


def test_an_engine_is_found_by_its_program(tmp_path: Path) -> None:
    class Nothing:
        def start(self, launch: Any) -> Any:
            raise NotImplementedError

        def close(self) -> None:
            raise NotImplementedError

    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    types = {item.name: item for item in preset_types(PRESETS, Nothing(), {})}
    find = types["codex"].find
    assert find is not None
    found = find({"PATH": str(tmp_path)})
    assert found is not None
    assert (found.label, found.program) == ("Codex CLI", program)
    assert found.config == {"program": str(program)}
    assert find({"PATH": str(tmp_path / "other")}) is None


def test_a_file_of_the_preset_wins_over_the_operators(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text(json.dumps({"share": "auto", "deep": {"a": 1, "b": 1}}))
    preset = _with_files(
        {"set.json": {"share": "{model}", "deep": {"b": 2}}, "at": "{standing}"}
    )
    config = config_of(preset, home_files={"set.json": str(own)}, model='a"b')
    home = make_home(preset, config, tmp_path, None)
    text = (home.path / "set.json").read_text("utf-8")
    assert json.loads(text) == {"share": 'a"b', "deep": {"a": 1, "b": 2}}
    assert (home.path / "at").read_text("utf-8") == str(home.standing)
    assert "Handing files back" in home.standing.read_text("utf-8")
    own.write_text("[]")
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(ValueError, match="no JSON object"):
        make_home(preset, config, other, None)


def test_a_text_of_the_preset_cannot_be_replaced() -> None:
    preset = _with_files({"policy.toml": "deny = true"})
    assert decoded(preset, home_files={"policy.toml": "/x"})[0] is INVALID


def _with_files(files: dict[str, Any]) -> Preset:
    known = BY_NAME["codex"]
    values = {name: getattr(known, name) for name in Preset.__dataclass_fields__}
    return Preset(**{**values, "files": files})


@pytest.mark.parametrize(
    ("limit", "text", "is_over"),
    [
        (Limit(characters=3), "äöü", False),
        (Limit(characters=3), "äöüß", True),
        (Limit(bytes=6), "äöü", False),
        (Limit(bytes=6), "äöüx", True),
        (Limit(), "x" * 1000, False),
    ],
)
@req("C-SEC-17")
def test_a_limit_counts_characters_or_bytes(
    limit: Limit, text: str, is_over: bool
) -> None:
    assert limit.is_over(text) is is_over


def part(data: bytes, kind: str) -> ImagePart:
    head = f"data:{kind};base64,".encode()
    return ImagePart(head + base64.b64encode(data), kind, len(head), len(data))


JPEG = (
    b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x0b\x08\x00\x01\x00\x01\x01\x01\x11\x00"
    b"\xff\xda\x00\x02scan\xff\xd9"
)
PNG = base64.b64decode(PIXEL)
GIF = b"GIF89a\x01\x00\x01\x00\x00\x00\x00,;"
WEBP = b"RIFF\x08\x00\x00\x00WEBPVP8 "


@req("C-IMG-06")
@pytest.mark.parametrize(
    ("kind", "data"),
    [("png", PNG), ("jpeg", JPEG), ("gif", GIF), ("webp", WEBP)],
)
def test_a_whole_picture_is_told_from_a_broken_one(kind: str, data: bytes) -> None:
    assert is_sound(part(data, f"image/{kind}"))
    assert not is_sound(part(data[:-2], f"image/{kind}"))
    assert not is_sound(part(b"<html>" + data, f"image/{kind}"))
    assert not is_sound(part(b"", f"image/{kind}"))
    assert is_sound(part(b"anything", "image/heic"))


def test_names_are_those_of_bindings() -> None:
    assert len(BY_NAME) == len(PRESETS)
    for name, preset in BY_NAME.items():
        assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
        assert preset.tried_with
        assert preset.homepage.startswith("https://")
