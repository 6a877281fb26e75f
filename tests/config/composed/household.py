"""A household for tests: scopes with lanes and chat entries, really served."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.config.composed.desk import Desk
from tests.support.service import (
    PASSWORD,
    Service,
    Stub,
    binding,
    free_port,
    prepared,
    started,
)


def route(model: str, to: str) -> dict[str, Any]:
    return {
        "name": model,
        "handler": "chat",
        "binding": to,
        "active_policy": "queue",
        "config": {"models": [model]},
    }


def chat(where: str, *models: str, secret: str = "chat_token") -> dict[str, Any]:
    return {
        "name": "chat",
        "type": "conduck_chat",
        "secret_names": [secret],
        "config": {
            "namespace": f"{where}_chat",
            "scope": where,
            "port": free_port(),
            "token_secret": secret,
            "models": [{"id": model} for model in models],
        },
    }


def lane(where: str, root: Path | str) -> dict[str, Any]:
    return {
        "name": "files",
        "type": "conduck_files",
        "secret_names": ["password"],
        "config": {
            "namespace": f"{where}_files",
            "scope": where,
            "port": free_port(),
            "root": str(root),
            "password_secret": "password",
            "mode": "0700",
        },
    }


def engine(made: Stub, **more: Any) -> dict[str, Any]:
    entry = binding(made, **more)
    del entry["config"]["cwd"]
    return entry


@dataclass(slots=True)
class Home:
    """A served household.

    Attributes:
        service: The daemon.
        config: What it serves.
    """

    service: Service
    config: dict[str, Any]

    def of(self, where: str) -> Service:
        """Return the service as a member of a scope sees it."""
        (found,) = [item for item in self._scopes if item["id"] == where]
        port = next(
            entry["config"]["port"]
            for entry in found["extensions"]
            if entry.get("type") == "conduck_chat"
        )
        seen = Service(
            self.service.root, port, self.service.environment, token=f"token-{where}"
        )
        seen.process = self.service.process
        return seen

    @property
    def _scopes(self) -> list[dict[str, Any]]:
        scopes: list[dict[str, Any]] = [*self.config["scopes"]]
        for include in self.config.get("includes", []):
            folder = self.service.root / "config" / include["path"]
            file = folder / ".open-conduit/config.json"
            if file.exists():
                scopes += json.loads(file.read_text("utf-8"))["scopes"]
        return scopes

    def models(self, where: str) -> list[str]:
        """Return the models that a member is offered."""
        return [item["id"] for item in self.of(where).models().json()["data"]]


@contextmanager
def served(desk: Desk, config: dict[str, Any]) -> Iterator[Home]:
    """Serve a config in which ``token_SCOPE`` is the token of each scope."""
    secrets = {f"token_{name}": f"token-{name}" for name in ("home", "anna", "ben")}
    secrets |= {"one": "value-of-one", "two": "value-of-two", "password": PASSWORD}
    service = prepared(desk.root, config, secrets=secrets, environment=desk.environment)
    with started(service):
        yield Home(service, config)


def own_token(where: str, **more: str | bool) -> dict[str, str | bool]:
    return {"chat_token": f"file:token_{where}", **more}


def folders(desk: Desk, *members: str) -> None:
    for name in members:
        (desk.root / name).mkdir(mode=0o700)
