"""What commands share: find the config, check it, say what is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from conduck_service.base.diagnostics import Diagnostic, Level
from conduck_service.config.check import check_document
from conduck_service.config.load import read
from conduck_service.config.paths import PathError
from conduck_service.domain.scope import Document
from conduck_service.extension.registry import Registry


@dataclass(frozen=True, slots=True)
class Loaded:
    """A config that was read: its document, if it can be used, and the findings.

    Attributes:
        document: What the daemon is built from; None if there is an error.
        problems: Every diagnostic.
        registry: The types that the document was checked with.
        hash: The hash of the candidate; empty if there is none.
    """

    document: Document | None
    problems: Sequence[Diagnostic]
    registry: Registry
    hash: str


def load(
    path: Path,
    registry: Registry,
    environment: Mapping[str, str],
    state: Path | None = None,
) -> Loaded:
    """Read and check a config file; nothing is run and nothing is resolved."""
    text = read(path)
    if isinstance(text, Diagnostic):
        return Loaded(None, [text], registry, "")
    checked = check_document(
        text,
        base=path.parent,
        registry=registry,
        environment=environment,
        state_dir=state,
    )
    return Loaded(checked.document, checked.problems, checked.registry, checked.hash)


def print_problems(path: Path, problems: Sequence[Diagnostic]) -> None:
    """Print each finding on a line of its own, on standard error."""
    subject = f"{path}: "
    for problem in problems:
        if problem.message.startswith(subject):  # the line begins with it already
            message = problem.message.removeprefix(subject)
            problem = replace(problem, message=message)  # noqa: PLW2901
        word = "warning: " if problem.level is Level.WARNING else ""
        click.echo(f"{click.format_filename(path)}: {word}{problem}", err=True)


def process_environment() -> dict[str, str]:
    """Return the variables of this process."""
    return dict(os.environ)


def starting_folder() -> Path:
    """Return the folder that relative paths of the command line start at.

    Raises:
        PathError: It has been removed.
    """
    try:
        return Path.cwd()
    except OSError:
        raise PathError(
            "the folder that this was started in is gone", "start it in another one"
        ) from None
