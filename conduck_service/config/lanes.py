"""Which folder each file lane serves, and that no two lanes get in each other's way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from conduck_service.base.diagnostics import Pointer
from conduck_service.config.folder import VARIABLE, FolderRules, are_nested
from conduck_service.domain.scope import Scope
from conduck_service.extension.registry import Registry
from conduck_service.extension.spec import Decoding, Mark


@dataclass(frozen=True, slots=True)
class _Lane:
    """An entry that serves a folder.

    Attributes:
        scope: Place of its scope in the document.
        at: Where the entry is.
        key: The key that names the folder.
        path: What the key says, if it is there.
    """

    scope: int
    at: Pointer
    key: str
    path: Path | None

    @property
    def place(self) -> Pointer:
        return (*self.at, "config", self.key)


def settle_folders(
    scopes: Mapping[int, Scope], rules: FolderRules, registry: Registry, into: Decoding
) -> dict[int, Scope]:
    """Return the scopes with the folders that their engines work in.

    A scope with a lane gets the folder that the lane serves: the one that its
    config names, else the one that the environment names. Other scopes get the
    latter.

    Keeps: F-ROOT-03, F-ROOT-04, F-ROOT-05, F-ROOT-16.
    """
    named = rules.from_environment(into)
    shared = None if isinstance(named, Mark) else named
    settled = {index: replace(scope, folder=shared) for index, scope in scopes.items()}
    roots: list[Path] = []
    for lane in _lanes(scopes, registry, into):
        root = _root_of(lane, named, rules, into)
        if isinstance(root, Mark):
            continue
        if any(are_nested(root, other) for other in roots):
            into.refuse(
                lane.place,
                "invalid_config",
                "another file lane serves this folder, one around it or one in it",
                f"name a folder of its own; {VARIABLE} serves one lane",
            )
        roots.append(root)
        settled[lane.scope] = replace(scopes[lane.scope], folder=root, has_lane=True)
    return settled


def _lanes(
    scopes: Mapping[int, Scope], registry: Registry, into: Decoding
) -> Iterator[_Lane]:
    """Yield the lane of each scope; a second one is refused."""
    for index, scope in scopes.items():
        is_taken = False
        for number, entry in enumerate(scope.extensions):
            key = registry.ingresses[entry.type].folder
            if not key:
                continue
            at: Pointer = ("scopes", index, "extensions", number)
            if is_taken:
                into.refuse(
                    (*at, "type"),
                    "duplicate_name",
                    "the scope has a file lane already",
                    "take one of the two out, or give it a scope of its own",
                )
                continue
            is_taken = True
            yield _Lane(index, at, key, getattr(entry.config, key))


def _root_of(
    lane: _Lane, named: Path | Mark | None, rules: FolderRules, into: Decoding
) -> Path | Mark:
    if lane.path is not None:
        return rules.judge(lane.path, lane.place, f"the key {lane.key!r}", into)
    if named is not None:
        return named
    return into.refuse(
        lane.place,
        "missing_field",
        "the file lane has no folder to serve",
        f"add {lane.key!r} with the path of the shared folder, or set {VARIABLE} to "
        "its absolute path in the daemon's environment",
    )
