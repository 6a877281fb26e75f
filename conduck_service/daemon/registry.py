"""Every type that a config may name, those of the service and those it finds."""

from __future__ import annotations

from collections.abc import Mapping

from conduck_service.base.processes import (
    Launch,
    LaunchError,
    ProcessTree,
    Supervisor,
)
from conduck_service.chat.entry import CHAT_INGRESS
from conduck_service.chat.route import CHAT_HANDLER
from conduck_service.executors.command import CommandExecutor, command_type
from conduck_service.executors.demo import DemoExecutor, demo_type
from conduck_service.executors.http.connection import OPENAI_CONNECTION
from conduck_service.executors.http.executor import HTTP
from conduck_service.executors.preset.executor import preset_types
from conduck_service.executors.presets import PRESETS
from conduck_service.extension.installed import find_installed
from conduck_service.extension.registry import Package, Registry
from conduck_service.files.entry import FILES_INGRESS

OWN_PACKAGE = "conduck"
"""The package of the types that the service brings along."""


class _NothingStarts:
    """The supervisor of commands that only look at a config."""

    def start(self, launch: Launch) -> ProcessTree:
        raise LaunchError("other")

    def close(self) -> None:
        """There is nothing to close."""


def build_registry(
    environment: Mapping[str, str], supervisor: Supervisor | None = None
) -> Registry:
    """Return every type that a config may name.

    Args:
        environment: The daemon's own.
        supervisor: Runs engines; without one the registry is for checking only.
    """
    runs = supervisor or _NothingStarts()
    command = CommandExecutor(runs, environment)
    own = Package(
        name=OWN_PACKAGE,
        executors=(
            command_type(command),
            demo_type(DemoExecutor(command)),
            HTTP,
            *preset_types(PRESETS, runs, environment),
        ),
        handlers=(CHAT_HANDLER,),
        ingresses=(CHAT_INGRESS, FILES_INGRESS),
        connections=(OPENAI_CONNECTION,),
    )
    return Registry.of(own, find=find_installed)
