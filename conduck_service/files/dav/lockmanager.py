"""The locks as WsgiDAV's request handling asks for them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from conduck_service.files.dav.lockrequest import owner_text
from conduck_service.files.dav.locks import Lock, Locks
from conduck_service.files.disk.paths import parse_place


class LockManager:
    """Has the methods of ``wsgidav.lock_man.lock_manager.LockManager``.

    Its URLs are percent-encoded paths. There is one user, so nobody is asked who
    a lock belongs to.
    """

    def __init__(self, locks: Locks) -> None:
        self._locks = locks

    def check_write_permission(
        self, *, url: str, depth: str, token_list: Collection[str], principal: str
    ) -> None:
        """Refuse a change of what somebody else has locked."""
        del principal
        names = parse_place(url).names
        self._locks.check(names, token_list, deep=depth == "infinity")

    def acquire(
        self,
        *,
        url: str,
        lock_scope: str,
        lock_depth: str,
        lock_owner: bytes,
        timeout: int,
        **_: Any,
    ) -> dict[str, str]:
        """Make a lock."""
        lock = self._locks.add(
            parse_place(url),
            exclusive=lock_scope == "exclusive",
            deep=lock_depth == "infinity",
            owner=owner_text(lock_owner),
            seconds=timeout,
        )
        return _told(lock)

    def refresh(self, token: str, *, timeout: int) -> dict[str, str]:
        """Let a lock that was found start anew."""
        return _told(self._locks.refresh(token, timeout))

    def release(self, token: str) -> None:
        """End a lock."""
        self._locks.release(token)

    def is_url_locked_by_token(self, url: str, lock_token: str) -> bool:
        """Say whether the lock of a token holds for a place."""
        return self._locks.find(lock_token, parse_place(url).names) is not None

    def is_token_locked_by_user(self, token: str, principal: str) -> bool:
        """Say that whoever shows a token may use it."""
        del token, principal
        return True


def _told(lock: Lock) -> dict[str, str]:
    return {"token": lock.token, "root": lock.place.href}
