"""The sandbox that an engine brings along: whether it works on this machine."""

from __future__ import annotations

import os

from conduck_service.doctor.asked import ask_program
from conduck_service.doctor.context import DoctorContext, Engine
from conduck_service.doctor.finding import Declared, Level
from conduck_service.doctor.programs import (
    path_of,
    preset_of,
    program_of,
    settings_of,
)
from conduck_service.executors.environment import engine_environment

ENGINE_SANDBOX_BROKEN = Declared(
    code="engine_sandbox_broken",
    level=Level.FAIL,
    text="the engine's own sandbox does not work on this machine, so every command "
    "of the engine fails and no file is read or made",
    remedy="allow user namespaces for the user of the service: see the sysctls "
    "user.max_user_namespaces, kernel.unprivileged_userns_clone and "
    "kernel.apparmor_restrict_unprivileged_userns, or install the system's bubblewrap",
    depends_on=(
        "engine_program_missing",
        "engine_interpreter_missing",
        "engine_version_failed",
    ),
)

_USAGE = 2
"""Exit status of a version that does not know the question."""


def has_sandbox(engine: Engine) -> bool:
    """Say whether the engine is confined by a sandbox of its own."""
    settings, preset = settings_of(engine), preset_of(engine)
    if settings is None or preset is None or preset.own_sandbox is None:
        return False
    return settings.confine != "off"


def why_it_is_broken(context: DoctorContext, engine: Engine) -> str:
    """Return why a program that does nothing fails in it; empty when it does not.

    Elsewhere than on Linux nothing has to be allowed, and it is not tried.
    """
    settings, preset = settings_of(engine), preset_of(engine)
    assert settings is not None
    assert preset is not None
    program = program_of(settings, path_of(context, engine, settings))
    if program is None or not preset.sandbox_trial or os.uname().sysname != "Linux":
        return ""
    environment = engine_environment(context.environment, {}, settings.env, {})
    said = ask_program((program, *preset.sandbox_trial), environment)
    return "" if said.status == _USAGE else said.why
