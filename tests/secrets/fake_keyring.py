"""A keyring for tests, loaded by the ``keyring`` library in other processes.

FAKE_KEYRING names the folder in which it keeps values and notes each call;
FAKE_KEYRING_FAULT what is wrong with it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from keyring.backend import KeyringBackend

CANARY = "keyring-canary"


class Keyring(KeyringBackend):
    """Keeps values in a JSON file, by service and name."""

    priority = 1

    def get_password(self, service: str, username: str) -> str | None:
        """Return the value."""
        _note("get", service, username)
        return _values().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        """Store a value."""
        _note("set", service, username)
        if os.environ.get("FAKE_KEYRING_FAULT") == "forgets":
            return
        _write(_values() | {f"{service}/{username}": password})

    def delete_password(self, service: str, username: str) -> None:
        """Remove a value."""
        _note("delete", service, username)
        values = _values()
        del values[f"{service}/{username}"]
        _write(values)


def _note(*words: str) -> None:
    with (_folder() / "calls").open("a") as file:
        file.write(" ".join(words) + "\n")
    fault = os.environ.get("FAKE_KEYRING_FAULT")
    if fault == "refuses" and not (_folder() / "unlocked").exists():
        raise RuntimeError(CANARY)
    if fault == "locked":
        (_folder() / "pid").write_text(str(os.getpid()))
        time.sleep(600)
    if fault == "broken":
        raise RuntimeError(CANARY)
    if fault == "dies":
        os._exit(1)
    if fault == "talks":
        print(CANARY)
        print(CANARY, file=sys.stderr)


def _values() -> dict[str, str]:
    file = _folder() / "keyring.json"
    values: dict[str, str] = json.loads(file.read_text()) if file.exists() else {}
    return values


def _write(values: dict[str, str]) -> None:
    (_folder() / "keyring.json").write_text(json.dumps(values))


def _folder() -> Path:
    return Path(os.environ["FAKE_KEYRING"])
