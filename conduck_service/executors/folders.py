"""The working folder of a binding: its key, and what may be wrong with it."""

from __future__ import annotations

import os
from pathlib import Path

from conduck_service.domain.scope import Binding, Scope
from conduck_service.extension.executor import ConfigObject
from conduck_service.extension.kinds import FilePath
from conduck_service.extension.spec import Decoding, Field

CWD = Field(
    name="cwd",
    kind=FilePath(),
    default=None,
    doc="Working folder; the file lane's when left out.",
)
"""The key with which a binding names its working folder."""


_CHAT = "chat"
"""The handler of routes whose turns name files of the lane by relative paths."""


def check_folder(binding: Binding, scope: Scope, into: Decoding) -> None:
    """Note when a binding has no folder to work in, or one that is none.

    In a scope with a file lane, turns of the app work in the folder that the lane
    serves: the paths that a message names start there (F-CWD-01).

    Args:
        binding: Its config has the attribute ``cwd``.
        scope: The scope that it is in.
        into: Takes the diagnostic.
    """
    cwd: Path | None = binding.config.cwd
    if cwd is None and scope.folder is None:
        into.refuse(
            ("config", "cwd"),
            "missing_field",
            "the engine has no working folder",
            "set cwd, or CONDUCK_FILES_DIR in the daemon's environment",
        )
    elif cwd is not None and not into.look_up(
        ("folder", str(cwd)), lambda: _is_folder(cwd)
    ):
        into.refuse(
            ("config", "cwd"),
            "invalid_config",
            "the working folder is no folder",
            "make it, let this user enter it, or name another",
        )
    elif cwd is not None and scope.has_lane and _is_elsewhere(cwd, binding, scope):
        into.refuse(
            ("config", "cwd"),
            "invalid_config",
            "the working folder is another one than the file lane serves, and chat "
            "turns find their files there",
            "leave cwd out"
            if scope.source is None
            else "let a file lane of the folder's own scope serve the folder, or move "
            "the binding to the config file",
        )


def _is_elsewhere(cwd: Path, binding: Binding, scope: Scope) -> bool:
    """Say whether chat turns of a binding run outside of the lane's folder."""
    chats = any(
        route.handler == _CHAT and route.binding == binding.name
        for route in scope.routes
    )
    return chats and os.path.realpath(cwd) != str(scope.folder)


def _is_folder(path: Path) -> bool:
    # Path.is_dir() raises for one that is out of reach or has too long a name.
    return os.path.isdir(path)  # noqa: PTH112 - it says no instead


def adapted(
    config: ConfigObject, folder: Path, *, lists: tuple[str, ...] = ()
) -> ConfigObject:
    """Return the config of a folder's binding with its paths made absolute.

    Args:
        config: As it stands in the folder's file; faults are left as they are.
        folder: The included folder; the working folder when none is named.
        lists: Keys of argument lists whose first item is a program.
    """
    made = {"cwd": str(folder), **config}
    if isinstance(cwd := made["cwd"], str):
        made["cwd"] = str(folder / cwd)
    for key in lists:
        items = made.get(key)
        if isinstance(items, list) and items and isinstance(items[0], str):
            made[key] = [_program(items[0], folder), *items[1:]]
    return made


def _program(text: str, folder: Path) -> str:
    return str(folder / text) if "/" in text else text
