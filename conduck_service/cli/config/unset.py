"""``open-conduit config unset``: take one value out of the config file."""

from __future__ import annotations

import click

from conduck_service.cli.config.editing import change
from conduck_service.cli.options import config_option, data_dir_option, places
from conduck_service.config.pointer import remove, steps_of


@click.command("unset")
@click.argument("pointer")
@config_option
@data_dir_option
def command(pointer: str, config: str | None, data_dir: str | None) -> None:
    """Take away what is at POINTER, unless the config would then be faulty.

    What is left out has its default (B-CLI-06). The text before is kept in
    config.json.last-good.
    """
    steps = steps_of(pointer)
    if not steps:
        raise click.UsageError(
            "POINTER names the whole config; remove the file for that"
        )
    change(places(config, data_dir), lambda document: remove(document, steps))
