"""Engines that ``init`` can set up: found by their executors, or named as a program."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from conduck_service.executors.presets import PRESETS
from conduck_service.extension.executor import ConfigObject, Found
from conduck_service.extension.registry import Registry

COMMAND = "command"
"""The executor of a program that is named."""

_BEGINNINGS = (
    b"#!",
    b"\x7fELF",
    b"\xca\xfe\xba\xbe",
    *(bytes.fromhex(word) for word in ("feedface", "feedfacf", "cefaedfe", "cffaedfe")),
)
"""How a file begins that the system can start: scripts, and programs of Linux and
macOS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """An engine for the first binding.

    Attributes:
        executor: Registered executor that runs it.
        label: What people call it.
        program: Its program.
        config: Of its binding.
    """

    executor: str
    label: str
    program: Path
    config: ConfigObject

    @property
    def name(self) -> str:
        """An identifier made from the label: names the model."""
        name = re.sub(r"[^a-z0-9_-]+", "-", self.label.lower()).strip("-")
        return name[:63] if re.match("[a-z]", name) else "agent"

    @property
    def is_preset(self) -> bool:
        """Whether it is one of the ready-made engines."""
        return any(preset.name == self.executor for preset in PRESETS)

    def with_arguments(self, arguments: Sequence[str]) -> Engine:
        """Return this ready-made engine with more arguments."""
        return replace(self, config={**self.config, "arguments": list(arguments)})


def find_engines(registry: Registry, environment: Mapping[str, str]) -> list[Engine]:
    """Return the engines that the registered executors find on this machine."""
    engines = []
    for name, executor in sorted(registry.executors.items()):
        if executor.find is None:
            continue
        try:
            engine = _found(name, executor.find(environment))
        except Exception as error:  # a package's code may raise anything
            click.echo(
                f"open-conduit: executor {name} could not look for its engine "
                f"({type(error).__name__})",
                err=True,
            )
            continue
        if engine is not None:
            engines.append(engine)
    return engines


def _found(executor: str, found: Found | None) -> Engine | None:
    if found is None:
        return None
    return Engine(
        executor=executor,
        label=found.label,
        program=found.program,
        config=found.config,
    )


def engine_of(
    argv: Sequence[str], start: Path, environment: Mapping[str, str]
) -> Engine:
    """Return the engine that a program with its arguments is.

    Args:
        argv: The program, as a path with a slash in it or a name on PATH, and its
            arguments.
        start: Folder that a relative path starts at.
        environment: Variables of the process.

    Raises:
        click.UsageError: There is no such program, or it cannot be started.
    """
    program = _program(argv[0], start, environment.get("PATH", os.defpath))
    fault = _fault(program)
    if fault:
        raise click.UsageError(f"{click.format_filename(program)}: {fault}")
    return Engine(
        executor=COMMAND,
        label=program.stem,
        program=program,
        # The whole path: the service may be started with another PATH.
        config={"argv": [str(program), *argv[1:]]},
    )


def _program(word: str, start: Path, path: str) -> Path:
    if "/" in word:
        return Path(os.path.normpath(start / Path(word).expanduser()))
    found = shutil.which(word, path=path) if word else None
    if found is None:
        for preset in PRESETS:
            if word == preset.name:
                raise click.UsageError(
                    f"{preset.label} is not installed: its program {preset.program} "
                    "is not on PATH; install it, or add its folder to PATH"
                )
        remedy = "name its path, or install it"
        if word and (start / word).is_file():
            remedy = f"write ./{word} for the file in this folder"
        raise click.UsageError(f"there is no program of this name on PATH; {remedy}")
    return start / found


def _fault(program: Path) -> str:
    """Return why a program cannot be started, and what to do about it, or nothing."""
    if not program.exists():
        return "there is no such program; name another, or make it"
    if not program.is_file():
        return "it is not a program; name a file"
    if not os.access(program, os.X_OK):
        return "it is not executable; chmod +x makes it so"
    try:
        with program.open("rb") as file:
            beginning = file.read(4)
    except OSError:
        return ""  # a program that can be run and not be read
    if not beginning.startswith(_BEGINNINGS):
        return (
            "the system cannot start it; begin a script with a line such as #!/bin/sh"
        )
    return ""
