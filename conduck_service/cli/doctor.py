"""``open-conduit doctor``: what is wrong, and what to do about it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

import click

from conduck_service.base.jsonio import JsonValue
from conduck_service.cli.options import (
    config_option,
    data_dir_option,
    json_option,
    places,
)
from conduck_service.cli.output import EXIT_REFUSED, print_json
from conduck_service.cli.progress import progress, safe
from conduck_service.doctor.areas import AREAS
from conduck_service.doctor.context import Public
from conduck_service.doctor.finding import Level
from conduck_service.doctor.opening import open_context
from conduck_service.doctor.run import NOT_MADE, Row, examine

_COLOURS = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "red"}


def _address(_context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Refuse what cannot be asked; a path in front of ours is fine."""
    try:
        parts = urlsplit(value)
        is_good = parts.port is None or parts.port > 0
    except ValueError:
        is_good = False
    if value and not (is_good and parts.scheme in {"http", "https"} and parts.hostname):
        raise click.BadParameter(
            "write http:// or https:// and a host", param=parameter
        )
    return value.rstrip("/")


@click.command("doctor")
@click.option(
    "--check-secrets",
    is_flag=True,
    help="Ask for the secrets too, and sign in with them.",
)
@click.option(
    "--turn",
    is_flag=True,
    help="Ask every model for real turns; includes --check-secrets and may cost "
    "tokens.",
)
@click.option(
    "--address",
    default="",
    callback=_address,
    help="The public address of chat, as the app has it.",
)
@click.option(
    "--files-address",
    default="",
    callback=_address,
    help="The public address of the file lane.",
)
@config_option
@data_dir_option
@json_option
def command(
    *,
    check_secrets: bool,
    turn: bool,
    address: str,
    files_address: str,
    config: str | None,
    data_dir: str | None,
    as_json: bool,
) -> None:
    """Look for everything that is wrong, with the service running or not.

    Nothing is changed; what a trial of the file lane makes is removed again. The
    status is 1 when a line says fail.
    """
    where = places(config, data_dir)
    context = open_context(
        where.config,
        where.state,
        where.environment,
        may_resolve=check_secrets,
        may_turn=turn,
        public=Public(chat=address, lane=files_address),
    )
    rows: list[Row] = []
    with progress(is_quiet=as_json) as begin:
        for row in examine(context, AREAS, begin):
            shown = _clean(row, context.redactor.clean)
            rows.append(shown)
            if not as_json and row.code != NOT_MADE:
                _print(shown)
    if as_json:
        print_json(_report(rows))
    else:
        click.echo(_summary(rows))
    if any(row.level is Level.FAIL for row in rows):
        sys.exit(EXIT_REFUSED)


def _clean(row: Row, redacted: Callable[[str], str]) -> Row:
    return replace(
        row,
        subject=safe(row.subject),
        message=safe(redacted(row.message)),
        remedy=safe(redacted(row.remedy)),
    )


def _print(row: Row) -> None:
    level = click.style(f"{row.level.value:4}", fg=_COLOURS.get(row.level))
    about = f" {row.subject}" if row.subject else ""
    code = "" if row.level is Level.OK else f" {row.code}:"
    click.echo(f"{level} {row.check}{about}:{code} {row.message}")
    if row.remedy:
        click.echo(f"       → {row.remedy}")


def _summary(rows: Sequence[Row]) -> str:
    counts = Counter(row.level for row in rows if row.code != NOT_MADE)
    words = [f"{counts[level]} {level.value}" for level in Level]
    skipped = [row for row in rows if row.code == NOT_MADE]
    text = ", ".join(words)
    if skipped:
        reasons = Counter(row.message.partition(": ")[2] for row in skipped)
        listed = "; ".join(f"{count}: {why}" for why, count in reasons.items())
        text += f"; not looked at {listed}"
    return text


def _report(rows: Sequence[Row]) -> dict[str, JsonValue]:
    counts = Counter(row.level.value for row in rows)
    listed: list[JsonValue] = [
        {
            "check": row.check,
            "subject": row.subject,
            "level": row.level.value,
            "code": row.code,
            "message": row.message,
            "remedy": row.remedy,
        }
        for row in rows
    ]
    return {
        "ok": not counts[Level.FAIL.value],
        "counts": {level.value: counts[level.value] for level in Level},
        "checks": listed,
    }
