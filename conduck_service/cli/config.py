"""``open-conduit config``: look at a config file without running anything."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from conduck_service.base.diagnostics import Diagnostic
from conduck_service.cli.loading import (
    load,
    print_problems,
    process_environment,
    starting_folder,
)
from conduck_service.cli.main import EXIT_REFUSED
from conduck_service.config.paths import PathError, config_path, state_dir
from conduck_service.daemon import build_registry


@click.group("config")
def command() -> None:
    """Look at the config file."""


@command.command("check")
@click.argument("file", required=False, type=click.Path(readable=False))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(file: str | None, as_json: bool) -> None:
    """Say everything that is wrong with FILE, or with the default config.

    Nothing is run, no secret is resolved and nothing goes over the network.
    """
    environment = process_environment()
    try:
        path = config_path(file, environment, starting_folder())
    except PathError as error:
        sys.exit(str(error))
    loaded = load(
        path, build_registry(environment), environment, _usual_state(environment)
    )
    if as_json:
        rows = [_row(problem) for problem in loaded.problems]
        click.echo(json.dumps({"valid": loaded.document is not None, "problems": rows}))
    else:
        print_problems(path, loaded.problems)
        if loaded.document is not None:
            name = click.format_filename(path)
            click.echo(f"{name}: the config is valid (secrets were not looked at)")
    if loaded.document is None:
        sys.exit(EXIT_REFUSED)


def _usual_state(environment: Mapping[str, str]) -> Path | None:
    """Return the state directory of a ``serve`` without options, if there is one.

    No shared folder may be nested with it (F-ROOT-16).
    """
    try:
        return state_dir(None, environment, starting_folder())
    except PathError:
        return None


def _row(problem: Diagnostic) -> dict[str, str | int]:
    row: dict[str, str | int] = {
        "level": problem.level.value,
        "path": problem.place,
        "code": problem.code,
        "message": problem.message,
        "remedy": problem.remedy,
    }
    if problem.line:
        row |= {"line": problem.line, "column": problem.column}
    return row
