"""Servers on ports of their own, each stopped with its test."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator

import pytest

from conduck_service.serving.bearer import bearer_gate
from conduck_service.serving.server import Server
from tests.serving.app import TOKEN, App, JsonDialect


def route_of(path: str) -> str:
    """Return what the log calls a path."""
    return path.strip("/") if path in ("/ok", "/body") else "-"


@pytest.fixture
def app() -> App:
    return App()


Serve = Callable[..., Server]


@pytest.fixture
def serve(app: App) -> Iterator[Serve]:
    """Start a server of the app; arguments replace the usual ones."""
    servers = []

    def start(**changes: object) -> Server:
        arguments: dict[str, object] = {
            "port": 0,
            "gate": bearer_gate(TOKEN.encode()),
            "dialect": JsonDialect(),
            "workers": 8,
            "route_of": route_of,
            "name": "test",
            **changes,
        }
        server = Server(app, **arguments)  # type: ignore[arg-type] # by name
        server.start()
        servers.append(server)
        return server

    yield start
    app.go.set()
    for server in servers:
        server.stop()


@pytest.fixture
def port(serve: Serve) -> int:
    return serve().port


@pytest.fixture
def _many_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
