"""``open-conduit service uninstall``: no service of one's own any more."""

from __future__ import annotations

import click

from conduck_service.cli.loading import process_environment
from conduck_service.cli.output import refuse
from conduck_service.cli.service.own import own_service, person
from conduck_service.service.refusal import RefusedError


@click.command("uninstall")
def command() -> None:
    """Stop your own service, and forget it.

    The config, the secrets, the state and the shared folder stay as they are.
    """
    environment = process_environment()
    service = own_service(person(environment), environment)
    try:
        was_there = service.uninstall()
    except RefusedError as error:
        refuse(str(error))
    if not was_there:
        refuse("there is no service of yours; open-conduit service status shows others")
    click.echo(f"Stopped and removed: {click.format_filename(service.file)}")
    click.echo("Your config, secrets, state and shared folder are still there.")
