"""How commands speak: data on standard output, everything else on standard error."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import NoReturn

import click

from conduck_service.base.jsonio import JsonValue

EXIT_REFUSED = 1
"""A check failed, or what was asked for was refused."""

_STANDARD_OUTPUT = 1

_PACKAGE = Path(__file__).parents[1]


def refuse(message: str) -> NoReturn:
    """Say why nothing was done, and end with the status for that."""
    click.echo(f"open-conduit: {message}", err=True)
    sys.exit(EXIT_REFUSED)


def print_json(value: JsonValue, *, indent: int | None = None) -> None:
    """Print a value as JSON: on one line, or for eyes."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    # A half of a pair has no form in UTF-8; as an escape it is JSON all the same.
    click.echo(text.encode("utf-8", "backslashreplace"))


def _drop_output() -> None:
    """Let what could not be printed go nowhere; it would be tried again at the end."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STANDARD_OUTPUT)


def report_fault(
    kind: type[BaseException], error: BaseException, stack: TracebackType | None
) -> None:
    """Say that the program failed, without a text that could hold content.

    It is for ``sys.excepthook``. What it names is enough to report the fault.
    """
    if issubclass(kind, KeyboardInterrupt):
        return
    if isinstance(error, OSError) and error.strerror:
        click.echo(f"open-conduit: {error.strerror}", err=True)
        _drop_output()
        return
    if issubclass(kind, RecursionError):
        click.echo(
            "open-conduit: the file is nested too deeply; make it flatter", err=True
        )
        return
    frames = [
        f"{Path(frame.filename).relative_to(_PACKAGE)}:{frame.lineno}"
        for frame in traceback.extract_tb(stack)
        if Path(frame.filename).is_relative_to(_PACKAGE)
    ]
    where = f" at {frames[-1]}" if frames else ""
    click.echo(
        f"open-conduit: this is a fault of the program ({kind.__name__}{where}); "
        "please report it with the command that was called",
        err=True,
    )
