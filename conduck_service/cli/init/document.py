"""The config that ``init`` writes: one scope with one engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conduck_service.cli.init.engine import COMMAND, Engine

CHAT = "chat_token"
FILES = "files_password"
SECRETS = (CHAT, FILES)
"""Names of the secrets, in the scope and where their values are kept."""

SCOPE = "home"

BINDING = "agent"
"""What the binding is called, whichever the engine is: pages name its keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be set up.

    Attributes:
        engine: Answers the turns.
        folder: The shared folder, absolute.
        group: Id of the group that shares it; None for one user alone.
        chat_port: Of the chat listener.
        files_port: Of the file lane.
        packages: Names of the packages that the config needs.
    """

    engine: Engine
    folder: Path
    group: int | None = None
    chat_port: int
    files_port: int
    packages: tuple[str, ...] = ()

    @property
    def mode(self) -> str:
        """The mode of the shared folder, in octal digits."""
        return "0700" if self.group is None else "2770"


def document(plan: Plan, references: Mapping[str, str]) -> dict[str, Any]:
    """Return the config of a plan.

    Args:
        plan: What it describes.
        references: For each of SECRETS, where its value is kept (B-SECRET-44).
    """
    engine = plan.engine
    scope = {
        "id": SCOPE,
        "name": "Home",
        "secret_refs": {name: references[name] for name in SECRETS},
        "bindings": [
            {
                "name": BINDING,
                "executor": engine.executor,
                "config": dict(engine.config),
            }
        ],
        "routes": [
            {
                "name": "chat",
                "handler": "chat",
                "binding": BINDING,
                "active_policy": "queue",
                "config": {"models": [engine.name]},
            }
        ],
        "extensions": [_chat(plan), _files(plan)],
    }
    whole: dict[str, Any] = {"version": 1}
    if plan.packages:
        whole["settings"] = {"extensions": {name: {} for name in plan.packages}}
    return {**whole, "scopes": [scope]}


def _chat(plan: Plan) -> dict[str, Any]:
    model: dict[str, Any] = {"id": plan.engine.name}
    if plan.engine.executor == COMMAND:
        model["input_modalities"] = ["text"]
    config = {
        "namespace": "home_chat",
        "scope": SCOPE,
        "port": plan.chat_port,
        "token_secret": CHAT,
        "models": [model],
        "default_model": plan.engine.name,
    }
    return _entry("chat", CHAT, config)


def _files(plan: Plan) -> dict[str, Any]:
    config = {
        "namespace": "home_files",
        "scope": SCOPE,
        "port": plan.files_port,
        "root": str(plan.folder),
        "password_secret": FILES,
        "mode": plan.mode,
    }
    return _entry("files", FILES, config)


def _entry(name: str, secret: str, config: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "type": f"conduck_{name}",
        "secret_names": [secret],
        "config": config,
    }
