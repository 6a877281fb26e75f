"""The one way in which a config file is changed on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from conduck_service.base.clock import Clock, Deadline, SystemClock
from conduck_service.base.diagnostics import Diagnostic, has_errors
from conduck_service.base.jsonio import JsonError, JsonValue, parse
from conduck_service.base.safefiles import (
    ExclusiveLock,
    Fault,
    LockHeldError,
    SafeFileError,
    atomic_write,
    check_private_dir,
)
from conduck_service.config.load import LIMIT, read
from conduck_service.config.syntax import explained

Check = Callable[[str], Iterable[Diagnostic]]
"""Says what is wrong with the text of a config."""

LAST_GOOD = ".last-good"
"""Ends the name of the copy that holds the last text before an edit without error."""

LOCK_SECONDS = 10.0
"""How long an edit waits for another one to end."""

_LOCK_PAUSE = 0.02
_TOO_LARGE = f"the config would be larger than {LIMIT} bytes"


class EditRefusedError(Exception):
    """Raised when a config file cannot be edited; nothing was changed.

    Attributes:
        problem: Why.
    """

    def __init__(self, problem: Diagnostic) -> None:
        super().__init__(str(problem))
        self.problem = problem


class Edit:
    """A config file while it is changed; made by :meth:`open`.

    Attributes:
        path: The file.
        text: Its text as it was read.
        value: What it holds, parsed; change it in place or set another value. The
            order of keys is kept.
    """

    def __init__(self, path: Path, text: str, value: JsonValue) -> None:
        self.path = path
        self.text = text
        self.value = value
        self._before = to_text(value)

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[Edit]:
        """Read a config file, and let nobody else edit it meanwhile.

        What a killed edit left behind is removed.

        Raises:
            EditRefusedError: The file or its folder is missing or not safe, the
                text is no JSON, or another edit goes on for too long.
        """
        with locked(path):
            text = _read(path)
            try:
                value = parse(text)
            except JsonError as error:
                raise EditRefusedError(explained(text, error)) from None
            yield cls(path, text, value)

    @property
    def is_changed(self) -> bool:
        """Whether the value is another one than that of the file."""
        return to_text(self.value) != self._before

    def save(self, check: Check) -> list[Diagnostic]:
        """Check the changed config, and save it if that finds no error.

        A value that was not changed is checked and not saved, so that the layout
        of the file stays. A file that somebody changed since it was read is not
        overwritten.

        Returns:
            All that was found; with an error among it the file is as it was.

        Raises:
            EditRefusedError: It is nested too deeply, or holds an infinite number.
        """
        text = to_text(self.value) if self.is_changed else self.text
        if len(text.encode()) > LIMIT:
            return [_refusal(_TOO_LARGE, "leave something out")]
        problems = list(check(text))
        if has_errors(problems) or text == self.text:
            return problems
        try:
            replace_text(
                self.path, text, self.text, is_kept=not has_errors(check(self.text))
            )
        except EditRefusedError as error:
            return [*problems, error.problem]
        return problems


def to_text(value: JsonValue) -> str:
    """Return the text of a config: two blanks of indent, one newline at the end.

    Raises:
        EditRefusedError: It is nested too deeply, or holds an infinite number.
    """
    try:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    except RecursionError:
        raise EditRefusedError(
            _refusal("the config is nested too deeply", "make it flatter")
        ) from None
    except ValueError:
        raise EditRefusedError(
            _refusal("a number is too large", "write a smaller one")
        ) from None
    # Halves of a pair have no UTF-8 form; as an escape they keep their meaning.
    return text.encode("utf-8", "backslashreplace").decode() + "\n"


def replace_text(path: Path, text: str, before: str, *, is_kept: bool = True) -> None:
    """Put a text in the place of another, which is kept beside it if it is good.

    At each moment there is the old or the new text under the name, whole and on
    the disk. The caller holds the lock.

    Args:
        path: The config file.
        text: Its new text.
        before: The text that it must have now.
        is_kept: Whether that is worth a copy; the older copy stays if not.

    Raises:
        EditRefusedError: It has another text, or writing failed.

    Keeps: B-CLI-09, B-PERM-04.
    """
    if _read(path) != before:
        raise EditRefusedError(
            _refusal(
                "the file was changed while it was edited here, and is left as it is",
                "say it again",
                code="config_changed",
            )
        )
    try:
        if is_kept:
            atomic_write(path.with_name(path.name + LAST_GOOD), before.encode())
        atomic_write(path, text.encode())
    except SafeFileError as error:
        raise EditRefusedError(_unsafe(error)) from error


def create(path: Path, text: str) -> None:
    """Write the first text of a config; the caller holds the lock.

    Raises:
        EditRefusedError: There is one already, or writing failed.
    """
    if os.path.lexists(path):
        raise EditRefusedError(
            _refusal(
                f"{path}: there is a config already, and it is left as it is",
                "change it with config set, or name another file with --config",
                code="config_exists",
            )
        )
    try:
        atomic_write(path, text.encode())
    except SafeFileError as error:
        raise EditRefusedError(_unsafe(error)) from error


@contextmanager
def locked(path: Path, clock: Clock | None = None) -> Iterator[None]:
    """Hold the lock of a config file, and remove what killed edits left beside it.

    Raises:
        EditRefusedError: The folder is missing or not safe, or the lock is held
            by somebody else for longer than LOCK_SECONDS.
    """
    try:
        check_private_dir(path.parent)
    except SafeFileError:
        problem = read(path)  # says it in the words that a config is refused in
        if isinstance(problem, Diagnostic):
            raise EditRefusedError(problem) from None
        raise
    lock = ExclusiveLock(path.with_name(f".{path.name}.lock"))
    try:
        _acquire(lock, clock or SystemClock())
    except SafeFileError as error:
        raise EditRefusedError(_unsafe(error)) from error
    with lock:
        _remove_leftovers(path)
        yield


def _acquire(lock: ExclusiveLock, clock: Clock) -> None:
    deadline = Deadline.after(LOCK_SECONDS, clock)
    while True:
        try:
            lock.acquire()
        except LockHeldError:
            if deadline.is_past(clock):
                raise EditRefusedError(
                    _refusal(
                        "another command is editing this config",
                        "wait until it has ended",
                        code="config_busy",
                    )
                ) from None
            time.sleep(_LOCK_PAUSE)
        else:
            return


def _remove_leftovers(path: Path) -> None:
    """Remove temporary files of edits that were killed; the lock is held."""
    name = re.escape(path.name)
    ending = re.escape(LAST_GOOD)
    leftover = re.compile(rf"\.{name}({ending})?\.[0-9a-f]{{16}}\.tmp")
    with contextlib.suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if leftover.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)  # noqa: PTH108


def _read(path: Path) -> str:
    text = read(path)
    if isinstance(text, Diagnostic):
        raise EditRefusedError(text)
    return text


def _refusal(message: str, remedy: str, *, code: str = "invalid_config") -> Diagnostic:
    return Diagnostic(pointer=(), code=code, message=message, remedy=remedy)


def _unsafe(error: SafeFileError) -> Diagnostic:
    return _refusal(
        f"{error.path}: {error.reason}",
        error.remedy,
        code="invalid_config" if error.fault is Fault.SYSTEM else "unsafe_file",
    )
