"""``open-conduit service install``: a service of one's own."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from conduck_service.cli.loading import starting_folder
from conduck_service.cli.options import (
    Places,
    config_option,
    data_dir_option,
    places,
)
from conduck_service.cli.output import refuse
from conduck_service.cli.service.own import IS_MAC, own_service, person
from conduck_service.config.folder import VARIABLE
from conduck_service.config.paths import PathError, config_path, state_dir
from conduck_service.service.command import own_program
from conduck_service.service.engines import (
    check_folders,
    checked_path,
    find_own,
    search_path,
)
from conduck_service.service.refusal import RefusedError


@click.command("install")
@click.option(
    "--path",
    metavar="PATH",
    help="The PATH of the service, such as that of this shell; otherwise it is made "
    "of the folders of the engines that are found on it.",
)
@click.option("--no-start", is_flag=True, help="Write it, and start nothing.")
@click.option("--print", "only_print", is_flag=True, help="Only show what it would be.")
@config_option
@data_dir_option
def command(
    *,
    path: str | None,
    no_start: bool,
    only_print: bool,
    config: str | None,
    data_dir: str | None,
) -> None:
    """Let systemd or launchd run a service of your own, with your logins and keys.

    It is started now and with each login of yours, and started anew when it dies.
    What is installed already is written anew.
    """
    where = places(config, data_dir)
    account = person(where.environment)
    service = own_service(account, where.environment)
    found = find_own(where.environment.get("PATH", os.defpath))
    try:
        chosen = (
            search_path(account.home, found, is_mac=IS_MAC)
            if path is None
            else checked_path(path)
        )
        text = service.text(
            _argv(where, account.home), _variables(where.environment, chosen)
        )
        if only_print:
            click.echo(text, nl=False)
            return
        service.check()
        _check_config(where)
        notes = service.install(text, start=not no_start)
    except RefusedError as error:
        refuse(str(error))
    click.echo(f"Written: {click.format_filename(service.file)}")
    names = ", ".join(found.engines) or "none that this version knows"
    click.echo(f"Engines found: {names}")
    click.echo(f"PATH of the service: {chosen}")
    for note in notes:
        click.echo(f"Note: {note}")
    done = "It is not started yet" if no_start else "It is started"
    click.echo(f"{done}: open-conduit service status shows how it goes.")


def _argv(where: Places, home: Path) -> list[str]:
    """Return what the service runs, with the places that it would not find itself."""
    program = own_program(
        sys.argv[0], sys.executable, where.environment, starting_folder()
    )
    argv = [*program, "serve"]
    plain = {"HOME": str(home)}
    try:
        usual = config_path(None, plain, home), state_dir(None, plain, home)
    except PathError as error:
        refuse(str(error))
    if where.config != usual[0]:
        argv += ["--config", str(where.config)]
    if where.state is not None and where.state != usual[1]:
        argv += ["--data-dir", str(where.state)]
    if not all(word.isprintable() for word in argv):
        refuse("a path has characters that no service file can hold; use another one")
    return argv


def _variables(environment: Mapping[str, str], path: str) -> dict[str, str]:
    """Return what the service gets: its PATH, and the folder that this shell names."""
    folder = environment.get(VARIABLE)
    if folder:
        check_folders(VARIABLE, [folder])
        return {VARIABLE: folder, "PATH": path}
    return {"PATH": path}


def _check_config(where: Places) -> None:
    if not where.config.exists():
        name = click.format_filename(where.config)
        refuse(f"{name}: there is no config yet; open-conduit init makes one")
