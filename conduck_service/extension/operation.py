"""What running engines can be allowed to call, by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A registered operation of the toolbelt.

    Attributes:
        name: Dotted name, such as ``work.create``.
        doc: One sentence that says what it does.
    """

    name: str
    doc: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolset:
    """A name for several operations; config writes it as ``@name``."""

    name: str
    operations: tuple[str, ...]
