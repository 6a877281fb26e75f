"""``open-conduit config get``: one value of the config file."""

from __future__ import annotations

import click

from conduck_service.base.jsonio import JsonValue
from conduck_service.cli.config.reading import read_value
from conduck_service.cli.options import config_option, json_option, places
from conduck_service.cli.output import print_json, refuse
from conduck_service.config.pointer import PointerError, get, steps_of
from conduck_service.config.redact import hide_references


@click.command("get")
@click.argument("pointer")
@config_option
@json_option
def command(pointer: str, config: str | None, as_json: bool) -> None:
    """Print what the config file holds at POINTER.

    POINTER is written as config check writes places, such as
    scopes/0/bindings/0/config/argv; entries of a list are also found by id, or by
    name if they have none, as in scopes/home/bindings/agent. Of secrets only the names
    are shown.
    """
    value = hide_references(read_value(places(config).config))
    try:
        found = get(value, steps_of(pointer))
    except PointerError as error:
        refuse(str(error))
    _print(found, as_json)


def _print(value: JsonValue, as_json: bool) -> None:
    if isinstance(value, str) and not as_json:
        click.echo(value.encode("utf-8", "backslashreplace"))
    else:
        print_json(value, indent=None if as_json else 2)
