"""The click group of the operator command, and what its exit codes mean."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Mapping
from typing import Any

import click

from conduck_service import __version__
from conduck_service.cli.output import EXIT_REFUSED, report_fault

__all__ = ["EXIT_HOPELESS", "EXIT_REFUSED", "LazyGroup", "group", "main"]

EXIT_HOPELESS = 78
"""``serve``: what a restart cannot cure (EX_CONFIG of sysexits)."""

SUPPORTED = ("linux", "darwin")

CYCLIC_OBJECTS = 50_000
"""Objects that come to be between two searches for cycles among them.

Nothing here makes cycles for each entry of a config or for each request; with
Python's own 700 a third of the time of a long listing would go into looking for some.
"""

_COMMANDS = {
    "completion": "conduck_service.cli.completion",
    "config": "conduck_service.cli.config.group",
    "demo": "conduck_service.cli.demo",
    "doctor": "conduck_service.cli.doctor",
    "init": "conduck_service.cli.init.command",
    "pair": "conduck_service.cli.pair.command",
    "secret": "conduck_service.cli.secret.group",
    "selftest": "conduck_service.cli.selftest",
    "serve": "conduck_service.cli.serve",
    "service": "conduck_service.cli.service.group",
}
"""Each command with the module that holds it, loaded when it is called."""


class LazyGroup(click.Group):
    """A group that imports a command only when it is used.

    Args:
        modules: Name of each command to the module whose ``command`` it is.
        options: What every group takes.
    """

    def __init__(self, *, modules: Mapping[str, str], **options: Any) -> None:
        super().__init__(**options)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        del ctx
        return sorted(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name."""
        del ctx
        module = self._modules.get(cmd_name)
        if module is None:
            return None
        command: Any = importlib.import_module(module).command
        assert isinstance(command, click.Command)
        return command


@click.group(
    cls=LazyGroup,
    modules=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--config",
    type=click.Path(readable=False),
    help="The config file; here or after the command.",
)
@click.option(
    "--data-dir",
    type=click.Path(readable=False),
    help="The state directory; here or after the command.",
)
@click.version_option(__version__, prog_name="open-conduit")
@click.pass_context
def group(context: click.Context, config: str | None, data_dir: str | None) -> None:
    """Connect the Conduck app with the AI agent on this machine."""
    given = {"config": config, "data_dir": data_dir}
    # Only what was given: a default of None would hide the default of a command.
    usual = {name: value for name, value in given.items() if value is not None}
    context.default_map = {"serve": usual}


def main() -> None:
    """Run the command line; called by open-conduit and conduck."""
    gc.set_threshold(CYCLIC_OBJECTS)
    if sys.platform not in SUPPORTED:
        sys.exit("open-conduit runs on Linux and macOS only")
    sys.excepthook = report_fault
    group()
