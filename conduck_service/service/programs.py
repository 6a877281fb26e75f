"""Programs of the system that are asked to do something, such as systemctl."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Protocol

from conduck_service.service.account import Account

NOT_THERE = 127
"""Status of a program that is not installed, as shells have it."""

TOO_LONG = 124
"""Status of a program that did not end in time, as timeout has it."""

SECONDS = 60.0

_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of a program.

    Attributes:
        status: How it ended; negative for a signal.
        output: What it printed, at most 1 MiB of it.
        error: What it printed on standard error, likewise.
    """

    status: int
    output: str = ""
    error: str = ""

    @property
    def last_line(self) -> str:
        """What it said last, for people."""
        lines = (self.error or self.output).strip().splitlines()
        return lines[-1].strip() if lines else f"status {self.status}"


class Programs(Protocol):
    """Runs programs; what it is asked for decides nothing about who may."""

    def run(
        self,
        argv: Sequence[str],
        *,
        account: Account | None = None,
        environment: Mapping[str, str] | None = None,
        seconds: float = SECONDS,
    ) -> Ran:
        """Run a program to its end, without a terminal and without input.

        Args:
            argv: The program, looked for on PATH, and its arguments.
            account: The user to run it as, in a session of its own; None for that
                of this process.
            environment: Its variables; None for those of this process, or those
                that a login of the account begins with.
            seconds: After so long it is ended.
        """
        ...


class SystemPrograms:
    """Runs them on this machine."""

    def run(
        self,
        argv: Sequence[str],
        *,
        account: Account | None = None,
        environment: Mapping[str, str] | None = None,
        seconds: float = SECONDS,
    ) -> Ran:
        """Run a program to its end; see ``Programs``."""
        if environment is None and account is not None:
            environment = account.environment
        # Into files: a helper that a login starts may keep a pipe open for ever.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                process = subprocess.Popen(
                    list(argv),
                    env=None if environment is None else dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    # Programs of another user get no terminal that they could type
                    # into on behalf of root.
                    start_new_session=True,
                    **_as(account),
                )
            except OSError as error:
                return Ran(NOT_THERE, error=os.strerror(error.errno or 0))
            status = _end_of(process, seconds)
            return Ran(status, _text(out), _text(err))


def _as(account: Account | None) -> dict[str, Any]:
    if account is None:
        return {}
    start: dict[str, Any] = {"cwd": "/"}
    if os.geteuid() == 0:
        groups = os.getgrouplist(account.name, account.gid)
        start |= {"user": account.uid, "group": account.gid, "extra_groups": groups}
    return start


def _end_of(process: subprocess.Popen[bytes], seconds: float) -> int:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return TOO_LONG


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_LIMIT).decode("utf-8", "replace")
