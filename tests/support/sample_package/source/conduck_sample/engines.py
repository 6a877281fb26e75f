"""Executors that differ in what they can do and in how they check their config.

Each answers with one JSON object that says what it was given.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conduck_service.domain.scope import Binding, Scope
from conduck_service.extension.executor import (
    FEATURES,
    Capabilities,
    Completed,
    ConfigObject,
    ExecutionContext,
    ExecutorType,
    RunResult,
)
from conduck_service.extension.kinds import Boolean, FilePath, MapOf, Text
from conduck_service.extension.spec import Decoding, Field, Spec

from .notes import note


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """Config of all executors here but ``hooked``."""

    say: str = ""
    images: bool = False
    cwd: Path | None = None
    loud: bool = False
    quiet: bool = False
    env: dict[str, str] | None = None


_SPEC = Spec(
    EngineConfig,
    (
        Field(name="say", kind=Text(), default="", doc="Part of the answer."),
        Field(
            name="images",
            kind=Boolean(),
            default=False,
            doc="Take images.",
            shown=True,
        ),
        Field(name="cwd", kind=FilePath(), default=None, doc="Working folder."),
        Field(name="loud", kind=Boolean(), default=False, doc="Answer loudly."),
        Field(name="quiet", kind=Boolean(), default=False, doc="Answer quietly."),
        Field(name="env", kind=MapOf(Text()), default=None, doc="More variables."),
    ),
)


class Engine:
    """Answers at once, without a process."""

    def capabilities(self, config: Any) -> Capabilities:
        """Return whether images are taken."""
        return Capabilities(images=getattr(config, "images", False))

    def folder(self, config: Any) -> Path | None:
        """Return the configured cwd."""
        return getattr(config, "cwd", None)

    def run(self, config: Any, context: ExecutionContext) -> RunResult:
        """Answer with what came in."""
        told = {
            "say": getattr(config, "say", ""),
            "folder": str(context.folder),
            "secrets": dict(context.secrets),
            "host_env": dict(context.host_env),
        }
        return Completed(answer=json.dumps(told))


class AbleEngine(Engine):
    """Has every method that a feature stands for; the core calls none yet."""

    def inject(self) -> None:
        """Take input while a turn runs."""

    def interrupt(self) -> None:
        """End a turn early."""

    def park(self) -> None:
        """Let a turn wait."""

    def live(self) -> None:
        """Show the output so far."""


def _check_volume(binding: Binding, _scope: Scope, into: Decoding) -> None:
    note("check", executor="picky", binding=binding.name)
    if binding.config.loud and binding.config.quiet:
        into.refuse(
            ("config", "quiet"),
            "invalid_config",
            "loud and quiet exclude each other",
            "write one of the two",
        )


def _adapt(config: ConfigObject, folder: Path) -> ConfigObject:
    note("adapt", folder=str(folder))
    return {"cwd": str(folder), **config}


def _refuse(_config: ConfigObject, folder: Path) -> ConfigObject:
    note("refuse", folder=str(folder))
    raise ValueError("canary of the adapt hook")


EXECUTORS = (
    ExecutorType(
        name="able",
        spec=_SPEC,
        executor=AbleEngine(),
        features=frozenset(FEATURES),
        has_toolbelt=True,
    ),
    ExecutorType(name="plain", spec=_SPEC, executor=Engine()),
    ExecutorType(name="hooked", spec=None, executor=Engine(), has_toolbelt=True),
    ExecutorType(
        name="picky",
        spec=_SPEC,
        executor=Engine(),
        check=_check_volume,
        has_toolbelt=True,
    ),
    ExecutorType(name="adapting", spec=_SPEC, executor=Engine(), adapt=_adapt),
    ExecutorType(name="refusing", spec=_SPEC, executor=Engine(), adapt=_refuse),
    ExecutorType(
        name="dialing",
        spec=_SPEC,
        executor=Engine(),
        connection_types=("account",),
    ),
)
