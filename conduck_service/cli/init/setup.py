"""Setting up: every file is made or none, and nothing that is there is touched."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

from conduck_service.base.diagnostics import Diagnostic, has_errors
from conduck_service.base.safefiles import (
    LockHeldError,
    SafeFileError,
    make_private_dir,
)
from conduck_service.cli.init.document import SECRETS, Plan, document
from conduck_service.config.edit import Check, create, locked, to_text
from conduck_service.config.load import read
from conduck_service.files.upkeep.folder import make_shared_folder
from conduck_service.secrets.file import FILE_NAME, read_secrets_file
from conduck_service.secrets.keep import (
    Kept,
    TakenError,
    forget,
    keep_new,
    places_of,
)
from conduck_service.secrets.source import SourceError

SECRET_BYTES = 32

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SetupError(Exception):
    """Raised when nothing was set up.

    Attributes:
        problems: What is wrong with the config that would have been written; empty
            when the text of the error says it all.
    """

    def __init__(self, message: str, problems: list[Diagnostic] | None = None) -> None:
        super().__init__(message)
        self.problems = problems or []


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What was set up.

    Attributes:
        kept: For each secret, where it lies.
        problems: Warnings about the config.
    """

    kept: Mapping[str, Kept]
    problems: list[Diagnostic]


def refuse_what_is_there(path: Path, environment: Mapping[str, str]) -> None:
    """See that there is neither a config nor a secret that would be overwritten.

    Raises:
        SetupError: There is one (B-CLI-31).
    """
    if os.path.lexists(path):
        raise SetupError(
            f"{path}: there is a config already, and it is left as it is; look at it "
            "with config show, or name another file with --config"
        )
    for name in SECRETS:
        try:
            places = places_of(name, folder=path.parent, environment=environment)
        except SafeFileError as error:
            raise SetupError(str(error)) from error
        if places:
            raise _taken(*places)


def _taken(*places: str) -> SetupError:
    name = places[0].partition(":")[2]
    return SetupError(
        f"a secret {name} is kept already ({' and '.join(places)}), and it is "
        f"left as it is; if nothing uses it, remove it: {_removal(places[0])}"
    )


def _removal(reference: str) -> str:
    place, _, name = reference.partition(":")
    if place == "keyring":
        return f"keyring del open-conduit {name}"
    return f"take {name} out of {FILE_NAME} beside the config"


def set_up(
    plan: Plan, path: Path, environment: Mapping[str, str], check: Check
) -> Done:
    """Make the folder, store the secrets and write the config, in this order.

    The config comes last: whatever happens before it, there is none that names what
    is not there. When anything fails, or the user breaks it off, what was made is
    taken away again.

    Args:
        plan: What to set up.
        path: The config file.
        environment: Variables of the process.
        check: Says what is wrong with the text of the config.

    Raises:
        SetupError: It could not be done, and nothing was.
        EditRefusedError: Likewise.

    Keeps: B-CLI-01, B-CLI-31, B-PERM-01, B-PERM-04, B-SECRET-43, B-SECRET-44.
    """
    with _undone_on_failure() as undo:
        try:
            _make_config_dir(path.parent, undo)
            lock = ExitStack()
            undo.callback(_remove_locks, _locks(path))
            undo.callback(lock.close)  # behind all that is undone under the lock
            lock.enter_context(locked(path))
            refuse_what_is_there(path, environment)
            _make_folder(plan, undo)
            _checked(plan, {name: f"file:{name}" for name in SECRETS}, check)
            kept = _keep(path.parent, environment, undo)
            references = {name: place.reference for name, place in kept.items()}
            text, problems = _checked(plan, references, check)
            undo.callback(_remove_ours, path, text)
            create(path, text)
            lock.close()
        except (SafeFileError, LockHeldError, SourceError) as error:
            raise SetupError(str(error)) from error
        except TakenError as error:  # a keyring that was locked before
            raise _taken(error.reference) from error
    return Done(kept=kept, problems=problems)


@contextmanager
def _undone_on_failure() -> Iterator[ExitStack]:
    """Yield a stack of what takes back what was done; it runs on failure only."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number in _SIGNALS:
        if before[number] is not signal.SIG_IGN:  # nohup
            signal.signal(number, _break_off)
    undo = ExitStack()
    try:
        yield undo
    except BaseException:
        for number in _SIGNALS:  # a second Ctrl-C must not leave half of it
            signal.signal(number, signal.SIG_IGN)
        undo.close()
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _break_off(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _make_config_dir(folder: Path, undo: ExitStack) -> None:
    missing = [one for one in (folder, *folder.parents) if not os.path.lexists(one)]
    undo.callback(_remove_folders, missing)
    make_private_dir(folder)


def _remove_folders(folders: list[Path]) -> None:
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _locks(path: Path) -> list[tuple[Path, Path]]:
    """Return each file that is made here with its lock, unless the lock is there."""
    pairs = [
        (file, file.with_name(f".{file.name}.lock"))
        for file in (path, path.with_name(FILE_NAME))
    ]
    return [(file, lock) for file, lock in pairs if not os.path.lexists(lock)]


def _remove_locks(pairs: list[tuple[Path, Path]]) -> None:
    for file, lock in pairs:
        if not os.path.lexists(file):
            lock.unlink(missing_ok=True)


def _make_folder(plan: Plan, undo: ExitStack) -> None:
    if os.path.lexists(plan.folder):
        return  # somebody's own; the check and its warnings judge it
    if not plan.folder.parent.is_dir():
        raise SetupError(
            f"{plan.folder}: the folder above it is not there; make it, or name another"
        )
    undo.callback(_remove_folders, [plan.folder])
    try:
        # The mode comes last: what sets the group could take the setgid bit away.
        make_shared_folder(plan.folder, 0o700)
        if plan.group is not None:
            os.chown(plan.folder, -1, plan.group)
            plan.folder.chmod(int(plan.mode, 8))
    except OSError as error:
        reason = error.strerror or "the system refused it"
        raise SetupError(f"{plan.folder}: {reason}; name another folder") from error


def _checked(
    plan: Plan, references: Mapping[str, str], check: Check
) -> tuple[str, list[Diagnostic]]:
    text = to_text(document(plan, references))
    problems = list(check(text))
    if has_errors(problems):
        raise SetupError("the config would not be valid", problems)
    return text, problems


def _keep(
    folder: Path, environment: Mapping[str, str], undo: ExitStack
) -> dict[str, Kept]:
    if not os.path.lexists(folder / FILE_NAME):
        undo.callback(_remove_empty, folder)
    kept = {}
    for name in SECRETS:
        value = secrets.token_urlsafe(SECRET_BYTES)
        # Before it is stored: nobody knows how far a store gets that is broken off.
        # Only this very value is forgotten, never one that was there.
        for place in ("keyring", "file"):
            undo.callback(_forget, f"{place}:{name}", value, folder, environment)
        kept[name] = keep_new(name, value, folder=folder, environment=environment)
    return kept


def _remove_empty(folder: Path) -> None:
    """Remove the secrets file if nothing is in it any more."""
    with contextlib.suppress(SafeFileError, OSError):
        if not read_secrets_file(folder):
            (folder / FILE_NAME).unlink()


def _remove_ours(path: Path, text: str) -> None:
    """Remove the config, unless it is another one than was written here."""
    if read(path) == text:
        path.unlink(missing_ok=True)


def _forget(
    reference: str, value: str, folder: Path, environment: Mapping[str, str]
) -> None:
    with contextlib.suppress(SafeFileError, LockHeldError, SourceError):
        forget(reference, folder=folder, environment=environment, value=value)
