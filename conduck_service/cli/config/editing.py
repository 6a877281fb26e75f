"""What the commands share that change a config file."""

from __future__ import annotations

from collections.abc import Callable

import click

from conduck_service.base.diagnostics import Diagnostic, has_errors
from conduck_service.base.jsonio import JsonValue
from conduck_service.cli.config.reading import give_up
from conduck_service.cli.loading import print_problems
from conduck_service.cli.options import Places
from conduck_service.cli.output import refuse
from conduck_service.config.check import check_document
from conduck_service.config.edit import Check, Edit, EditRefusedError
from conduck_service.config.pointer import PointerError
from conduck_service.daemon.registry import build_registry


def checker(where: Places) -> Check:
    """Return what checks a text in the place of the config, as the daemon would."""
    registry = build_registry(where.environment)

    def check(text: str) -> list[Diagnostic]:
        checked = check_document(
            text,
            base=where.config.parent,
            registry=registry,
            environment=where.environment,
            state_dir=where.state,
        )
        return list(checked.problems)

    return check


def change(where: Places, alter: Callable[[JsonValue], None]) -> None:
    """Change the config file, or say all that is wrong and leave it as it is.

    Args:
        where: Where it is.
        alter: Changes the parsed value in place; may raise PointerError.

    Keeps: B-CLI-05, B-CLI-09.
    """
    check = checker(where)
    try:
        with Edit.open(where.config) as edit:
            alter(edit.value)
            is_changed = edit.is_changed
            problems = edit.save(check)
    except EditRefusedError as error:
        give_up(where.config, [error.problem])
    except PointerError as error:
        refuse(f"{click.format_filename(where.config)}: {error}")
    if has_errors(problems):
        if has_errors(check(edit.text)):
            click.echo(
                "open-conduit: the file had mistakes before this change, and no change "
                "of one place mends them all; mend them together, in an editor",
                err=True,
            )
        give_up(where.config, problems)
    print_problems(where.config, problems)
    name = click.format_filename(where.config)
    if is_changed:
        click.echo(f"{name}: saved; the service uses it from its next start on")
    else:
        click.echo(f"{name}: nothing was to be changed")
