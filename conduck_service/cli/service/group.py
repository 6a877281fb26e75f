"""``open-conduit service``: how systemd or launchd runs the service."""

from __future__ import annotations

import click

from conduck_service.cli.main import LazyGroup


@click.group(
    "service",
    cls=LazyGroup,
    modules={
        "install": "conduck_service.cli.service.install",
        "run-as": "conduck_service.cli.service.run_as",
        "status": "conduck_service.cli.service.status",
        "uninstall": "conduck_service.cli.service.uninstall",
    },
)
def command() -> None:
    """Let systemd or launchd run it: from the login or the start of the machine on.

    A person's own service needs no root (install, uninstall). That of the package
    for Debian is the system's; run-as lets it run as a person.
    """
