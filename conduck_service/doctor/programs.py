"""Which program an engine is, found as the service finds it."""

from __future__ import annotations

import os
import shutil

from conduck_service.doctor.context import DoctorContext, Engine
from conduck_service.executors.command_settings import CommandConfig
from conduck_service.executors.environment import engine_path
from conduck_service.executors.preset.frame import Preset
from conduck_service.executors.preset.settings import PresetConfig
from conduck_service.executors.presets import PRESETS

_PRESETS = {preset.name: preset for preset in PRESETS}
_HEAD = 512

NO_PROGRAM = "it is no program of yours"
NO_PRESET = "it is no engine that comes with a preset"


def settings_of(engine: Engine) -> CommandConfig | None:
    """Return how its program is called; None for an engine that is no program."""
    config = engine.config
    if isinstance(config, PresetConfig):
        return config.command
    return config if isinstance(config, CommandConfig) else None


def preset_of(engine: Engine) -> Preset | None:
    """Return the preset of an engine, if it has one."""
    is_preset = isinstance(engine.config, PresetConfig)
    return _PRESETS.get(engine.binding.executor) if is_preset else None


def path_of(context: DoctorContext, engine: Engine, settings: CommandConfig) -> str:
    """Return the folders in which the engine's program is looked for."""
    given = engine_path(context.environment, engine.binding.pass_env, settings.env)
    # As at its start: never in a relative folder.
    return ":".join(item for item in given.split(":") if item.startswith("/"))


def program_of(settings: CommandConfig, path: str) -> str | None:
    """Return the path of the program; None when it is not there."""
    return shutil.which(settings.argv[0], path=path)


def interpreter_of(program: str) -> str:
    """Return what the first line of a script names; nothing for a binary."""
    try:
        with open(program, "rb") as file:  # noqa: PTH123 - a path as the system has it
            head = file.read(_HEAD)
    except OSError:
        return ""  # it may be executed all the same
    if not head.startswith(b"#!"):
        return ""
    # A Windows line end belongs to the name, as it does for the kernel.
    words = head[2:].partition(b"\n")[0].strip(b" \t").split(b" ")
    if words[0].endswith(b"/env"):
        words = [x for x in words[1:] if b"=" not in x and not x.startswith(b"-")]
    return os.fsdecode(words[0]) if words else ""
