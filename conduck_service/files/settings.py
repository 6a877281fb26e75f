"""Config of a ``conduck_files`` entry, and what it must fit in its scope."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from conduck_service.domain.scope import ExtensionEntry, Scope
from conduck_service.extension.ingress import CapabilitiesOf
from conduck_service.extension.kinds import (
    Boolean,
    Choice,
    FilePath,
    Integer,
    Name,
    Seconds,
)
from conduck_service.extension.listener import LISTENER_FIELDS, check_listener
from conduck_service.extension.spec import Decoding, Field, Spec

MODES = ("2770", "2775", "0700")
"""Modes of the shared folder, in octal digits: two users of one group, two users
where everybody may read, one user."""

_FILE_BITS = 0o666
_FOLDER_BITS = 0o777


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesConfig:
    """Decoded config of a files entry; the Spec below says what each key is.

    The folder in force is ``Scope.folder``: ``root`` may be left to the
    environment.
    """

    namespace: str
    scope: str
    port: int
    root: Path | None
    password_secret: str
    mode: str
    max_upload_bytes: int
    idle_seconds: float
    keep_days: int | None
    upload_events: bool

    @property
    def folder_mode(self) -> int:
        """Mode of folders, the set-group-id bit included where one is wanted."""
        return int(self.mode, 8)

    @property
    def umask(self) -> int:
        """The umask that gives new files and folders their mode."""
        return _FOLDER_BITS & ~self.folder_mode

    @property
    def file_mode(self) -> int:
        """Mode of files."""
        return _FILE_BITS & ~self.umask

    @property
    def is_shared(self) -> bool:
        """Whether a group shares the folder, not one user alone."""
        return self.mode != "0700"


FILES_SPEC: Spec[FilesConfig] = Spec(
    FilesConfig,
    (
        *LISTENER_FIELDS,
        Field(
            name="root",
            kind=FilePath(),
            default=None,
            doc="The shared folder; the one of CONDUCK_FILES_DIR when left out.",
            live=False,
        ),
        Field(
            name="password_secret",
            kind=Name(),
            doc="Which of secret_names holds the password of the user conduck.",
        ),
        Field(
            name="mode",
            kind=Choice(MODES),
            default=MODES[0],
            doc="Mode of the shared folder; what the service makes in it follows.",
            shown=True,
        ),
        Field(
            name="max_upload_bytes",
            kind=Integer(1),
            default=2_147_483_648,
            doc="Largest file that is taken, in bytes.",
            shown=True,
        ),
        Field(
            name="idle_seconds",
            kind=Seconds(1, 3600),
            default=60.0,
            doc="Longest pause of an upload or a download.",
            shown=True,
        ),
        Field(
            name="keep_days",
            kind=Integer(1),
            default=None,
            doc="Conversation folders that nothing touched for so many days are "
            "removed; never when left out.",
            shown=True,
        ),
        Field(
            name="upload_events",
            kind=Boolean(),
            default=False,
            doc="Make an event of each upload; not in this version.",
            shown=True,
        ),
    ),
)


def check_entry(
    entry: ExtensionEntry,
    scope: Scope,
    _capabilities: CapabilitiesOf,
    into: Decoding,
) -> None:
    """Note what is wrong between a files entry and its scope."""
    check_listener(entry, scope, "password_secret", into)
    if entry.config.upload_events:
        # Nothing is accepted that then does nothing.
        into.refuse(
            ("config", "upload_events"),
            "unsupported_capability",
            "upload events come with the durable store, which is not there yet",
            "write false, or leave the key out",
        )
