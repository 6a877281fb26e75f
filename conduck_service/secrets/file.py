"""The file ``secrets.json`` beside the config: read strictly, written whole."""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from conduck_service.base.clock import Clock, Deadline, SystemClock
from conduck_service.base.jsonio import JsonError, decode_utf8, parse
from conduck_service.base.safefiles import (
    ExclusiveLock,
    Fault,
    LockHeldError,
    SafeFileError,
    atomic_write,
    check_file_there,
    check_private_dir,
    make_private_dir,
    read_private,
)
from conduck_service.secrets.source import is_usable

FILE_NAME = "secrets.json"
FILE_LIMIT = 1 << 20

LOCK_SECONDS = 10.0
"""How long a writer waits for another one."""

_LOCK_NAME = f".{FILE_NAME}.lock"
_LEFTOVER = re.compile(rf"\.{re.escape(FILE_NAME)}\.[0-9a-f]{{16}}\.tmp")
_PAUSE = 0.02


def read_secrets_file(folder: Path) -> dict[str, str]:
    """Return the values of the secrets file of a config directory.

    Raises:
        SafeFileError: The file or its folder is missing, not the caller's
            alone, too large, or no JSON object of texts.

    Keeps: B-NAME-04, B-PERM-13.
    """
    path = folder / FILE_NAME
    check_file_there(path)
    check_private_dir(folder)
    data = read_private(path, FILE_LIMIT)
    where = ""
    try:
        value = parse(decode_utf8(data))
    except JsonError as error:
        value = None
        if error.line:
            where = f" (see line {error.line}, column {error.column})"
    if not isinstance(value, dict) or not all(map(is_usable, value.values())):
        raise SafeFileError(
            path,
            Fault.KIND,
            f"it is not one JSON object with texts as values{where}",
            'write {"NAME": "value", …}',
        )
    return value


def change_secrets_file(
    folder: Path, change: Callable[[dict[str, str]], None], clock: Clock | None = None
) -> Path:
    """Change the values of the secrets file, which need not exist; return its path.

    Two writers wait for each other, so that neither loses what the other wrote, and
    a writer that is killed leaves the old file or the new one.

    Args:
        folder: The config directory; made with mode 0700 when it is missing.
        change: Gets the values and changes them in place.
        clock: The time.

    Raises:
        SafeFileError: The folder or the file is not safe, is broken, would become too
            large or cannot be written; the file is as it was.
        LockHeldError: Somebody else has been writing for LOCK_SECONDS.

    Keeps: B-PERM-05.
    """
    make_private_dir(folder)
    path = folder / FILE_NAME
    with _locked(folder, clock or SystemClock()):
        try:
            values = read_secrets_file(folder)
        except SafeFileError as error:
            if error.fault is not Fault.MISSING:
                raise
            values = {}
        before = dict(values)
        change(values)
        if values != before:
            atomic_write(path, _bytes(path, values))
    return path


def _bytes(path: Path, values: dict[str, str]) -> bytes:
    data = (json.dumps(values, indent=2, ensure_ascii=False) + "\n").encode()
    if len(data) > FILE_LIMIT:
        raise SafeFileError(
            path,
            Fault.SIZE,
            f"the file would become larger than {FILE_LIMIT} bytes",
            "take values out of it that nothing refers to",
        )
    return data


@contextmanager
def _locked(folder: Path, clock: Clock) -> Iterator[None]:
    lock = ExclusiveLock(folder / _LOCK_NAME)
    deadline = Deadline.after(LOCK_SECONDS, clock)
    while True:
        try:
            lock.acquire()
            break
        except LockHeldError:
            if deadline.is_past(clock):
                raise
            time.sleep(_PAUSE)
    with lock:
        _remove_leftovers(folder)
        yield


def _remove_leftovers(folder: Path) -> None:
    """Remove what killed writers left, which holds values; the lock is held."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if _LEFTOVER.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    Path(entry.path).unlink()
