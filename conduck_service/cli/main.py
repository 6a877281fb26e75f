"""The click group of the operator command, and what its exit codes mean."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from conduck_service import __version__

EXIT_REFUSED = 1
"""A check failed, or what was asked for was refused."""

EXIT_HOPELESS = 78
"""``serve``: what a restart cannot cure (EX_CONFIG of sysexits)."""

SUPPORTED = ("linux", "darwin")

_COMMANDS = {
    "config": "conduck_service.cli.config",
    "demo": "conduck_service.cli.demo",
    "serve": "conduck_service.cli.serve",
}
"""Each command with the module that holds it, loaded when it is called."""


class LazyGroup(click.Group):
    """A group that imports a command only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        del ctx
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name."""
        del ctx
        module = _COMMANDS.get(cmd_name)
        if module is None:
            return None
        command: Any = importlib.import_module(module).command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="open-conduit")
def group() -> None:
    """Connect the Conduck app with the AI agent on this machine."""


def main() -> None:
    """Run the command line; called by open-conduit and conduck."""
    if sys.platform not in SUPPORTED:
        sys.exit("open-conduit runs on Linux and macOS only")
    group()
