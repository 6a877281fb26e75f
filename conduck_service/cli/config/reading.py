"""What the commands share that read a config file as JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

from conduck_service.base.diagnostics import Diagnostic
from conduck_service.base.jsonio import JsonError, JsonValue, parse
from conduck_service.cli.loading import print_problems
from conduck_service.cli.output import EXIT_REFUSED
from conduck_service.config.load import read
from conduck_service.config.syntax import explained


def read_value(path: Path) -> JsonValue:
    """Return what a config file holds; end the process if it cannot be read."""
    text = read(path)
    if isinstance(text, Diagnostic):
        give_up(path, [text])
    try:
        return parse(text)
    except JsonError as error:
        give_up(path, [explained(text, error)])


def give_up(path: Path, problems: list[Diagnostic]) -> NoReturn:
    """Say what is wrong with a config, and end with the status for that."""
    print_problems(path, problems)
    sys.exit(EXIT_REFUSED)
