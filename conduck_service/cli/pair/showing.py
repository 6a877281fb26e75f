"""Where a code goes: to the eyes in front of a terminal, or where it was asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from conduck_service.cli.pair.wanted import Problem, ProblemsError
from conduck_service.pairing.picture import Picture
from conduck_service.pairing.refusal import RefusedError
from conduck_service.pairing.saving import file_there, save

_ELSEWHERE = "name a file with --png or --svg, or take the code with --text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where the code is to go.

    Attributes:
        png: A new file for the picture.
        svg: The same in the other format.
        is_seen: Whether the picture goes to the terminal.
        may_replace: Whether files that are there may be replaced.
    """

    png: Path | None
    svg: Path | None
    is_seen: bool
    may_replace: bool

    @property
    def files(self) -> list[tuple[str, Path]]:
        """The files that are wanted, with their options."""
        found = [("--png", self.png), ("--svg", self.svg)]
        return [(option, path) for option, path in found if path is not None]

    @property
    def needs_picture(self) -> bool:
        """Whether there is to be a picture at all."""
        return self.is_seen or bool(self.files)


def check_destination(
    to: Destination, picture: Picture, environment: Mapping[str, str]
) -> None:
    """Refuse early what would be refused in the end.

    Raises:
        ProblemsError: The terminal cannot show the picture, or a file is there.
    """
    if to.is_seen:
        try:
            _check_terminal(picture, environment)
        except RefusedError as error:
            raise ProblemsError(Problem("", error)) from None
    there = [
        Problem(option, file_there())
        for option, path in to.files
        if os.path.lexists(path) and not to.may_replace
    ]
    if there:
        raise ProblemsError(*there)


def _check_terminal(picture: Picture, environment: Mapping[str, str]) -> None:
    # The code opens the service, and what takes the output of a program may keep
    # it: a log, a journal, a file that others can read.
    if not sys.stdout.isatty():
        raise RefusedError(
            "no_terminal", "standard output is no terminal, and may be kept", _ELSEWHERE
        )
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    if environment.get("TERM", "dumb") == "dumb" or encoding != "utf8":
        raise RefusedError(
            "terminal_plain", "this terminal shows no picture", _ELSEWHERE
        )
    columns = _columns()
    if picture.within(columns) is None:
        raise RefusedError(
            "terminal_narrow",
            f"the terminal has {columns} columns and the picture has {picture.columns}",
            f"make it wider or its letters smaller; or {_ELSEWHERE}",
        )


def _columns() -> int:
    """Return the columns of the terminal, very many when it does not know them."""
    return os.get_terminal_size(sys.stdout.fileno()).columns or sys.maxsize


def show(to: Destination, picture: Picture) -> None:
    """Put the picture where it was asked for.

    Raises:
        ProblemsError: A file cannot be written.
    """
    for option, path in to.files:
        data = picture.png() if option == "--png" else picture.svg()
        try:
            save(path, data, replace=to.may_replace)
        except RefusedError as error:
            raise ProblemsError(Problem(option, error)) from None
    if to.is_seen:
        fitting = picture.within(_columns()) or picture
        for line in fitting.in_terminal():
            click.echo(line)
        _say_when_cut(fitting)


def _say_when_cut(picture: Picture) -> None:
    lines = os.get_terminal_size(sys.stdout.fileno()).lines
    if 0 < lines <= picture.lines:
        click.echo(
            f"The picture has {picture.lines} lines and the terminal {lines}: make it "
            "higher or its letters smaller, so that all of it is seen at once.",
            err=True,
        )
