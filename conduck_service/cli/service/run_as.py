"""``open-conduit service run-as``: whose engines and logins the system's one has."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

import click

from conduck_service.cli.output import refuse
from conduck_service.service.account import account_named
from conduck_service.service.names import USER
from conduck_service.service.programs import SystemPrograms
from conduck_service.service.refusal import RefusedError
from conduck_service.service.run_as import Plan, RunAs


@click.command("run-as")
@click.argument("name", required=False)
@click.option("--reset", is_flag=True, help=f"Run as {USER} again.")
@click.option(
    "--path",
    metavar="PATH",
    default="",
    help="The PATH of the service; otherwise it is made of the folders of the "
    "engines that the person finds in a terminal.",
)
@click.option(
    "--folder",
    "folders",
    multiple=True,
    metavar="DIR",
    help="A folder beside the home that engines may write to; can be given more than "
    "once.",
)
@click.option("--gpu", is_flag=True, help="Let engines see the machine's devices.")
@click.option("--print", "only_print", is_flag=True, help="Only show what it would be.")
@click.option(
    "--root",
    type=click.Path(file_okay=False, path_type=Path),
    default="/",
    hidden=True,
    help="The folder that the system lies in, for images.",
)
def command(
    *,
    name: str | None,
    reset: bool,
    path: str,
    folders: tuple[str, ...],
    gpu: bool,
    only_print: bool,
    root: Path,
) -> None:
    """Let the system's service run as the person NAME, who has the engine's login.

    It writes one file for systemd, which upgrades leave alone; --reset removes it.
    The running service goes on as it was until it is started anew.
    """
    if (name is None) != reset:
        raise click.UsageError("name the person, or say --reset")
    if sys.platform != "linux":
        refuse("run-as is for systemd; here open-conduit service install does it")
    if os.geteuid():
        refuse("this changes the system's service; say it with sudo")
    run_as = RunAs(root, SystemPrograms())
    try:
        if name is None or name == USER:
            _reset(run_as)
        else:
            plan = _plan(run_as, name, path, folders, gpu)
            if only_print:
                click.echo(plan.text, nl=False)
                return
            run_as.apply(plan)
            _tell(run_as, plan)
    except RefusedError as error:
        refuse(str(error))


def _plan(
    run_as: RunAs, name: str, path: str, folders: tuple[str, ...], gpu: bool
) -> Plan:
    account = account_named(name)
    if account is None:
        _refuse_unknown()
    return run_as.plan(account, path=path, folders=folders, gpu=gpu)


def _refuse_unknown() -> NoReturn:
    refuse("there is no user of that name; name the one who has the engine's login")


def _tell(run_as: RunAs, plan: Plan) -> None:
    account, grant = plan.account, plan.grant
    name = account.name
    lines = [
        f"The service runs as {name} from its next start on. Engines then",
        f"- read what {name} may read, with the logins and keys of {name},",
        f"- write to {', '.join([str(account.home), '/srv/conduck', *grant.folders])},",
        f"- see {'all devices, such as GPUs' if grant.gpu else 'no devices (--gpu)'},",
        f"- are looked for on {grant.path}",
        _engines(plan),
    ]
    if plan.joins:
        lines.append(
            f"{name} is now in the group {USER}, which has /srv/conduck; what "
            f"{name} runs knows\nthat after a new login."
        )
    if not run_as.has_config(account):
        lines.append(f"There is no config yet: as {name}, open-conduit init")
    elif run_as.needs_keyring(account):
        lines.append(
            "The config refers to a keyring, which a service of the system cannot "
            f"open: as {name},\nstore those secrets again with open-conduit "
            "secret set NAME, in a login without a desktop."
        )
    lines += [
        f"Written: {run_as.file}",
        "Now say: systemctl enable conduck && systemctl restart conduck",
    ]
    click.echo("\n".join(lines))


def _engines(plan: Plan) -> str:
    found = plan.found.engines
    if not found:
        return "No engine that this version knows was found there."
    named = ", ".join(f"{name} ({place})" for name, place in found.items())
    return f"Engines that were found: {named}"


def _reset(run_as: RunAs) -> None:
    if not run_as.reset():
        click.echo(f"The service runs as {USER} already.")
        return
    click.echo(
        f"The service runs as {USER} from its next start on; who joined the group "
        f"{USER} is still in it.\nNow say: systemctl restart conduck"
    )
