"""Programs of ``cmd:`` references, looked for without being run."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterable

from conduck_service.base.diagnostics import Diagnostic, Level, Pointer
from conduck_service.base.jsonio import JsonValue
from conduck_service.config.declared import Composed, entries, mapping
from conduck_service.domain.reference import COMMAND_PATH, Scheme
from conduck_service.extension.spec import Decoding

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_WORD = re.compile(r"[A-Za-z0-9_./+-]+")
_SHELL_WORDS = frozenset(
    {
        ".", ":", "[", "break", "case", "cd", "command", "continue", "echo", "eval",
        "exec", "exit", "export", "false", "for", "if", "printf", "pwd", "read",
        "readonly", "return", "set", "shift", "test", "times", "trap", "true",
        "ulimit", "umask", "unset", "until", "while",
    }
)  # fmt: skip
"""Words that the shell knows itself, whatever is installed."""


def check_commands(
    document: JsonValue, scopes: Iterable[Composed], into: Decoding
) -> None:
    """Warn about commands whose program is not there (B-SECRET-21).

    It is no error: it can be installed while the service runs.
    """
    holders = [*entries(document, "connections", ())]
    holders += [(item.at, item.value) for item in scopes]
    for at, holder in holders:
        for name, text in mapping(holder, "secret_refs").items():
            program = _program(text)
            if program and shutil.which(program, path=COMMAND_PATH) is None:
                into.problems.append(_warning((*at, "secret_refs", name)))


def _program(text: JsonValue) -> str:
    """Return the program that a command begins with, if that can be seen."""
    if not isinstance(text, str) or not text.startswith(f"{Scheme.CMD}:"):
        return ""
    try:
        words = shlex.split(text.partition(":")[2], comments=True)
    except ValueError:
        return ""  # the shell will say so
    names = [word for word in words if not _ASSIGNMENT.match(word)]
    if not names or names[0] in _SHELL_WORDS or not _WORD.fullmatch(names[0]):
        return ""
    return names[0]


def _warning(at: Pointer) -> Diagnostic:
    return Diagnostic(
        pointer=at,
        code="program_not_found",
        message="the program of the command is in none of the folders that are "
        f"searched for it: {COMMAND_PATH}",
        remedy="install it there, or write its absolute path",
        level=Level.WARNING,
    )
