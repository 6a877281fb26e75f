"""``open-conduit config set``: change one value of the config file."""

from __future__ import annotations

import click

from conduck_service.base.jsonio import JsonError, JsonValue, parse
from conduck_service.cli.config.editing import change
from conduck_service.cli.options import config_option, data_dir_option, places
from conduck_service.config.pointer import put, steps_of


@click.command("set")
@click.argument("pointer")
@click.argument("value")
@click.option("--text", "is_text", is_flag=True, help="Take VALUE as a text as it is.")
@config_option
@data_dir_option
def command(
    pointer: str, value: str, is_text: bool, config: str | None, data_dir: str | None
) -> None:
    """Set what is at POINTER to VALUE, unless the config would then be faulty.

    POINTER is written as config check writes places, or with names of entries: as in
    scopes/home/bindings/agent/timeout_seconds. The entry - adds one to a list. VALUE
    is JSON; what is none is taken as a text, and --text takes anything so. Write --
    before a VALUE that begins with a minus. The text before is kept in
    config.json.last-good.
    """
    steps = steps_of(pointer)
    if not steps:
        raise click.UsageError("POINTER names the whole config; edit the file for that")
    new = _parsed(value, is_text)
    change(places(config, data_dir), lambda document: put(document, steps, new))


def _parsed(value: str, is_text: bool) -> JsonValue:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise click.UsageError("VALUE is not UTF-8") from None
    if is_text:
        return value
    try:
        return parse(value)
    except JsonError as error:
        # Nobody means a text that begins like an object, a list or a quoted text.
        if value.lstrip()[:1] in {"{", "[", '"'}:
            where = f" (column {error.column})" if error.column else ""
            raise click.UsageError(
                f"VALUE is not JSON: {error.reason}{where}; or use --text"
            ) from None
        return value
