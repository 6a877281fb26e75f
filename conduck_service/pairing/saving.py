"""Puts a picture of a code where it was asked for, for its owner alone."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from conduck_service.pairing.refusal import RefusedError

_MODE = 0o600
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def file_there() -> RefusedError:
    """Return the refusal to write over something."""
    return RefusedError(
        "file_there",
        "there is something of that name already",
        "choose another name, or add --force",
    )


def save(path: Path, data: bytes, *, replace: bool) -> None:
    """Write a new file of mode 0600, whatever the umask.

    Args:
        path: The file; what it leads to is not followed.
        data: Its content.
        replace: Whether something that is there may be replaced.

    Raises:
        RefusedError: Something is there, or it cannot be written.
    """
    target = path.with_name(f".{path.name}.{secrets.token_hex(8)}") if replace else path
    is_made = False
    try:
        descriptor = os.open(target, _FLAGS, _MODE)
        is_made = True
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor has no path
            os.fchmod(descriptor, _MODE)
            file.write(data)
        if replace:
            target.replace(path)
    except FileExistsError:
        raise file_there() from None
    except OSError as error:
        if is_made:
            with contextlib.suppress(OSError):
                target.unlink()
        raise RefusedError(
            "file_not_written",
            os.strerror(error.errno or 0),
            "choose a folder that you can write to",
        ) from None
