"""The version of an engine, which its program is asked for."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

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
from conduck_service.secrets.bounded import TooMuchOutputError, run_bounded

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

SECONDS = 20.0
"""How long an engine may take to say its version; Node's need several at first."""

_MOST_BYTES = 1 << 16
_NUMBER = re.compile(r"\d+(?:\.\d+)+(?:[-+][0-9A-Za-z.+-]*[0-9A-Za-z])?")

_WITH_ERRORS = '"$0" "$@" 2>errors; status=$?; head -c 4096 errors; exit $status'
"""For the shell: some engines print their version where errors go."""


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
    why, version = _version((program, *preset.version), _frozen(environment))
    if why:
        yield ENGINE_VERSION_FAILED.found(engine.subject, why)
    elif version != preset.tried_with:
        detail = f"{version or 'unknown'}; tried with {preset.tried_with}"
        yield ENGINE_VERSION_OTHER.found(engine.subject, detail)


def _frozen(environment: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(environment.items()))


@cache
def _version(
    argv: tuple[str, ...], environment: tuple[tuple[str, str], ...]
) -> tuple[str, str]:
    """Return why there is no version, and the version; each program is asked once.

    It runs in an empty home, so that nothing of it stays.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        variables = dict(environment) | {"HOME": home, "TMPDIR": home}
        try:
            finished = run_bounded(
                ("/bin/sh", "-c", _WITH_ERRORS, *argv),
                environment=variables,
                folder=Path(home),
                seconds=SECONDS,
                limit=_MOST_BYTES,
            )
        except TimeoutError:
            return f"no answer within {SECONDS:.0f} s", ""
        except TooMuchOutputError:
            return "it prints too much", ""
        except (OSError, ValueError) as error:
            return os.strerror(getattr(error, "errno", None) or 0), ""
    if finished.status:
        return f"exit status {finished.status}", ""
    found = _NUMBER.search(finished.output.decode("utf-8", "replace"))
    return "", found[0] if found else ""
