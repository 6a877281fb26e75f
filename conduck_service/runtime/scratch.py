"""Private folders of turns: made when needed, removed with the turn."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from conduck_service.base.ids import new_id
from conduck_service.base.removal import remove_all
from conduck_service.base.safefiles import make_private_dir

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch:
    """Where one daemon makes the folders of its turns.

    Attributes:
        root: The place for them, unless one inside another folder is asked for.
        instance: Id of the state directory. It is part of every folder's name, so
            that two daemons which share a working folder leave each other's alone.
    """

    root: Path
    instance: str

    @classmethod
    def of_state(cls, state: Path, instance: str) -> Scratch:
        """Return the scratch place inside a state directory, made if need be.

        Raises:
            SafeFileError: It is not safe, or cannot be made.
        """
        root = state / "scratch"
        make_private_dir(root)
        return cls(root=root, instance=instance)

    @property
    def prefix(self) -> str:
        """Begins the name of every folder, so that leftovers can be told."""
        return f".conduck-turn-{self.instance}-"

    def sweep(self, folders: Iterable[Path]) -> int:
        """Remove what a killed predecessor left, also in these folders (C-IMG-27).

        Returns:
            How many were found. An engine may have put a link or a file in the
            place of its folder; they go too, and links are not followed.
        """
        found = [
            folder / name
            for folder in {self.root, *folders}
            for name in _names(folder)
            if name.startswith(self.prefix)
        ]
        for path in found:
            _remove(path)
        return len(found)


class TurnScratch:
    """The folders of one turn; used by one thread."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._made: dict[Path, Path] = {}

    def folder(self, parent: Path | None) -> Path:
        """Return the turn's folder under a parent, made at the first call.

        Its name is random and it is open to its owner only (C-IMG-28).

        Raises:
            OSError: It cannot be made.
        """
        parent = self._scratch.root if parent is None else parent
        if parent not in self._made:
            path = parent / (self._scratch.prefix + new_id("dir"))
            if parent == self._scratch.root:
                parent.mkdir(mode=0o700, exist_ok=True)  # somebody tidied up
            path.mkdir(mode=0o700)
            self._made[parent] = path
        return self._made[parent]

    def remove(self) -> None:
        """Remove the folders with all that is in them (C-IMG-24 to C-IMG-26)."""
        for path in self._made.values():
            _remove(path)


def _remove(path: Path) -> None:
    if not remove_all(path):
        log.warning(
            "a scratch folder could not be removed", extra={"action": "scratch"}
        )


def _names(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except OSError:
        return []  # nothing was left where nothing can be
