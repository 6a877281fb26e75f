"""Engines that are a model server: no program that a person could run by hand."""

from __future__ import annotations

from conduck_service.doctor.context import Engine
from conduck_service.executors.http.settings import HttpConfig

NO_HANDS = (
    "the model has no hands for files; file_tool: true of its binding gives it some "
    "(docs/howto/local-model.md)"
)
TOOL_UNUSED = (
    "the model did not use its file tool, or not to the end: take a model that can "
    "call tools, or leave file_tool out (docs/howto/local-model.md)"
)
SERVER_FAILED = (
    "the line execution_ended in the log says what the model server answered; look at "
    "base_url and key of the connection, and at the model of the binding"
)


def has_model_server(engine: Engine | None) -> bool:
    """Say whether an engine is a model server."""
    return engine is not None and isinstance(engine.config, HttpConfig)


def has_hands(engine: Engine | None) -> bool:
    """Say whether an engine can make files at all, as far as the config tells."""
    if engine is None or not isinstance(engine.config, HttpConfig):
        return True
    return bool(engine.config.file_tool)
