"""A secret that a listener goes on asking for, resolved anew when one was written."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from threading import Lock

from conduck_service.base.clock import Clock, Deadline, SystemClock
from conduck_service.secrets.resolve import SecretError

log = logging.getLogger(__name__)

RETRY_SECONDS = 5.0
"""How long it stays at a failure; what was mended is tried again then."""


@dataclass(frozen=True, slots=True)
class _Held:
    """What was found at a revision; nothing is looked for anew from ``retry`` on."""

    revision: object
    value: str | None = field(repr=False)
    retry: Deadline


class Renewed:
    """The value of a secret since the last write; called from many threads.

    The first call after a write resolves it, and the others wait for that: the old
    value is good for nobody any more, and when there is no new one, nothing is
    (B-SECRET-36, B-SECRET-45).

    Args:
        find: Resolves the secret; None when it cannot be had.
        revision: Tells the state of the secrets; costs next to nothing.
        clock: The time, by which a failure is tried again.
    """

    def __init__(
        self,
        find: Callable[[], str | None],
        revision: Callable[[], object],
        clock: Clock | None = None,
    ) -> None:
        self._find = find
        self._revision = revision
        self._clock = clock or SystemClock()
        self._lock = Lock()
        self._held: _Held | None = None

    def __call__(self) -> str | None:
        """Return the value, or None while it cannot be had."""
        held = self._held
        if held is None or held.revision != self._revision():
            with self._lock:
                return self._renewed(self._held)
        if self._is_good(held):
            return held.value
        # One tries a failure again; nobody else has to wait for that.
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return self._renewed(self._held)
        finally:
            self._lock.release()

    def _renewed(self, held: _Held | None) -> str | None:
        # Taken before the value: what is written meanwhile is asked for again.
        now = self._revision()
        if held is None or held.revision != now or not self._is_good(held):
            value = self._find()
            retry = Deadline.after(RETRY_SECONDS, self._clock)
            held = self._held = _Held(now, value, retry)
        return held.value

    def _is_good(self, held: _Held) -> bool:
        return held.value is not None or not held.retry.is_past(self._clock)


def renewed_secrets(
    names: Iterable[str],
    resolve: Callable[[str], str],
    *,
    revision: Callable[[], object],
    entry: str,
    scope: str,
    clock: Clock | None = None,
) -> Callable[[str], str | None]:
    """Return what gives one entry the values of these names, and of no others.

    Why a value cannot be had is logged once for each revision and cause.

    Args:
        names: What the entry has selected.
        resolve: Returns the value of a name; raises SecretError.
        revision: Tells the state of the secrets.
        entry: Name of the entry, for the log.
        scope: Id of the scope that declares it, likewise.
        clock: The time.
    """
    told: dict[str, tuple[object, str]] = {}

    def find(name: str) -> str | None:
        try:
            value = resolve(name)
        except SecretError as error:
            cause = (revision(), str(error))
            if told.get(name) != cause:
                told[name] = cause
                log.warning(
                    "a secret is not available, so nobody is let in: %s",
                    error,
                    extra={"action": "secret", "scope": scope, "entry": entry},
                )
            return None
        told.pop(name, None)
        return value

    selected = {
        name: Renewed(functools.partial(find, name), revision, clock) for name in names
    }
    return lambda name: selected[name]() if name in selected else None
