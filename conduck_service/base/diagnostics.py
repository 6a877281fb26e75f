"""What is wrong with a document, where, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

Pointer = tuple[str | int, ...]
"""The way from the root of a document to a place in it."""


class Level(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One fault of a document; it never holds a value of the document.

    Attributes:
        pointer: Where the fault is.
        code: Stable word for programs, of the list in the errors reference.
        message: What is wrong, for people.
        remedy: What to do about it.
        level: Whether the document can be used in spite of it.
        line: Line in the file, from 1, when the text itself is broken, else 0.
        column: Column in the file, from 1, likewise.
    """

    pointer: Pointer
    code: str
    message: str
    remedy: str
    level: Level = Level.ERROR
    line: int = 0
    column: int = 0

    @property
    def place(self) -> str:
        """The pointer as text, such as ``scopes/0/bindings/1/config``.

        Steps are escaped as RFC 6901 says. A key may be anything, so what would
        end a line or steer a terminal is shown as its number.
        """
        return "/".join(map(_step, self.pointer))

    def __str__(self) -> str:
        where = [self.place] if self.place else []
        if self.line:
            where.append(f"line {self.line}, column {self.column}")
        where = where or ["(whole document)"]
        return f"{', '.join(where)}: {self.code}: {self.message}; {self.remedy}"


def _step(step: str | int) -> str:
    text = str(step).replace("~", "~0").replace("/", "~1")
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii")
        for sign in text
    )


MOST_NAMES = 200
"""Names among which the nearest one is looked for."""


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the diagnostics by pointer and code, each once."""

    def key(item: Diagnostic) -> tuple[list[tuple[int, int, str]], str, str]:
        steps = [
            (0, step, "") if isinstance(step, int) else (1, 0, step)
            for step in item.pointer
        ]
        return steps, item.code, item.message

    return sorted(set(diagnostics), key=key)


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Say whether any of them forbids using the document."""
    return any(item.level is Level.ERROR for item in diagnostics)


def suggest(name: str, known: Collection[str]) -> str:
    """Return a remedy for an unknown name: the nearest known one, or all.

    Of very many names none is told: looking for the nearest would take long.
    """
    if len(known) > MOST_NAMES:
        return "use one of those that are there"
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    if not known:
        return "remove it; nothing is allowed here"
    return "use one of " + ", ".join(sorted(known))
