"""Asks the addresses of a code from this machine, before anybody scans it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from conduck_service.cli.pair.wanted import Problem, ProblemsError, Wanted
from conduck_service.cli.progress import progress, safe
from conduck_service.doctor.checks.public import PUBLIC
from conduck_service.doctor.context import DoctorContext, Public
from conduck_service.doctor.finding import Level
from conduck_service.doctor.run import NOT_MADE, Area, Row, examine
from conduck_service.pairing.refusal import RefusedError

_AREAS: tuple[Area[Any], ...] = (PUBLIC,)
_NEEDED = {"public.answer", "public.pass", "public.body"}
"""Without these nothing is known about an address."""


def try_addresses(
    context: DoctorContext, wanted: Wanted, *, is_quiet: bool
) -> list[Row]:
    """Return what came of the checks; each is shown on standard error.

    Raises:
        ProblemsError: An address does not lead to the service, or nobody can tell.
    """
    code = wanted.code
    public = Public(
        chat=code.chat.text,
        lane=code.files.text if code.files else "",
        scope=wanted.chat.scope.id,
    )
    asked = replace(context, public=public)
    rows: list[Row] = []
    with progress(is_quiet=is_quiet) as begin:
        for row in examine(asked, _AREAS, begin):
            shown = _clean(row, context.redactor.clean)
            rows.append(shown)
            if not is_quiet:
                _print(shown)
    _judge(rows)
    return rows


def _judge(rows: list[Row]) -> None:
    failed = [row for row in rows if row.level is Level.FAIL]
    if failed:
        raise ProblemsError(*map(_failure, failed))
    unknown = [row for row in rows if row.code == NOT_MADE and row.check in _NEEDED]
    for row in unknown:
        refusal = RefusedError(
            "not_checked",
            f"the address could not be checked: {row.message.partition(': ')[2]}",
            "start the service and call this again, or add --no-check",
        )
        raise ProblemsError(Problem(_option(row), refusal))


def _failure(row: Row) -> Problem:
    remedy = f"{row.remedy}; --no-check makes the code all the same"
    return Problem(_option(row), RefusedError(row.code, row.message, remedy))


def _option(row: Row) -> str:
    return "--url" if row.subject == "public/chat" else "--files-url"


def _clean(row: Row, redacted: Callable[[str], str]) -> Row:
    return replace(
        row,
        message=safe(redacted(row.message)),
        remedy=safe(redacted(row.remedy)),
    )


def _print(row: Row) -> None:
    if row.level is Level.OK:
        word = click.style("ok  ", fg="green")
        click.echo(f"{word} {row.subject}: {row.message}", err=True)
