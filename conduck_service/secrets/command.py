"""Values of ``cmd:`` references: what a command of the operator's prints."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from conduck_service.domain.reference import COMMAND_PATH
from conduck_service.secrets.bounded import TooMuchOutputError, run_bounded
from conduck_service.secrets.source import SecretCode, SourceError, is_usable

SECONDS = 10.0
"""How long a command may take (B-SECRET-13)."""

OUTPUT_LIMIT = 1 << 16
"""Most bytes that it may print (B-SECRET-14)."""

_SHELL = "/bin/sh"
_NOT_FOUND = 127  # what every shell says of a program that it cannot find


def command_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of a command: PATH, HOME, USER, LOGNAME and LANG.

    Args:
        environment: The daemon's own, of which only HOME is taken.

    Keeps: B-SECRET-15, B-SECRET-16, B-SECRET-17.
    """
    try:
        account = pwd.getpwuid(os.geteuid())
    except KeyError:  # a container whose user has no name
        user, home = str(os.geteuid()), "/"
    else:
        user, home = account.pw_name, account.pw_dir
    return {
        "PATH": COMMAND_PATH,
        "HOME": environment.get("HOME") or home,
        "USER": user,
        "LOGNAME": user,
        "LANG": "C.UTF-8",
    }


def command_value(command: str, *, folder: Path, environment: Mapping[str, str]) -> str:
    """Run a command and return what it prints, less one line break at the end.

    Args:
        command: For ``sh -c``.
        folder: Where it starts: the config directory.
        environment: The daemon's own variables.

    Raises:
        SourceError: It gave no value.

    Keeps: B-SECRET-04, B-SECRET-12, B-SECRET-18, B-SECRET-23, B-SECRET-24,
    B-SECRET-26.
    """
    try:
        finished = run_bounded(
            (_SHELL, "-c", command),
            environment=command_environment(environment),
            folder=folder,
            seconds=SECONDS,
            limit=OUTPUT_LIMIT,
        )
    except TimeoutError:
        raise SourceError(
            SecretCode.COMMAND_TIMEOUT,
            f"make its command answer within {SECONDS:.0f} seconds, without questions",
        ) from None
    except TooMuchOutputError:
        raise SourceError(
            SecretCode.OUTPUT_TOO_LARGE,
            "make its command print the value alone, 64 KiB at most",
        ) from None
    except (OSError, ValueError):
        raise _failed("look whether the service can start programs") from None
    if finished.status == _NOT_FOUND:
        raise SourceError(
            SecretCode.COMMAND_NOT_FOUND,
            "install its program, or name it by its whole path; these folders were "
            f"searched: {COMMAND_PATH}",
        )
    if finished.status:
        raise _failed("run its command by hand, as the user of the service")
    return _text(finished.output)


def _text(output: bytes) -> str:
    try:
        value = output.decode()
    except UnicodeDecodeError:
        value = "\0"
    if not is_usable(value):
        raise _failed("make its command print text in UTF-8, without NUL")
    return without_line_break(value)


def without_line_break(value: str) -> str:
    r"""Return a text less one ``\n`` or ``\r\n`` at its end."""
    return (
        value.removesuffix("\r\n") if value[-2:] == "\r\n" else value.removesuffix("\n")
    )


def _failed(remedy: str) -> SourceError:
    return SourceError(SecretCode.COMMAND_FAILED, remedy)
