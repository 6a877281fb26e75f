"""A real daemon whose engines are models behind one scripted server.

with asking(root, {"plain": {}, "strict": {"alternation": "strict"}}) as them:
    run = them.run("plain", user("ping"), script=[Reply("pong")])
    assert run.answer == "pong" and run.asked[0].json["messages"] == [user("ping")]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from tests.support.documents import document
from tests.support.engines import strict
from tests.support.model_reply import Reply
from tests.support.model_server import Asked, ModelServer, Step, model_server
from tests.support.service import Service, free_port, prepared, started

KEY = "upstream-key-5d4c3b2a1f0e"


def key_of(server: str) -> str:
    """Return the key of a server by its name; that of ``main`` is ``KEY``."""
    return KEY if server == "main" else f"{KEY}-{server}"


@dataclass(frozen=True, slots=True)
class Run:
    """One request to the daemon, its response, and what the server was asked."""

    response: requests.Response
    asked: list[Asked]

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.response.status_code

    @property
    def body(self) -> Any:
        """The body, read strictly."""
        return strict(self.response.text)

    @property
    def error(self) -> tuple[int, str | None]:
        """Status and code of an error."""
        return self.status, self.body["error"].get("code")

    @property
    def choice(self) -> dict[str, Any]:
        """The one choice of a good turn."""
        assert self.status == 200, (self.status, self.response.text)
        (choice,) = self.body["choices"]
        assert isinstance(choice, dict)
        return choice

    @property
    def answer(self) -> str:
        """The answer of a good turn."""
        content = self.choice["message"]["content"]
        assert isinstance(content, str)
        return content

    @property
    def sent(self) -> Any:
        """The one body that the server got."""
        (asked,) = self.asked
        return asked.json


@dataclass(frozen=True, slots=True)
class Upstreams:
    """A running daemon, and the server behind it."""

    service: Service
    server: ModelServer

    def run(
        self,
        model: str,
        *messages: dict[str, Any],
        script: Sequence[Step] = (Reply(),),
        **extra: Any,
    ) -> Run:
        """Send a conversation; the server goes by the script meanwhile."""
        self.server.play(*script)
        response = self.service.turn(*messages, model=model, **extra)
        return Run(response, self.server.asked)


def upstream_document(
    base_urls: Mapping[str, str],
    configs: Mapping[str, Mapping[str, Any]],
    *,
    key: bool = True,
    **options: Any,
) -> dict[str, Any]:
    """Return a document: binding to the server it asks, and to its config.

    Keys of a binding itself (timeout_seconds, pass_env) are taken out of the config.
    A config may name its server in ``server``; else it is ``main``.
    """
    bindings = {}
    for name, config in configs.items():
        outer = {k: config[k] for k in ("timeout_seconds", "pass_env") if k in config}
        inner = {k: v for k, v in config.items() if k not in (*outer, "server")}
        connection = f"server_{config.get('server', 'main')}"
        bindings[name] = {
            "name": name,
            "executor": "http",
            "connection": connection,
            "config": inner,
            **outer,
        }
    made = document(bindings, free_port(), **options)
    made["connections"] = [
        {
            "id": f"server_{name}",
            "type": "openai_http",
            "config": {"base_url": url},
            **({"secret_refs": {"api_key": f"file:key_{name}"}} if key else {}),
        }
        for name, url in base_urls.items()
    ]
    granted = [connection["id"] for connection in made["connections"]]
    made["scopes"][0]["authorization"] = {"connections": granted}
    return made


@contextmanager
def asking(
    root: Path,
    configs: Mapping[str, Mapping[str, Any]],
    *,
    others: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    **options: Any,
) -> Iterator[Upstreams]:
    """Run a daemon with a binding for each config, and a server that they ask.

    Args:
        root: An empty folder.
        configs: Advertised id to the config of its http binding.
        others: Base URLs of more servers, by the name in ``server`` of a config.
        environment: More variables of the daemon.
        options: As of :func:`upstream_document`.
    """
    with model_server() as server:
        urls = {"main": f"{server.url}/v1", **(others or {})}
        config = upstream_document(urls, configs, **options)
        secrets = {f"key_{name}": key_of(name) for name in urls}
        service = prepared(root, config, secrets=secrets, environment=environment)
        with started(service):
            yield Upstreams(service, server)
