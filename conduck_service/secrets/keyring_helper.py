"""A process of its own that asks the keyring; run with ``python -m``.

A locked keyring asks a person for a password and waits for ever, and what a keyring
loads runs whatever it likes. A process can be ended, a thread cannot.

It reads one JSON object on standard input and prints one. A value is never an
argument, where other users of the machine could see it, and no text of a keyring is
ever printed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

_library: Any = None
try:
    import keyring

    _library = keyring
except Exception:  # noqa: S110 - it is optional; what is broken is as good as missing
    pass

SERVICE = "open-conduit"
"""Under which name the keyring holds our values (B-NAME-03)."""

_REFUSED = ("keyring.backends.fail", "keyring.backends.null", "keyrings.alt")
"""Modules that keep nothing, or keep it in a file that anybody may be able to read.

Our own file is better than those: its mode is checked each time.
"""

NO_LIBRARY = "library"
NO_BACKEND = "backend"


def main() -> None:
    """Answer the one request on standard input."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # a backend may have something to say
    request = json.load(sys.stdin.buffer)
    with answer:
        json.dump(_answer(request), answer)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    if _library is None:
        return {"refused": NO_LIBRARY}
    backends = list(_backends())
    if not backends:
        return {"refused": NO_BACKEND}
    if "get" in request:
        return {"values": {name: _get(backends, name) for name in request["get"]}}
    if "set" in request:
        return {"is_stored": _set(backends[0], request["set"], request["value"])}
    if "add" in request:
        name = request["add"]
        if _get(backends, name) is not None:
            return {"is_taken": True}
        return {"is_stored": _set(backends[0], name, request["value"])}
    return {"was_there": _delete(backends, request["delete"], request.get("value"))}


def _backends() -> Iterator[Any]:
    """Yield the keyrings that are some; one may stand for several."""
    chosen = _library.get_keyring()
    for backend in getattr(chosen, "backends", None) or [chosen]:
        modules = {kind.__module__ for kind in type(backend).__mro__}
        if not any(
            module == refused or module.startswith(f"{refused}.")
            for module in modules
            for refused in _REFUSED
        ):
            yield backend


def _get(backends: list[Any], name: str) -> str | None:
    for backend in backends:
        value: str | None = backend.get_password(SERVICE, name)
        if value is not None:
            return value
    return None


def _set(backend: Any, name: str, value: str) -> bool:
    backend.set_password(SERVICE, name, value)
    return bool(backend.get_password(SERVICE, name) == value)


def _delete(backends: list[Any], name: str, value: str | None) -> bool:
    """Remove what is held under a name; with a value, only where that is held."""
    was_there = False
    for backend in backends:
        found = backend.get_password(SERVICE, name)
        if found is not None and value in (None, found):
            backend.delete_password(SERVICE, name)
            was_there = True
    return was_there


if __name__ == "__main__":
    main()
