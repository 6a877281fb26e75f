"""Supervision without a keeper, by process group and marker: macOS."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time

from conduck_service.base.supervision.launch import (
    Ended,
    Launch,
    LaunchError,
    Reason,
    reason_of,
    wrapped,
)
from conduck_service.base.supervision.sweep import (
    GIVE_UP,
    Process,
    family,
    send,
    snapshot,
)

_LEFTOVERS_GRACE = 1.0
_SHORTEST_LOOK = 0.001
_LONGEST_LOOK = 0.02
_LOOKS = 32  # a look every thirty-second part of the time so far costs 3 % at most
_SWEEP_PAUSE = 0.1


class GroupTree:
    """A process group, and whatever carries its marker or descends from it.

    The engine begins a session, so every group that one of its descendants is in
    holds nobody else.

    It has no thread: what :meth:`end` began, :meth:`wait` carries on.
    """

    def __init__(
        self, engine: subprocess.Popen[bytes], marker: tuple[str, str]
    ) -> None:
        self._engine = engine
        self._marker = marker
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._kill_at: float | None = None
        self._next_sweep = 0.0
        self._groups = {engine.pid}
        self._met: set[tuple[int, str]] = set()
        self._ended: Ended | None = None

    def wait(self, seconds: float) -> Ended | None:
        """Return how it ended once the whole tree is gone, else None."""
        until = time.monotonic() + seconds
        while True:
            with self._lock:
                self._ended = self._ended or self._advance(time.monotonic())
            now = time.monotonic()
            if self._ended is not None or now >= until:
                return self._ended
            look = min(max((now - self._began) / _LOOKS, _SHORTEST_LOOK), _LONGEST_LOOK)
            time.sleep(min(look, until - now))

    def end(self, grace: float) -> None:
        """Begin to end the tree, and return at once."""
        with self._lock:
            self._hasten(time.monotonic() + grace)

    def _hasten(self, kill_at: float) -> None:
        if self._kill_at is None or kill_at < self._kill_at:
            self._kill_at = kill_at

    def _advance(self, now: float) -> Ended | None:
        """Do what is due, and return how the tree ended once it is gone."""
        status = self._engine.poll()
        if status is None and self._kill_at is None:
            return None
        is_killing = self._kill_at is not None and now >= self._kill_at
        if now < self._next_sweep and not is_killing:
            return None
        self._next_sweep = now + _SWEEP_PAUSE
        survivors = self._survivors()
        if status is not None:
            if not survivors:
                return Ended(status)
            self._hasten(now + _LEFTOVERS_GRACE)
        if self._kill_at is not None and now > self._kill_at + GIVE_UP:
            return Ended(-signal.SIGKILL if status is None else status, len(survivors))
        if is_killing:
            self._kill(survivors)
        else:
            self._ask(survivors)
        return None

    def _ask(self, survivors: list[Process]) -> None:
        """Send SIGTERM to those who had none yet, and wake them to hear it."""
        fresh = [item for item in survivors if item.identity not in self._met]
        self._met.update(item.identity for item in survivors)
        send(fresh, signal.SIGTERM)
        send(fresh, signal.SIGCONT)

    def _survivors(self) -> list[Process]:
        processes = snapshot()
        # The number of a group that is empty may be another's from now on.
        self._groups &= {item.group for item in processes}
        roots = [
            item.pid
            for item in processes
            if item.identity in self._met or item.group in self._groups
        ]
        found = family(processes, *self._marker, roots)
        self._groups |= {item.group for item in found} - {os.getpgrp()}
        return found

    def _kill(self, survivors: list[Process]) -> None:
        self._met.update(item.identity for item in survivors)
        for group in self._groups:  # reaches what is being forked as well
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        send(survivors, signal.SIGKILL)


class GroupSupervisor:
    """Starts programs in process groups of their own."""

    def start(self, launch: Launch) -> GroupTree:
        """Start a program.

        Raises:
            LaunchError: It could not be started.
        """
        confinement = launch.confinement
        if confinement is not None and confinement.wrapper is None:
            raise LaunchError("confinement")  # nobody here enters Landlock
        program, argv = wrapped(launch)
        try:
            engine = subprocess.Popen(
                argv,
                executable=program,
                env=launch.marked_environment,
                cwd=launch.folder,
                umask=launch.umask,
                stdin=launch.stdin,
                stdout=launch.stdout,
                stderr=launch.stderr,
                start_new_session=True,
            )
        except OSError as error:
            raise LaunchError(_reason(error, launch)) from None
        except ValueError:
            raise LaunchError("other") from None
        return GroupTree(engine, launch.marker)

    def close(self) -> None:
        """Do nothing; there is nothing to close."""


def _reason(error: OSError, launch: Launch) -> Reason:
    # Behind the slash only a folder that can be entered has anything.
    if os.access(f"{launch.folder}/.", os.X_OK):
        return reason_of(error.errno)
    return "folder"
