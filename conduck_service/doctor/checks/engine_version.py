"""The version of an engine, which its program is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from conduck_service.doctor.asked import ask_program
from conduck_service.doctor.context import DoctorContext, Engine, NotMadeError
from conduck_service.doctor.finding import Declared, Finding, Level
from conduck_service.doctor.programs import (
    NO_PRESET,
    path_of,
    preset_of,
    program_of,
    settings_of,
)
from conduck_service.executors.environment import engine_environment

ENGINE_VERSION_FAILED = Declared(
    code="engine_version_failed",
    level=Level.FAIL,
    text="the program of an engine cannot even print its version",
    remedy="run it by hand, as the user of the service",
    depends_on=("engine_program_missing", "engine_interpreter_missing"),
)
ENGINE_VERSION_OTHER = Declared(
    code="engine_version_other",
    level=Level.INFO,
    text="the engine has another version than the one that was tried",
    remedy="run open-conduit selftest --deep --files",
    depends_on=("engine_program_missing", "engine_version_failed"),
)

_NUMBER = re.compile(r"\d+(?:\.\d+)+(?:[-+][0-9A-Za-z.+-]*[0-9A-Za-z])?")


def look_at_version(context: DoctorContext, engine: Engine) -> Iterator[Finding]:
    """Ask the program of a preset for its version, and compare."""
    preset, settings = preset_of(engine), settings_of(engine)
    if preset is None or settings is None:
        raise NotMadeError(NO_PRESET)
    path = path_of(context, engine, settings)
    program = program_of(settings, path)
    if program is None:
        raise NotMadeError("there is no program")
    environment = engine_environment(context.environment, {}, settings.env, {})
    said = ask_program((program, *preset.version), environment)
    found = _NUMBER.search(said.text)
    version = found[0] if found else ""
    if said.why:
        yield ENGINE_VERSION_FAILED.found(engine.subject, said.why)
    elif version != preset.tried_with:
        detail = f"{version or 'unknown'}; tried with {preset.tried_with}"
        yield ENGINE_VERSION_OTHER.found(engine.subject, detail)
