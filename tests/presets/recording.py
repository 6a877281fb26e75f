"""Runs a real engine against a scripted model, and keeps what it printed.

python -m tests.presets.recording ENGINE [CASE ...]

A case is a folder ``tests/presets/<engine>/<case>`` with a ``case.json``; the program
is taken from $ENGINES_FOLDER/<engine>, where its package is installed.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conduck_service.base.jsonio import JsonValue
from conduck_service.domain.conversation import Conversation, Message, Role
from conduck_service.domain.execution import FailureCode
from conduck_service.domain.standing import STANDING_INSTRUCTIONS
from conduck_service.executors.preset.executor import PresetExecutor, arguments_of
from conduck_service.executors.preset.frame import Preset
from conduck_service.executors.preset.input import written_prompt
from conduck_service.executors.preset.settings import PresetConfig, preset_spec
from conduck_service.executors.presets import PRESETS
from conduck_service.extension.executor import ExecutionContext
from conduck_service.extension.spec import Decoding
from tests.support.model_reply import Reply, ToolCall
from tests.support.model_server import model_server

CASES = Path(__file__).parent
ENGINES = Path(os.environ.get("ENGINES_FOLDER", "/tmp/engines"))
BY_NAME = {preset.name: preset for preset in PRESETS}
SECONDS = 150.0
"""Longer than any engine takes to give up in these cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What one run left."""

    argv: tuple[str, ...]
    stdout: bytes
    stderr: bytes
    status: int
    side: JsonValue


def about(engine: str) -> dict[str, Any]:
    """Return what tests know about an engine: its package, its way to a model."""
    found: dict[str, Any] = json.loads((CASES / engine / "engine.json").read_text())
    return found


def filled(value: Any, places: Mapping[str, str]) -> Any:
    """Return a JSON value with ``{name}`` replaced in every text."""
    if isinstance(value, str):
        for name, text in places.items():
            value = value.replace("{" + name + "}", text)
        return value
    if isinstance(value, dict):
        return {key: filled(item, places) for key, item in value.items()}
    return (
        [filled(item, places) for item in value] if isinstance(value, list) else value
    )


def program_of(engine: str) -> Path:
    """Return the program of an engine, whether it is installed or not."""
    return ENGINES / engine / str(about(engine)["program"])


def config_of(
    engine: str, url: str, folder: Path, more: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a binding's config that lets the engine ask the model at this address.

    Files that the engine needs for that are written into the folder.
    """
    known = about(engine)
    for name, content in known.get("files", {}).items():
        text = filled(content, {"url": url})
        text = text if isinstance(text, str) else json.dumps(text)
        (folder / name).write_text(text, "utf-8")
    config = filled(known["config"], {"url": url, "folder": str(folder)})
    return {"program": str(program_of(engine)), **config, **more}


def reply_of(step: Mapping[str, Any]) -> Reply:
    """Return the reply that a step of a script describes."""
    calls = tuple(ToolCall(*call) for call in step.get("calls", ()))
    return Reply(**{**step, "calls": calls})


def record(preset: Preset, case: Mapping[str, Any]) -> Recorded:
    """Run the engine once, as the case says, and return what it left."""
    with (
        tempfile.TemporaryDirectory(prefix="record") as name,
        model_server(*_script(case, Path(name))) as server,
    ):
        root = Path(name)
        for folder in ("turn", "work"):
            (root / folder).mkdir()
        value = config_of(preset.name, server.url, root, case.get("config", {}))
        decoding = Decoding(base=root)
        config = preset_spec(preset).decode(value, (), decoding)
        assert isinstance(config, PresetConfig), decoding.problems
        return _run(preset, config, root, case.get("prompt", "Say pong."))


def _script(case: Mapping[str, Any], root: Path) -> list[Reply]:
    """Return the model's replies; ``{work}`` in them is the working folder."""
    steps = filled(case["script"], {"work": str(root / "work")})
    return [reply_of(step) for step in steps]


def _run(preset: Preset, config: PresetConfig, root: Path, prompt: str) -> Recorded:
    conversation = Conversation((Message(Role.USER, prompt),))
    context = ExecutionContext(
        execution_id="exec",
        conversation=conversation,
        folder=root / "work",
        scratch=lambda _folder: root / "turn",
        marker=("CONDUCK_EXECUTION", "record"),
        interrupted=_never,
    )
    environment = {
        name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ
    }
    executor = PresetExecutor(preset, _NoSupervisor(), environment)
    turn = executor.prepared(config, context)
    argv = arguments_of(preset, turn, ())
    done = subprocess.run(
        argv,
        input=written_prompt(preset, conversation).encode(),
        env=dict(turn.environment),
        cwd=root / "work",
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    return Recorded(
        argv=tuple(_anywhere(word, root) for word in argv),
        stdout=done.stdout.replace(os.fsencode(root), b"/turn"),
        stderr=done.stderr.replace(os.fsencode(root), b"/turn"),
        status=done.returncode,
        side=turn.home.side_report(),
    )


def _anywhere(word: str, root: Path) -> str:
    """Return a word of an argv without what differs from run to run."""
    written = json.dumps(STANDING_INSTRUCTIONS)
    for text in (written, STANDING_INSTRUCTIONS):
        word = word.replace(text, "{standing instructions}")
    return word.replace(str(root), "/turn")


class _NoSupervisor:
    def start(self, launch: Any) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        """There is nothing to close."""


def _never() -> FailureCode | None:
    return None


def save(preset: Preset, folder: Path) -> Recorded:
    """Record the case of a folder and write it there."""
    case = json.loads((folder / "case.json").read_text("utf-8"))
    recorded = record(preset, case)
    (folder / "stdout").write_bytes(recorded.stdout)
    (folder / "status").write_text(f"{recorded.status}\n")
    side = folder / "side"
    side.unlink(missing_ok=True)
    if recorded.side is not None:
        side.write_text(json.dumps(recorded.side, indent=1) + "\n", "utf-8")
    case |= {
        "program": preset.program,
        "version": preset.tried_with,
        "argv": [preset.program, *recorded.argv[1:]],
        "recorded": True,
    }
    text = json.dumps(case, indent=2, ensure_ascii=False)
    (folder / "case.json").write_text(text + "\n", "utf-8")
    return recorded


def recorded_cases(engine: str) -> list[Path]:
    """Return the folders of the cases that a real engine made, or is to make."""
    return sorted(
        path.parent
        for path in (CASES / engine).glob("*/case.json")
        if json.loads(path.read_text("utf-8")).get("recorded", True)
    )


def main() -> None:
    """Record the cases that the command line names, or every one of the engine."""
    engine, *names = sys.argv[1:]
    folders = [CASES / engine / name for name in names] or recorded_cases(engine)
    for folder in folders:
        recorded = save(BY_NAME[engine], folder)
        shown = dataclasses.replace(recorded, stdout=recorded.stdout[-300:], argv=())
        print(folder.name, shown)


if __name__ == "__main__":
    main()
