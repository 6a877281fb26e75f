"""``open-conduit config schema``: the JSON Schema of the config file."""

from __future__ import annotations

import click

from conduck_service.cli.loading import load
from conduck_service.cli.options import config_option, json_option, places
from conduck_service.cli.output import print_json
from conduck_service.config.schema import config_schema
from conduck_service.daemon.registry import build_registry


@click.command("schema")
@config_option
@json_option
def command(config: str | None, as_json: bool) -> None:
    """Print the JSON Schema of the config file, for editors.

    The types of packages are in it when the config file names the packages.
    """
    where = places(config)
    registry = build_registry(where.environment)
    loaded = load(where.config, registry, where.environment)
    print_json(config_schema(loaded.registry), indent=None if as_json else 2)
