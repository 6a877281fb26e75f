"""The working folder of a binding: its key, and what may be wrong with it."""

from __future__ import annotations

import os
from pathlib import Path

from conduck_service.domain.scope import Scope
from conduck_service.extension.kinds import FilePath
from conduck_service.extension.spec import Decoding, Field

CWD = Field(
    name="cwd",
    kind=FilePath(),
    default=None,
    doc="Working folder; the file lane's when left out.",
)
"""The key with which a binding names its working folder."""


def check_folder(cwd: Path | None, scope: Scope, into: Decoding) -> None:
    """Note when a binding has no folder to work in, or one that is none."""
    if cwd is None and scope.folder is None:
        into.refuse(
            ("config", "cwd"),
            "missing_field",
            "the engine has no working folder",
            "set cwd, or CONDUCK_FILES_DIR in the daemon's environment",
        )
    elif cwd is not None and not _is_folder(cwd):
        into.refuse(
            ("config", "cwd"),
            "invalid_config",
            "the working folder is no folder",
            "make it, let this user enter it, or name another",
        )


def _is_folder(path: Path) -> bool:
    # Path.is_dir() raises for one that is out of reach or has too long a name.
    return os.path.isdir(path)  # noqa: PTH112 - it says no instead
