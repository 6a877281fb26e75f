"""What a service manager hears of a daemon that it runs: systemd's notifications."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, MutableMapping

_SHARE = 3
"""A beat goes out this often within the time after which one is missed."""


class ServiceManager:
    """systemd, when it started this process and wants to hear from it.

    Nobody listening is no failure: everything here is silent then.

    Attributes:
        watch_seconds: Time within which it wants a beat; None when it wants none.
    """

    def __init__(self, address: str, watch_seconds: float | None) -> None:
        self._address = address
        self.watch_seconds = watch_seconds if address else None

    @classmethod
    def take(cls, environment: MutableMapping[str, str]) -> ServiceManager:
        """Return who listens, by the variables of this process.

        The variables are taken out: no child is to speak in our name, nor to take
        descriptors for its own that were meant for us.
        """
        names = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
        address, microseconds, pid = (environment.pop(name, "") for name in names)
        for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"):
            environment.pop(name, None)
        is_ours = pid in ("", str(os.getpid()))
        is_wanted = is_ours and microseconds.isdecimal() and int(microseconds) > 0
        return cls(address, int(microseconds) / 1e6 if is_wanted else None)

    def tell_ready(self, status: str) -> None:
        """Say that requests are accepted."""
        self._send("READY=1", _status(status))

    def tell_status(self, status: str) -> None:
        """Say in one line how it goes, for ``systemctl status``."""
        self._send(_status(status))

    def tell_stopping(self, status: str) -> None:
        """Say that the end has begun."""
        self._send("STOPPING=1", _status(status))

    def watch(self, is_well: Callable[[float], bool]) -> None:
        """Beat from now on for as long as all is well, in a thread of its own.

        Args:
            is_well: Says within so many seconds whether all is well. Without a beat
                the manager ends the process and starts it anew.
        """
        if self.watch_seconds is None:
            return
        pause = self.watch_seconds / _SHARE

        def beat() -> None:
            while True:
                if is_well(pause):
                    self._send("WATCHDOG=1")
                threading.Event().wait(pause)

        threading.Thread(target=beat, name="watchdog", daemon=True).start()

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        # An abstract address begins with @ in the variable.
        name = self._address
        address = f"\0{name[1:]}" if name.startswith("@") else name
        flags = socket.SOCK_DGRAM | getattr(socket, "SOCK_CLOEXEC", 0)
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, flags) as sock:
            sock.sendto("\n".join(lines).encode("utf-8", "replace"), address)


def _status(text: str) -> str:
    return f"STATUS={' '.join(text.split())}"
