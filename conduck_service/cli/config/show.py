"""``open-conduit config show``: the config file without what is not to be seen."""

from __future__ import annotations

import json

import click
from rich.console import Console

from conduck_service.cli.config.reading import read_value
from conduck_service.cli.loading import load
from conduck_service.cli.options import config_option, json_option, places
from conduck_service.cli.output import print_json
from conduck_service.config.redact import redacted
from conduck_service.daemon.registry import build_registry


@click.command("show")
@config_option
@json_option
def command(config: str | None, as_json: bool) -> None:
    """Print the config file without references and without commands (B-CLI-03).

    Of a secret only its name is shown, and of what an executor or another owner
    configures only what its owner says may be; [set] stands for the rest.
    """
    where = places(config)
    registry = build_registry(where.environment)
    value = read_value(where.config)
    known = load(where.config, registry, where.environment).registry
    shown = redacted(value, known)
    console = Console()
    if as_json or not console.is_terminal:
        print_json(shown, indent=None if as_json else 2)
    else:
        console.print_json(json.dumps(shown), indent=2)
