"""``open-conduit config check``: all that is wrong with a config file."""

from __future__ import annotations

import sys

import click

from conduck_service.base.diagnostics import Diagnostic
from conduck_service.base.jsonio import JsonValue
from conduck_service.cli.loading import load, print_problems
from conduck_service.cli.options import (
    config_option,
    data_dir_option,
    json_option,
    places,
)
from conduck_service.cli.output import EXIT_REFUSED, print_json
from conduck_service.daemon.registry import build_registry


@click.command("check")
@click.argument("file", required=False, type=click.Path(readable=False))
@config_option
@data_dir_option
@json_option
def command(
    file: str | None, config: str | None, data_dir: str | None, as_json: bool
) -> None:
    """Say everything that is wrong with FILE, or with the config in use.

    Nothing is run, no secret is resolved and nothing goes over the network. The hash
    of a valid config is that of what it means, with every default written out.
    """
    where = places(file if file is not None else config, data_dir)
    registry = build_registry(where.environment)
    loaded = load(where.config, registry, where.environment, where.state)
    is_valid = loaded.document is not None
    if as_json:
        rows = [_row(problem) for problem in loaded.problems]
        answer = {"valid": is_valid, "problems": rows}
        print_json(answer | ({"hash": loaded.hash} if is_valid else {}))
    else:
        print_problems(where.config, loaded.problems)
        if is_valid:
            name = click.format_filename(where.config)
            click.echo(f"{name}: the config is valid (secrets were not looked at)")
            click.echo(f"{name}: {loaded.hash}")
    if not is_valid:
        sys.exit(EXIT_REFUSED)


def _row(problem: Diagnostic) -> dict[str, JsonValue]:
    row: dict[str, JsonValue] = {
        "level": problem.level.value,
        "path": problem.place,
        "code": problem.code,
        "message": problem.message,
        "remedy": problem.remedy,
    }
    if problem.line:
        row |= {"line": problem.line, "column": problem.column}
    return row
