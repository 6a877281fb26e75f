"""The state directory: who owns it, and the id by which its engines are known."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conduck_service.base.ids import new_id
from conduck_service.base.safefiles import (
    ExclusiveLock,
    Fault,
    SafeFileError,
    atomic_write,
    check_private_dir,
    make_private_dir,
    read_private,
)

_INSTANCE = re.compile(rb"instance_[a-z2-7]{26}")


@contextmanager
def owned_state(state: Path) -> Iterator[str]:
    """Own the state directory while the block runs; yields its instance id.

    The lock comes before anything else is touched (B-LOCK-01).

    Raises:
        LockHeldError: Another daemon owns it.
        SafeFileError: It is not safe to use.
    """
    make_private_dir(state)
    with ExclusiveLock(state / "lock"):
        if os.path.lexists(state / "private"):
            check_private_dir(state / "private")  # B-PERM-11
        yield _instance_id(state / "instance")


def _instance_id(path: Path) -> str:
    """Return the id that marks every engine ever started from this state.

    It outlives a restart, so that leftovers of a predecessor are known by it.
    """
    try:
        known = read_private(path, 200)
    except SafeFileError as error:
        if error.fault is not Fault.MISSING:
            raise
    else:
        return _checked(path, known)
    # A predecessor that was killed while it wrote the id left this and no id.
    for unfinished in path.parent.glob(f".{path.name}.*.tmp"):
        unfinished.unlink()
    instance = new_id("instance")
    atomic_write(path, instance.encode("ascii"))
    return instance


def _checked(path: Path, known: bytes) -> str:
    # It becomes part of folder names and of what is looked for in processes.
    if not _INSTANCE.fullmatch(known):
        raise SafeFileError(
            path, Fault.KIND, "the file does not hold an instance id", "remove it"
        )
    return known.decode("ascii")
