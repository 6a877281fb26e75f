"""``open-conduit secret set`` at a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.secrets.keyrings import NO_KEYRING
from tests.support.service import PROGRAM, variables

CANARY = "typed-canary-77"
SECONDS = 20.0


@dataclass(slots=True)
class Terminal:
    """A program on a terminal of its own."""

    pid: int
    descriptor: int
    shown: bytes = field(default=b"")

    def read_until(self, text: bytes) -> None:
        """Read until the terminal shows a text."""
        while text not in self.shown:
            assert self._read(), self.shown

    def type(self, text: bytes) -> None:
        """Type at the keyboard."""
        os.write(self.descriptor, text)

    def end(self, again: bytes = b"") -> int:
        """Read everything and return the exit status.

        Args:
            again: Typed again while nothing comes: a Ctrl-C just before the program
                waits for a line is seen only after the line, in any program.
        """
        while self._read(again):
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _read(self, again: bytes = b"") -> bool:
        ready: list[int] = []
        end = time.monotonic() + SECONDS
        while not ready and time.monotonic() < end:
            ready, _, _ = select.select([self.descriptor], [], [], 1.0)
            if not ready and again:
                os.write(self.descriptor, again)
        assert ready, self.shown
        try:
            data = os.read(self.descriptor, 4096)
        except OSError:  # Linux says so when the last one has closed it
            return False
        self.shown += data
        return bool(data)


@contextmanager
def secret_set(root: Path) -> Iterator[Terminal]:
    """Run the command on a terminal, for the config and the state of a folder."""
    argv = [*PROGRAM, "secret", "set", "key", "--config", f"{root}/config/config.json"]
    argv += ["--data-dir", f"{root}/state"]
    environment = variables(NO_KEYRING)
    pid, descriptor = pty.fork()
    if pid == 0:
        os.execvpe(argv[0], argv, environment)  # noqa: S606
    try:
        yield Terminal(pid, descriptor)
    finally:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(descriptor)


def kept(root: Path) -> dict[str, str]:
    file = root / "config/secrets.json"
    values: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    return values


@pytest.mark.req("B-CLI-13")
def test_a_line_is_read_without_being_shown(tmp_path: Path) -> None:
    with secret_set(tmp_path) as terminal:
        terminal.read_until(b"not shown")
        # No argument holds it either, before it is typed or after.
        terminal.type(f"{CANARY} tökén \n".encode())
        assert terminal.end() == 0, terminal.shown
    assert kept(tmp_path) == {"key": f"{CANARY} tökén "}
    assert CANARY.encode() not in terminal.shown
    assert terminal.shown.count(b"Value of key") == 1


@pytest.mark.parametrize("typed", [b"\n", b"\x04", b"canary\x03"])
def test_nothing_is_stored_when_nothing_is_typed(tmp_path: Path, typed: bytes) -> None:
    with secret_set(tmp_path) as terminal:
        terminal.read_until(b"not shown")
        terminal.type(typed)
        assert terminal.end(again=typed[-1:] if typed[-1:] == b"\x03" else b"") == 1
    assert kept(tmp_path) == {}
    assert b"Traceback" not in terminal.shown
    assert b"canary" not in terminal.shown


def test_a_line_that_the_terminal_cuts_is_refused(tmp_path: Path) -> None:
    with secret_set(tmp_path) as terminal:
        terminal.read_until(b"not shown")
        for _ in range(5):
            terminal.type(b"x" * 1000)
        terminal.type(b"\n")
        assert terminal.end() == 1
    assert b"pipe the value in" in terminal.shown
    assert kept(tmp_path) == {}


def test_the_rest_of_what_was_pasted_reaches_no_shell(tmp_path: Path) -> None:
    with secret_set(tmp_path) as terminal:
        terminal.read_until(b"not shown")
        terminal.type(b"first line\nsecond line\n")
        assert terminal.end() == 0
    assert kept(tmp_path) == {"key": "first line"}
    assert b"second" not in terminal.shown
