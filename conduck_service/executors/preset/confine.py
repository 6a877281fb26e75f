"""How far an engine of a preset reaches: the system holds it, or its own sandbox."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from conduck_service.base.processes import Confinement
from conduck_service.executors.confinement.policy import confinement
from conduck_service.executors.confinement.programs import program_paths
from conduck_service.executors.preset.frame import Preset, Within
from conduck_service.executors.preset.home import TurnHome, parts_of
from conduck_service.executors.preset.settings import PresetConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The bounds of an engine.

    Attributes:
        arguments: With which it is told its policy.
        confinement: In which the system holds it; None without one, and for an
            engine that has a sandbox of its own.
    """

    arguments: tuple[str, ...]
    confinement: Confinement | None


def bounds_of(
    preset: Preset,
    config: PresetConfig,
    *,
    home: TurnHome,
    folders: tuple[Path, Path],
    environment: Mapping[str, str],
    person: str | None,
) -> Bounds:
    """Return the bounds of one turn.

    Args:
        preset: Of the engine.
        config: Of its binding.
        home: Of the turn.
        folders: The working folder and the turn's private one.
        environment: The engine's.
        person: The home of the user who runs the service.

    Raises:
        ConfinementError: The engine has to be confined, and cannot be.
        OSError: A part of the person's home cannot be made.
    """
    arguments = preset.policies[config.policy].arguments
    command = config.command
    argv = (config.program, *config.arguments)
    if preset.own_sandbox is not None:
        if command.confine == "off":
            return Bounds(arguments=arguments, confinement=None)
        own = program_paths(argv, environment.get("PATH", os.defpath), person)
        within = Within(
            policy=config.policy,
            read=(*sorted(own), *command.confine_read),
            write=(home.temporary, *command.confine_write),
        )
        return Bounds(arguments=preset.own_sandbox(within), confinement=None)
    parts = list(parts_of(preset, Path(person) if person else None))
    wanted = command.confinement
    limits = confinement(
        dataclasses.replace(
            wanted,
            read=(*wanted.read, *(path for part, path in parts if not part.writes)),
            write=(*wanted.write, *(path for part, path in parts if part.writes)),
        ),
        argv=argv,
        environment=environment,
        home=person,
        folders=folders,
    )
    return Bounds(arguments=arguments, confinement=limits)
