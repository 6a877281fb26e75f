"""``open-conduit config``: look at a config file and change it."""

from __future__ import annotations

import click

from conduck_service.cli.main import LazyGroup


@click.group(
    "config",
    cls=LazyGroup,
    modules={
        name: f"conduck_service.cli.config.{name}"
        for name in (
            "check",
            "get",
            "include",
            "path",
            "schema",
            "set",
            "show",
            "unset",
        )
    },
)
def command() -> None:
    """Look at the config file, and change it.

    Nothing is run and no secret is resolved. What is changed takes effect at the
    next start of the service.
    """
