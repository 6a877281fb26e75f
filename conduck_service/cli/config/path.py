"""``open-conduit config path``: where the config file is."""

from __future__ import annotations

import click

from conduck_service.cli.options import config_option, json_option, places
from conduck_service.cli.output import print_json


@click.command("path")
@config_option
@json_option
def command(config: str | None, as_json: bool) -> None:
    """Print the path of the config file, which need not exist (B-CLI-02)."""
    path = click.format_filename(places(config).config)
    if as_json:
        print_json({"path": path})
    else:
        click.echo(path)
