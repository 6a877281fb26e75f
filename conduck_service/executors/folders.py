"""The working folder of a binding: its key, and what may be wrong with it."""

from __future__ import annotations

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
    elif cwd is not None and not cwd.is_dir():
        into.refuse(
            ("config", "cwd"),
            "invalid_config",
            "the working folder is no folder",
            "make it, or name another",
        )
