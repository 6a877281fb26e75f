"""Options that several commands have, and what they come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from conduck_service.cli.loading import process_environment, starting_folder
from conduck_service.cli.output import refuse
from conduck_service.config.paths import PathError, config_path, state_dir

F = TypeVar("F", bound=Callable[..., Any])


def _from_the_front(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    """Return an option's value, which may stand before the command as well."""
    if value is not None:
        return value
    found: str | None = context.find_root().params.get(parameter.name or "")
    return found


def config_option(command: F) -> F:
    """Add ``--config``; its value comes as ``config``, a text or None."""
    return click.option(
        "--config",
        "config",
        type=click.Path(readable=False),
        callback=_from_the_front,
        help="The config file.",
    )(command)


def data_dir_option(command: F) -> F:
    """Add ``--data-dir``; its value comes as ``data_dir``, a text or None."""
    return click.option(
        "--data-dir",
        "data_dir",
        type=click.Path(readable=False),
        callback=_from_the_front,
        help="The state directory.",
    )(command)


def json_option(command: F) -> F:
    """Add ``--json``; its value comes as ``as_json``."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print JSON on one line."
    )(command)


@dataclass(frozen=True, slots=True)
class Places:
    """Where the config file and the state are, as the options say.

    Attributes:
        config: The config file, which need not exist.
        state: The state directory; None if nothing says where it is and the
            command can do without.
        environment: Variables of the process.
    """

    config: Path
    state: Path | None
    environment: dict[str, str]


def places(config: str | None, data_dir: str | None = None) -> Places:
    """Return where things are; end the process when the config has no place.

    A state directory without a place is an error only where one was named: no
    shared folder may be nested with it (F-ROOT-16), and that is all that looking
    at a config needs it for.

    Keeps: B-PATH-06, B-PATH-07, B-PATH-21.
    """
    environment = process_environment()
    try:
        start = starting_folder()
        path = config_path(config, environment, start)
    except PathError as error:
        refuse(str(error))
    try:
        state = state_dir(data_dir, environment, start)
    except PathError as error:
        if data_dir is not None:
            refuse(str(error))
        state = None
    return Places(path, state, environment)
