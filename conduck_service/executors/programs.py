"""Whether the program of an engine is there, as a warning before it is needed."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from conduck_service.base.diagnostics import Diagnostic, Level
from conduck_service.domain.scope import Binding
from conduck_service.executors.command_settings import CommandConfig
from conduck_service.executors.environment import engine_path
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
    program = config.argv[0]
    path = engine_path(environment, binding.pass_env, config.env)
    if into.look_up(("program", program, path), lambda: _is_there(program, path)):
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


def _is_there(program: str, path: str) -> bool:
    # The engine is looked for as it is at its start: never in a relative folder.
    folders = [folder for folder in path.split(":") if folder.startswith("/")]
    return shutil.which(program, path=":".join(folders)) is not None
