"""The config file: read once, and only when nobody else can touch it."""

from __future__ import annotations

from pathlib import Path

from conduck_service.base.diagnostics import Diagnostic
from conduck_service.base.jsonio import JsonError, decode_utf8
from conduck_service.base.safefiles import (
    OWN_FOLDER,
    Fault,
    SafeFileError,
    check_file_there,
    check_private_dir,
    read_private,
)

LIMIT = 16 << 20


def read(path: Path) -> str | Diagnostic:
    """Return the text of a config file, or why it is not used.

    The file and its folder must belong to the caller, without access for
    anybody else; a link, another kind of file, more than 16 MiB and a text that
    is not UTF-8 are refused. Nothing is repaired.

    Keeps: B-PERM-09, B-PERM-12, B-PERM-16, B-PERM-19, B-SCHEMA-30.
    """
    try:
        check_file_there(path)
        check_private_dir(path.parent)
        data = read_private(path, LIMIT)
    except SafeFileError as error:
        return _refused(error)
    try:
        return decode_utf8(data)
    except JsonError as error:
        line, column = _place(data, error)
        return Diagnostic(
            pointer=(),
            code="invalid_json",
            message=error.reason,
            remedy="save the file as UTF-8 without a byte order mark",
            line=line,
            column=column,
        )


def _refused(error: SafeFileError) -> Diagnostic:
    remedy = error.remedy
    code = "unsafe_file"
    if error.fault in {Fault.MISSING, Fault.SIZE, Fault.SYSTEM}:
        code = "invalid_config"
    if error.fault is Fault.MISSING:
        remedy = "make one with open-conduit init, or name another file"
    elif error.fault is Fault.KIND and error.path.is_dir():
        remedy = "name the file in it"
    elif remedy == OWN_FOLDER:
        remedy = (
            "move the config into a private folder of its own, such as "
            "~/.config/open-conduit (mkdir -m 700 makes one)"
        )
    return Diagnostic(
        pointer=(), code=code, message=f"{error.path}: {error.reason}", remedy=remedy
    )


def _place(data: bytes, error: JsonError) -> tuple[int, int]:
    if not isinstance(error.__cause__, UnicodeDecodeError):
        return error.line, error.column
    good = data[: error.__cause__.start].decode()
    return good.count("\n") + 1, len(good) - good.rfind("\n")
