"""Which folder each file lane serves, and that no two lanes get in each other's way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from conduck_service.base.diagnostics import Pointer
from conduck_service.config.declared import DeclaredEntry, Table
from conduck_service.config.folder import VARIABLE, FolderRules
from conduck_service.config.inherit import Effective
from conduck_service.domain.scope import ExtensionEntry
from conduck_service.extension.registry import Registry
from conduck_service.extension.spec import Decoding, Mark


@dataclass(frozen=True, slots=True)
class Served:
    """The folder that the engines of a scope work in.

    Attributes:
        folder: Its real path, if there is one.
        has_lane: Whether a file lane serves it.
    """

    folder: Path | None
    has_lane: bool


def settle_folders(
    scopes: Sequence[Effective], rules: FolderRules, registry: Registry, into: Decoding
) -> dict[Effective, Served]:
    """Return the folder of each scope.

    It is the one that the scope's own lane serves, else the one of the scope above
    whose lane is in force here; else the one that the environment
    names. A lane serves what its config names, else what the environment names. What
    no scope needs is not looked at: it may be another user's.

    Keeps: F-ROOT-03, F-ROOT-04, F-ROOT-05, F-ROOT-16.
    """
    named = cache(lambda: rules.from_environment(into))
    taken = _Taken()
    served: dict[DeclaredEntry, Served] = {}
    nearest: dict[Effective, DeclaredEntry] = {}
    for scope in scopes:
        for item in _own_lanes(scope, registry, into):
            root = _root_of(item, named, rules, registry, into)
            if not isinstance(root, Mark):
                taken.take(root, _place(item, registry), into)
                served[item] = Served(root, has_lane=True)
                nearest[scope] = item
        above = scope.parent and nearest.get(scope.parent)
        if scope not in nearest and above and _is_in_force(above, scope):
            nearest[scope] = above
    return {
        scope: served[nearest[scope]] if scope in nearest else _shared(named())
        for scope in scopes
    }


def _shared(named: Path | Mark | None) -> Served:
    return Served(None if isinstance(named, Mark) else named, has_lane=False)


def _is_in_force(item: DeclaredEntry, scope: Effective) -> bool:
    return scope.entry(Table.EXTENSIONS, item.name) is item


class _Taken:
    """The folders that lanes serve, and every folder around one of them."""

    def __init__(self) -> None:
        self._roots: set[Path] = set()
        self._around: set[Path] = set()

    def take(self, root: Path, at: Pointer, into: Decoding) -> None:
        """Take a folder, after refusing one that another lane gets in the way of."""
        if root in self._around or not self._roots.isdisjoint((root, *root.parents)):
            into.refuse(
                at,
                "invalid_config",
                "another file lane serves this folder, one around it or one in it",
                f"name a folder of its own; {VARIABLE} serves one lane",
            )
        self._roots.add(root)
        self._around.update(root.parents)


def _own_lanes(
    scope: Effective, registry: Registry, into: Decoding
) -> list[DeclaredEntry]:
    """Return the lane that the scope declares, if any; a second one is refused."""
    lanes = [
        item
        for item in scope.own(Table.EXTENSIONS)
        if isinstance(item.entry, ExtensionEntry)
        and registry.ingresses[item.entry.type].folder
    ]
    for item in lanes[1:]:
        into.refuse(
            (*item.at, "type"),
            "duplicate_name",
            "the scope has a file lane already",
            "take one of the two out, or give it a scope of its own",
        )
    return lanes[:1]


def _place(item: DeclaredEntry, registry: Registry) -> Pointer:
    assert isinstance(item.entry, ExtensionEntry)
    return (*item.at, "config", registry.ingresses[item.entry.type].folder)


def _root_of(
    item: DeclaredEntry,
    named: Callable[[], Path | Mark | None],
    rules: FolderRules,
    registry: Registry,
    into: Decoding,
) -> Path | Mark:
    at = _place(item, registry)
    key = str(at[-1])
    assert isinstance(item.entry, ExtensionEntry)
    path = getattr(item.entry.config, key)
    if path is not None:
        return rules.judge(path, at, f"the key {key!r}", into)
    if (folder := named()) is not None:
        return folder
    return into.refuse(
        at,
        "missing_field",
        "the file lane has no folder to serve",
        f"add {key!r} with the path of the shared folder, or set {VARIABLE} to "
        "its absolute path in the daemon's environment",
    )
