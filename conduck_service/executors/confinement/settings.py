"""The keys that confine an engine to some files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from conduck_service.base.processes import Missing, find_mechanism
from conduck_service.domain.scope import Scope
from conduck_service.extension.kinds import Choice, FilePath, ListOf
from conduck_service.extension.spec import Decoding, Field

CONFINE = Field(
    name="confine",
    kind=Choice(("off", "auto", "required")),
    default="off",
    doc="Whether the engine reaches no files but those of its work: never, where "
    "the machine can do it, or always, so that it does not start without.",
    shown=True,
)
CONFINE_READ = Field(
    name="confine_read",
    kind=ListOf(FilePath()),
    default=(),
    doc="More files and folders that a confined engine may read and run.",
)
CONFINE_WRITE = Field(
    name="confine_write",
    kind=ListOf(FilePath()),
    default=(),
    doc="More folders in which a confined engine may also write.",
)
CONFINE_FIELDS = (CONFINE, CONFINE_READ, CONFINE_WRITE)
"""In the order of the reference."""

_LISTS = ("confine_read", "confine_write")


def check_confinement(
    confine: str,
    lists: Sequence[Iterable[Path]],
    folder: Path | None,
    scope: Scope,
    into: Decoding,
) -> None:
    """Note when a binding wants a confinement that would not hold.

    Args:
        confine: The value of its key.
        lists: The paths of ``confine_read`` and ``confine_write``.
        folder: The working folder; None when the binding names none.
        scope: The scope that it is in.
        into: Takes the diagnostics; its base is the config directory.
    """
    if confine == "off":
        return
    if confine == "required" and isinstance(found := find_mechanism(), Missing):
        into.refuse(
            ("config", "confine"),
            "unsupported_capability",
            f"this machine cannot confine an engine: {found.why}",
            'install bubblewrap, or say "auto" and trust the engine with your files',
        )
    if scope.source is not None:
        return  # its base is a folder of work, not the one with our secrets
    for key, paths in zip(_LISTS, lists, strict=True):
        for index, path in enumerate(paths):
            if _holds(path, into.base):
                _refuse_holding(("config", key, index), into)
    if folder is not None and _holds(folder, into.base):
        _refuse_holding(("config", "cwd"), into)


def _holds(path: Path, inner: Path) -> bool:
    # Not Path.resolve, which raises for a loop of links before Python 3.13.
    outer, inner = Path(os.path.realpath(path)), Path(os.path.realpath(inner))
    return outer == inner or outer in inner.parents


def _refuse_holding(at: tuple[str | int, ...], into: Decoding) -> None:
    into.refuse(
        at,
        "invalid_config",
        "the config directory is in this folder, and the secrets with it",
        "name a folder that is only the engine's",
    )
