"""``open-conduit pair``: the code that the app scans."""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from conduck_service.base.jsonio import JsonValue
from conduck_service.cli.options import (
    config_option,
    data_dir_option,
    json_option,
    places,
)
from conduck_service.cli.output import EXIT_REFUSED, print_json
from conduck_service.cli.pair.showing import Destination, check_destination, show
from conduck_service.cli.pair.trying import try_addresses
from conduck_service.cli.pair.wanted import (
    Problem,
    ProblemsError,
    Wanted,
    checked_request,
    wanted,
)
from conduck_service.cli.progress import safe
from conduck_service.doctor.opening import open_context
from conduck_service.doctor.run import NOT_MADE, Row
from conduck_service.pairing.address import Reach
from conduck_service.pairing.code import KEPT_NAME, TRANSPORTS, SetupCode, check_name
from conduck_service.pairing.picture import Picture
from conduck_service.pairing.refusal import RefusedError

_FILE = click.Path(dir_okay=False, path_type=Path)
_REACH = {
    Reach.NETWORK: "only a device in the same network reaches {url}",
    Reach.MACHINE: "only an app on this very machine reaches {url}",
}
_PLAIN = "; what is said is not encrypted on its way there"


@click.command("pair")
@click.option("--url", required=True, help="The address of chat, as the app has it.")
@click.option("--files-url", default="", help="That of the file lane, if any.")
@click.option("--scope", default="", metavar="ID", help="Where several have chat.")
@click.option("--name", help="How the app calls it; else the name of this machine.")
@click.option("--model", default="", metavar="ID", help="What the app is to choose.")
@click.option(
    "--transport",
    type=click.Choice(TRANSPORTS),
    help="A hint for the app about the front; else guessed from the address.",
)
@click.option("--png", type=_FILE, help="Put the picture into a new file.")
@click.option("--svg", type=_FILE, help="The same, as SVG.")
@click.option("--text", is_flag=True, help="Print the code itself, to be pasted.")
@click.option("--force", is_flag=True, help="Replace files that are there.")
@click.option("--turn", is_flag=True, help="Also ask for a turn; may cost tokens.")
@click.option("--no-check", is_flag=True, help="Do not ask the addresses.")
@config_option
@data_dir_option
@json_option
def command(
    *, config: str | None, data_dir: str | None, as_json: bool, **asked: Any
) -> None:
    """Show the setup code as a picture that the app scans.

    It holds the token and the password: whoever sees it can use the agent. The
    addresses are asked first whether they lead to the service. The status is 1 when
    there is no code.
    """
    to = Destination(
        png=asked["png"],
        svg=asked["svg"],
        is_seen=not (asked["png"] or asked["svg"] or asked["text"] or as_json),
        may_replace=asked["force"],
    )
    try:
        made, rows = _made(to, config, data_dir, as_json, **asked)
    except ProblemsError as error:
        _refuse(error.problems, as_json)
    except RefusedError as error:
        _refuse([Problem("", error)], as_json)
    notes = _notes(made)
    if as_json:
        print_json(_report(made, rows, to, notes, asked["text"]))
        return
    if asked["text"]:
        click.echo(made.code.text())
    for note in notes:
        click.echo(f"note: {safe(note)}", err=True)
    click.echo(
        "Whoever has this code can use the agent; show it to nobody else.", err=True
    )


def _made(
    to: Destination,
    config: str | None,
    data_dir: str | None,
    as_json: bool,
    **asked: Any,
) -> tuple[Wanted, list[Row]]:
    """Make the code, try its addresses and show it.

    Raises:
        ProblemsError, RefusedError: There is none.
    """
    request = checked_request(
        url=asked["url"],
        files_url=asked["files_url"],
        name=_machine() if asked["name"] is None else asked["name"],
        scope=asked["scope"],
        model=asked["model"],
        transport=asked["transport"] or "",
    )
    where = places(config, data_dir)
    context = open_context(
        where.config,
        where.state,
        where.environment,
        may_resolve=True,
        may_turn=asked["turn"],
    )
    made = wanted(context, request)
    picture = Picture.of(made.code.text()) if to.needs_picture else None
    if picture:
        check_destination(to, picture, where.environment)
    rows = []
    if not asked["no_check"]:
        rows = try_addresses(context, made, is_quiet=as_json)
    if picture:
        show(to, picture)
    return made, rows


def _machine() -> str:
    """Return what the app calls the service unless a name is given."""
    try:
        return check_name(socket.gethostname().partition(".")[0])
    except RefusedError:
        return "Conduck"


def _notes(made: Wanted) -> list[str]:
    """Return what is worth knowing about a code that is fine."""
    code = made.code
    notes = []
    for address in (code.chat, code.files):
        if address and address.reach in _REACH:
            note = _REACH[address.reach].format(url=address.text)
            is_plain = address.text.startswith("http:")
            is_open = is_plain and address.reach is Reach.NETWORK
            notes.append(note + _PLAIN * is_open)
    if len(code.name) > KEPT_NAME:
        notes.append(f"the app keeps {KEPT_NAME} characters of the name")
    if code.files is None:
        notes.append("without --files-url the code sets up chat and no files")
    return notes


def _refuse(problems: Sequence[Problem], as_json: bool) -> NoReturn:
    """Say why there is no code, and end with the status for that."""
    if as_json:
        listed: list[JsonValue] = [
            {
                "option": problem.about,
                "code": problem.refusal.code,
                "message": problem.refusal.reason,
                "remedy": problem.refusal.remedy,
            }
            for problem in problems
        ]
        print_json({"ok": False, "problems": listed})
    else:
        for problem in problems:
            about = f"{problem.about}: " if problem.about else ""
            refusal = problem.refusal
            line = f"{about}{refusal.code}: {refusal.reason}"
            click.echo(f"open-conduit: {safe(line)}", err=True)
            click.echo(f"       → {safe(refusal.remedy)}", err=True)
    sys.exit(EXIT_REFUSED)


def _report(
    made: Wanted, rows: Sequence[Row], to: Destination, notes: list[str], text: bool
) -> dict[str, JsonValue]:
    """Return what there is to say, with the code only where it was asked for."""
    code: SetupCode = made.code
    checks: list[JsonValue] = [
        {"check": row.check, "subject": row.subject, "message": row.message}
        for row in rows
        if row.code != NOT_MADE
    ]
    report: dict[str, JsonValue] = {
        "ok": True,
        "scope": made.chat.scope.id,
        "name": code.name,
        "url": code.chat.text,
        "files_url": code.files.text if code.files else None,
        "model": code.model or None,
        "transport": code.transport,
        "files": [str(path) for _option, path in to.files],
        "checks": checks,
        "notes": list(notes),
    }
    return {**report, "setup_code": code.text()} if text else report
