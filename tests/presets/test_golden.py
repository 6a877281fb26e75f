"""What engines really printed, and what must come of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conduck_service.base.jsonio import JsonValue
from conduck_service.executors.preset.frame import Preset
from conduck_service.executors.preset.reading import BareToolTurn, judge, printed
from conduck_service.executors.presets import PRESETS
from conduck_service.executors.stripping import STRIP_WORDS
from conduck_service.extension.executor import Completed, RunResult
from tests.presets.recording import BY_NAME, CASES, about

FOLDERS = sorted(path.parent for path in CASES.glob("*/*/case.json"))
WANTED = ("pong", "upstream_500", "empty", "length", "bare_tool", "unknown_records")
"""Cases that every engine has; an engine without tools has no bare_tool."""


def outcome(folder: Path) -> RunResult:
    """Return what the preset of a case makes of what the engine printed."""
    side = folder / "side"
    return told_of(
        BY_NAME[folder.parent.name],
        (folder / "stdout").read_bytes(),
        exited_well=(folder / "status").read_text() == "0\n",
        side=json.loads(side.read_text("utf-8")) if side.exists() else None,
    )


def told_of(
    preset: Preset, stdout: bytes, *, exited_well: bool, side: JsonValue
) -> RunResult:
    """Return what a preset makes of an output."""
    run = printed(stdout, exited_well=exited_well, side=side, interrupted=lambda: None)
    return judge(preset, run, STRIP_WORDS, lambda: None)


def told(result: RunResult) -> dict[str, Any]:
    """Return a result as ``expected.json`` writes it."""
    if isinstance(result, BareToolTurn):
        return {"again": True}
    if isinstance(result, Completed):
        usage = result.usage
        counts = [usage.prompt_tokens, usage.completion_tokens] if usage else None
        finish = result.finish.value if result.finish else None
        return {"answer": result.answer, "finish": finish, "usage": counts}
    return {"failed": result.code.value}


@pytest.mark.req("C-RESP-13", "C-RESP-14", "C-ERR-07")
@pytest.mark.parametrize(
    "folder", FOLDERS, ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_a_recorded_run_comes_out_as_it_must(folder: Path) -> None:
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    assert told(outcome(folder)) == expected


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: str(preset.name))
def test_an_engine_has_the_cases_that_matter(preset: Preset) -> None:
    names = {folder.name for folder in FOLDERS if folder.parent.name == preset.name}
    wanted = set(WANTED)
    if "tools" not in about(preset.name):
        wanted.discard("bare_tool")
    assert wanted <= names


def test_outputs_are_whole_files() -> None:
    for folder in FOLDERS:
        for name in ("stdout", "status", "expected.json"):
            assert (folder / name).is_file(), folder
