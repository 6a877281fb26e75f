"""``open-conduit service status``: how it goes."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from conduck_service.base.jsonio import JsonValue
from conduck_service.cli.loading import process_environment
from conduck_service.cli.options import json_option
from conduck_service.cli.output import EXIT_REFUSED, print_json
from conduck_service.cli.progress import safe
from conduck_service.cli.service.own import own_service
from conduck_service.service.account import own_account
from conduck_service.service.own import State, Status

_HINT = (
    "No service is installed. open-conduit service install makes one of your own; "
    "the package for Debian has the system's."
)


@click.command("status")
@json_option
def command(as_json: bool) -> None:
    """Show how your own service goes, and the system's where there is one.

    The status is 1 when none runs.
    """
    environment = process_environment()
    status = own_service(own_account(environment), environment).status()
    if as_json:
        services: list[JsonValue] = [asdict(state) for state in status.services]
        print_json({"services": services, "notes": list(status.notes)})
    else:
        _show(status)
    if not any(state.is_running for state in status.services):
        sys.exit(EXIT_REFUSED)


def _show(status: Status) -> None:
    for state in status.services:
        click.echo(_line(state))
        if state.text:
            click.echo(f"  {safe(state.text)}")
        click.echo(f"  {state.file}")
    for note in status.notes:
        click.echo(f"Note: {note}")
    if not status.services:
        click.echo(_HINT)


def _line(state: State) -> str:
    whose = "your own service" if state.whose == "own" else "the system's service"
    as_user = f" as {state.user}" if state.user else ""
    starts = "starts by itself" if state.starts_itself else "does not start by itself"
    pid = f", process {state.pid}" if state.pid else ""
    return f"{whose} ({state.manager}){as_user}: {state.state}, {starts}{pid}"
