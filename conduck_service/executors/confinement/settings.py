"""The keys that confine an engine to some files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from conduck_service.base.processes import Missing, find_mechanism
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
    into: Decoding,
) -> None:
    """Note when a binding wants a confinement that would not hold.

    Args:
        confine: The value of its key.
        lists: The paths of ``confine_read`` and ``confine_write``.
        folder: The working folder; None when the binding names none.
        into: Takes the diagnostics, and knows what is the service's own.
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
    private = [_real(path) for path in into.private]
    for key, paths in zip(_LISTS, lists, strict=True):
        for index, path in enumerate(map(_real, paths)):
            if any(_holds(path, own) or _holds(own, path) for own in private):
                _refuse_private(("config", key, index), into)
    if folder is not None and any(_holds(_real(folder), own) for own in private):
        _refuse_private(("config", "cwd"), into)


def _real(path: Path) -> Path:
    # Not Path.resolve, which raises for a loop of links before Python 3.13.
    return Path(os.path.realpath(path))


def _holds(outer: Path, inner: Path) -> bool:
    return inner.is_relative_to(outer)


def _refuse_private(at: tuple[str | int, ...], into: Decoding) -> None:
    into.refuse(
        at,
        "invalid_config",
        "this lets the engine into the folder of the config or of the state, and so to "
        "the secrets",
        "name a place that is only the engine's",
    )
