"""Whether the program of an engine is there, as a warning before it is needed."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from conduck_service.base.diagnostics import Diagnostic, Level
from conduck_service.domain.scope import Binding
from conduck_service.executors.command_settings import CommandConfig
from conduck_service.executors.environment import engine_environment
from conduck_service.extension.spec import Decoding


def check_program(
    binding: Binding, environment: Mapping[str, str], into: Decoding
) -> None:
    """Note a warning when the program cannot be started; nothing is run.

    It is no error: the program can be installed while the service runs, and one
    missing engine is no reason to keep the others from answering.

    Args:
        binding: A ``command`` binding.
        environment: The daemon's own variables.
        into: Takes the warning.
    """
    config: CommandConfig = binding.config
    passed = {
        name: environment[name] for name in binding.pass_env if name in environment
    }
    path = engine_environment(environment, passed, config.env, {})["PATH"]
    # The engine is looked for as it is at its start: never in a relative folder.
    folders = [folder for folder in path.split(":") if folder.startswith("/")]
    program, searched = config.argv[0], ":".join(folders)
    if into.look_up(
        ("program", program, searched),
        lambda: shutil.which(program, path=searched),
    ):
        return
    into.problems.append(
        Diagnostic(
            pointer=("config", "argv", 0),
            code="program_not_found",
            message="the program is not there, or cannot be executed",
            remedy="install it, or write its absolute path",
            level=Level.WARNING,
        )
    )
