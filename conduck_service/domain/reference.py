"""Where the value of a secret is kept; the value itself is never in here."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum

from conduck_service.base.ids import is_name

COMMAND_PATH = (
    "/usr/bin:/bin:/usr/sbin:/sbin:"
    "/opt/homebrew/bin:/usr/local/bin:/home/linuxbrew/.linuxbrew/bin"
)
"""Where the programs of ``cmd:`` references are looked for (B-SECRET-16)."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Scheme(StrEnum):
    """The four places that a secret can be kept in."""

    KEYRING = "keyring"
    FILE = "file"
    ENV = "env"
    CMD = "cmd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A parsed secret reference.

    Its target may be a command with a password in it, so it stays out of
    ``repr`` and ``str``.

    Attributes:
        scheme: The kind of place.
        target: What is looked up there: a name, a variable or a command.
    """

    scheme: Scheme
    target: str = field(repr=False)


def parse_reference(text: str) -> Reference:
    """Return the reference that a text of the config stands for.

    Raises:
        ValueError: It is none; the message says what is wanted and repeats
            nothing of the text.

    Keeps: B-SECRET-05, B-SECRET-06, B-SECRET-07, B-SECRET-08, B-SECRET-09,
    B-SECRET-10.
    """
    scheme, colon, target = text.partition(":")
    if not colon or scheme not in list(Scheme):
        raise ValueError("write keyring:NAME, file:NAME, env:NAME or cmd:COMMAND")
    found = Reference(scheme=Scheme(scheme), target=target)
    if found.scheme is Scheme.CMD:
        if not target.strip() or "\0" in target:
            raise ValueError("write a command after cmd:")
        return found
    if found.scheme is Scheme.ENV:
        if not _VARIABLE.fullmatch(target):
            raise ValueError("write letters, digits and _ after env:, no digit first")
        return found
    if not is_name(target):
        raise ValueError(
            f"write 1 to 63 of a-z, 0-9, _ and - after {found.scheme}:, a letter first"
        )
    return found
