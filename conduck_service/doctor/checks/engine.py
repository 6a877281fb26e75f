"""Engines: their programs and logins, the folder they work in, what confines them."""

from __future__ import annotations

import os
import shutil
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

from conduck_service.doctor.checks.engine_sandbox import (
    ENGINE_SANDBOX_BROKEN,
    has_sandbox,
    why_it_is_broken,
)
from conduck_service.doctor.checks.engine_version import (
    ENGINE_VERSION_FAILED,
    ENGINE_VERSION_OTHER,
    look_at_version,
)
from conduck_service.doctor.context import DoctorContext, Engine, NotMadeError
from conduck_service.doctor.finding import Declared, Finding, Level
from conduck_service.doctor.programs import (
    NO_PRESET,
    NO_PROGRAM,
    interpreter_of,
    path_of,
    preset_of,
    program_of,
    settings_of,
)
from conduck_service.doctor.run import Area, Check
from conduck_service.executors.confinement.policy import what_is_in_force
from conduck_service.executors.http.address import Address, proxy_for
from conduck_service.executors.http.connection import OpenAIHttpConfig
from conduck_service.executors.preset.settings import PresetConfig

ENGINE_PROGRAM_MISSING = Declared(
    code="engine_program_missing",
    level=Level.FAIL,
    text="the program of an engine is not there, or cannot be executed",
    remedy="install it, or write its absolute path into the config; a service has "
    "another PATH than a shell",
    depends_on=("config_invalid",),
)
ENGINE_INTERPRETER_MISSING = Declared(
    code="engine_interpreter_missing",
    level=Level.FAIL,
    text="the program of an engine is a script, and what runs it is not there",
    remedy="install it, or correct the first line of the script; it may end with a "
    "Windows line end",
    depends_on=("engine_program_missing",),
)
ENGINE_LOGIN_MISSING = Declared(
    code="engine_login_missing",
    level=Level.WARN,
    text="neither a login nor one of the usual keys of the engine was found",
    remedy="log in with the engine's own command, as the user of the service, or give "
    "its key with secret_env",
    depends_on=("engine_program_missing",),
)
ENGINE_FOLDER_MISSING = Declared(
    code="engine_folder_missing",
    level=Level.FAIL,
    text="the folder that an engine works in is not there, or this user may not "
    "work in it",
    remedy="make it, or name another as cwd",
    depends_on=("lane_folder_unusable",),
)
ENGINE_CONFINED = Declared(
    code="engine_confined",
    level=Level.INFO,
    text="the engine is confined to the files of its work",
)
ENGINE_UNCONFINED = Declared(
    code="engine_unconfined",
    level=Level.WARN,
    text="this machine has no way to confine the engine, so chat text reaches what "
    "the engine's own rules let it reach",
    remedy="install bubblewrap, or a kernel with Landlock",
)
ENGINE_CONFINE_OFF = Declared(
    code="engine_confine_off",
    level=Level.INFO,
    text="the engine is not confined: chat text reaches what its own rules let it "
    "reach, as the user of the service",
    remedy="write confine: auto to keep it to the files of its work",
)
ENGINE_CANNOT_START = Declared(
    code="engine_cannot_be_confined",
    level=Level.FAIL,
    text="the engine has to be confined, and this machine has no way to",
    remedy="install bubblewrap or a kernel with Landlock, or write confine: auto",
)
ENGINE_UPSTREAM_SILENT = Declared(
    code="engine_upstream_silent",
    level=Level.FAIL,
    text="the model server of an engine cannot be reached",
    remedy="start it, or correct base_url of the connection",
)

_CONNECT_SECONDS = 5.0


def _look_at_program(context: DoctorContext, engine: Engine) -> Iterator[Finding]:
    """Look for the program as the service does, and for what runs it."""
    settings = settings_of(engine)
    if settings is None:
        raise NotMadeError(NO_PROGRAM)
    path = path_of(context, engine, settings)
    program = program_of(settings, path)
    if program is None:
        name = Path(settings.argv[0])
        searched = "" if name.is_absolute() else f"; searched in {path}"
        yield ENGINE_PROGRAM_MISSING.found(engine.subject, f"{name.name}{searched}")
        return
    needed = interpreter_of(program)
    if needed and shutil.which(needed, path=path) is None:
        yield ENGINE_INTERPRETER_MISSING.found(engine.subject, ascii(needed)[1:-1])


def _look_at_login(context: DoctorContext, engine: Engine) -> Iterator[Finding]:
    """Look whether a login file is there or a key is given; neither is read."""
    preset, settings = preset_of(engine), settings_of(engine)
    if preset is None or settings is None:
        raise NotMadeError(NO_PRESET)
    if not preset.logins and not preset.credentials:
        raise NotMadeError("it needs no login")
    given = {*settings.env, *settings.secret_env}
    given |= {x for x in engine.binding.pass_env if x in context.environment}
    if _has_provider(engine.config, given):
        raise NotMadeError("it has a provider or a key of your own")
    home = Path(context.environment.get("HOME") or "/")
    has_login = any(_is_filled(home / part.path) for part in preset.logins)
    if not has_login and given.isdisjoint(preset.credentials):
        wanted = ", ".join(preset.credentials)
        yield ENGINE_LOGIN_MISSING.found(engine.subject, wanted)


def _has_provider(config: PresetConfig, given: set[str]) -> bool:
    """Say whether the config may give a key in a way that only the engine knows."""
    has_own = bool(config.home_files or config.command.secret_env)
    words = (*given, "provider")
    return has_own or any(word in text for text in config.arguments for word in words)


def _is_filled(path: Path) -> bool:
    """Say whether there is a file with something in it; it may be a link."""
    try:
        found = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size > 0


def _look_at_folder(context: DoctorContext, engine: Engine) -> Iterator[Finding]:
    executor = context.registry.executors[engine.binding.executor].executor
    folder = executor.folder(engine.config) or engine.scope.folder
    if folder is None:
        return
    is_usable = folder.is_dir() and os.access(folder, os.R_OK | os.W_OK | os.X_OK)
    if not is_usable:
        yield ENGINE_FOLDER_MISSING.found(engine.subject)


def _look_at_confinement(context: DoctorContext, engine: Engine) -> Iterator[Finding]:
    settings = settings_of(engine)
    if settings is None:
        raise NotMadeError(NO_PROGRAM)
    if has_sandbox(engine):
        why = why_it_is_broken(context, engine)
        what = ENGINE_SANDBOX_BROKEN if why else ENGINE_CONFINED
        yield what.found(engine.subject, why or "by a sandbox of its own")
        return
    if settings.confine == "off":
        yield ENGINE_CONFINE_OFF.found(engine.subject)
        return
    words = what_is_in_force(settings.confine)
    kind, _, why = words.partition(":")
    if kind != "none":
        yield ENGINE_CONFINED.found(engine.subject, words)
        return
    is_required = settings.confine == "required"
    what = ENGINE_CANNOT_START if is_required else ENGINE_UNCONFINED
    yield what.found(engine.subject, why.strip())


def _look_at_upstream(context: DoctorContext, engine: Engine) -> Iterator[Finding]:
    """Open a connection to the model server, and send nothing."""
    name = engine.binding.connection
    if name is None or context.document is None:
        raise NotMadeError("it has no model server of its own")
    config = context.document.connections[name].config
    if not isinstance(config, OpenAIHttpConfig):
        raise NotMadeError("its connection is of another type")
    address = Address.below(config.base_url, "models")
    granted = {
        key: context.environment[key]
        for key in engine.binding.pass_env
        if key in context.environment
    }
    proxy = proxy_for(address, granted)
    place = (proxy.host, proxy.port) if proxy else (address.host, address.port)
    try:
        socket.create_connection(place, _CONNECT_SECONDS).close()
    except (OSError, UnicodeError):
        yield ENGINE_UPSTREAM_SILENT.found(engine.subject, f"port {place[1]}")


def _engines(context: DoctorContext) -> list[Engine]:
    return context.engines


ENGINE: Area[Engine] = Area(
    "engine",
    _engines,
    (
        Check(
            "program",
            "its program is there, with the PATH of the service",
            (ENGINE_PROGRAM_MISSING, ENGINE_INTERPRETER_MISSING),
            _look_at_program,
        ),
        Check(
            "version",
            "its version is the one that was tried",
            (ENGINE_VERSION_FAILED, ENGINE_VERSION_OTHER),
            look_at_version,
            ("engine_program_missing", "engine_interpreter_missing"),
        ),
        Check(
            "login",
            "it has a login",
            (ENGINE_LOGIN_MISSING,),
            _look_at_login,
        ),
        Check(
            "folder",
            "it can work in its folder",
            (ENGINE_FOLDER_MISSING,),
            _look_at_folder,
        ),
        Check(
            "confinement",
            "there is nothing to confine",
            (
                ENGINE_CONFINED,
                ENGINE_UNCONFINED,
                ENGINE_CONFINE_OFF,
                ENGINE_CANNOT_START,
                ENGINE_SANDBOX_BROKEN,
            ),
            _look_at_confinement,
        ),
        Check(
            "upstream",
            "its model server can be reached",
            (ENGINE_UPSTREAM_SILENT,),
            _look_at_upstream,
        ),
    ),
)
