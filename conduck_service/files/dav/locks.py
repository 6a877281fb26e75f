"""Write locks: in memory, short, and gone with the process."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from http import HTTPStatus

from conduck_service.base.clock import Clock, SystemClock
from conduck_service.files.disk.paths import Place
from conduck_service.files.errors import LaneError

LONGEST_SECONDS = 300
"""A lock that somebody forgot stops nobody for longer; clients refresh theirs."""

MOST = 10_000

Names = tuple[bytes, ...]
Tokens = Collection[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """One lock.

    Attributes:
        token: What whoever made it shows.
        names: The steps to what it was made for.
        is_exclusive: Whether it is the only one there.
        is_deep: Whether it holds for everything below too.
        owner: What its maker says of itself, an XML element, or nothing.
        expires: When it ends, by the monotonic clock.
    """

    token: str
    names: Names
    is_exclusive: bool
    is_deep: bool
    owner: str
    expires: float

    @property
    def place(self) -> Place:
        """What it was made for."""
        return Place(self.names)


class Locks:
    """The locks of a shared folder, and what is being written right now.

    Args:
        clock: Its monotonic time ends locks.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._mutex = threading.Lock()
        self._by_token: dict[str, Lock] = {}
        self._by_names: dict[Names, list[str]] = {}
        self._writes: dict[Names, int] = {}

    def covering(self, names: Names) -> list[Lock]:
        """Return the locks that hold for a place, its own and those from above."""
        with self._mutex:
            return self._covering(names)

    def find(self, token: str, names: Names) -> Lock | None:
        """Return the lock of a token, if it holds for a place."""
        return next((one for one in self.covering(names) if one.token == token), None)

    def check(self, names: Names, tokens: Tokens, *, deep: bool = False) -> None:
        """Refuse a change of what somebody else has locked.

        Args:
            names: The steps to what is to be changed.
            tokens: Those that the request shows.
            deep: Whether everything below is changed too.

        Raises:
            LaneError: 423.
        """
        with self._mutex:
            self._check(names, tokens, deep=deep)

    def writing(
        self,
        names: Names,
        tokens: Tokens,
        *,
        deep: bool = False,
        is_new: bool = False,
    ) -> AbstractContextManager[None]:
        """Return what keeps locks off a place while it is changed.

        Args:
            names: As for :meth:`check`.
            tokens: As for :meth:`check`.
            deep: As for :meth:`check`.
            is_new: Whether the name comes to be, which changes its folder too.

        Raises:
            LaneError: 423, when it is entered.
        """
        return _Writing(self, names, tokens, deep, is_new)

    def begin(self, names: Names, tokens: Tokens, deep: bool, is_new: bool) -> None:
        """Begin what :meth:`writing` does; :meth:`end` ends it."""
        with self._mutex:
            if self._by_token:
                self._check(names, tokens, deep=deep)
                if is_new and names:
                    self._check(names[:-1], tokens, deep=False)
            self._writes[names] = self._writes.get(names, 0) + 1

    def end(self, names: Names) -> None:
        """End what :meth:`begin` began."""
        with self._mutex:
            left = self._writes.pop(names) - 1
            if left:
                self._writes[names] = left

    def check_free(self, place: Place, *, exclusive: bool, deep: bool) -> None:
        """Refuse a lock that somebody's lock or a running write rules out.

        Raises:
            LaneError: 423, or 507 when there are too many locks.
        """
        with self._mutex:
            self._check_free(place.names, exclusive=exclusive, deep=deep)

    def add(
        self,
        place: Place,
        *,
        exclusive: bool,
        deep: bool,
        owner: str,
        seconds: int,
    ) -> Lock:
        """Make a lock and return it.

        Raises:
            LaneError: As for :meth:`check_free`.
        """
        with self._mutex:
            self._check_free(place.names, exclusive=exclusive, deep=deep)
            lock = Lock(
                token=f"urn:uuid:{uuid.uuid4()}",
                names=place.names,
                is_exclusive=exclusive,
                is_deep=deep,
                owner=owner,
                expires=self._clock.monotonic() + min(seconds, LONGEST_SECONDS),
            )
            self._by_token[lock.token] = lock
            self._by_names.setdefault(lock.names, []).append(lock.token)
            return lock

    def refresh(self, token: str, seconds: int) -> Lock:
        """Let a lock start anew.

        Raises:
            LaneError: 412, it has ended meanwhile.
        """
        with self._mutex:
            lock = next(iter(self._alive([token])), None)
            if lock is None:
                raise LaneError(
                    HTTPStatus.PRECONDITION_FAILED,
                    "no_such_lock",
                    "this lock has ended; make a new one",
                    condition="lock-token-matches-request-uri",
                )
            ends = self._clock.monotonic() + min(seconds, LONGEST_SECONDS)
            lock = self._by_token[token] = replace(lock, expires=ends)
            return lock

    def release(self, token: str) -> None:
        """End a lock, if it is there."""
        with self._mutex:
            self._release(token)

    def release_all(self, names: Names, *, itself: bool = True) -> None:
        """End all locks at and below a place that is gone.

        Args:
            names: The steps to it.
            itself: Whether its own are ended too.
        """
        with self._mutex:
            for lock in self._below(names) if self._by_token else ():
                self._release(lock.token)
            if itself:
                for token in self._by_names.get(names, [])[:]:
                    self._release(token)

    def seconds_left(self, lock: Lock) -> int:
        """Return for how long a lock still holds, in whole seconds."""
        return max(0, round(lock.expires - self._clock.monotonic()))

    def _check(self, names: Names, tokens: Tokens, *, deep: bool) -> None:
        if not self._by_token:
            return
        places = {names}
        if deep:
            places.update(lock.names for lock in self._below(names))
        for place in places:
            covering = self._covering(place)
            # Any one of several shared locks is enough.
            if covering and not any(lock.token in tokens for lock in covering):
                raise _locked("lock-token-submitted", covering[0].names)

    def _check_free(self, names: Names, *, exclusive: bool, deep: bool) -> None:
        others = self._covering(names)
        if deep:
            others += self._below(names)
        for other in others:
            if exclusive or other.is_exclusive:
                raise _locked("no-conflicting-lock", other.names)
        if any(
            names == written or _is_above(written, names) or _is_above(names, written)
            for written in self._writes
            if deep or len(written) <= len(names)
        ):
            raise _locked("no-conflicting-lock", names)
        if len(self._by_token) >= MOST:
            self._drop_expired()
        if len(self._by_token) >= MOST:
            raise LaneError(
                HTTPStatus.INSUFFICIENT_STORAGE,
                "too_many_locks",
                "there are too many locks; try again in a few minutes",
            )

    def _covering(self, names: Names) -> list[Lock]:
        if not self._by_token:
            return []
        return [
            lock
            for length in range(len(names) + 1)
            for lock in self._alive(self._by_names.get(names[:length], ()))
            if lock.is_deep or length == len(names)
        ]

    def _below(self, names: Names) -> list[Lock]:
        return [
            lock
            for lock in self._alive(list(self._by_token))
            if _is_above(names, lock.names)
        ]

    def _alive(self, tokens: Collection[str]) -> list[Lock]:
        now = self._clock.monotonic()
        locks = (self._by_token[token] for token in tokens if token in self._by_token)
        return [lock for lock in locks if lock.expires > now]

    def _drop_expired(self) -> None:
        now = self._clock.monotonic()
        for lock in list(self._by_token.values()):
            if lock.expires <= now:
                self._release(lock.token)

    def _release(self, token: str) -> None:
        lock = self._by_token.pop(token, None)
        if lock is None:
            return
        left = [one for one in self._by_names[lock.names] if one != token]
        if left:
            self._by_names[lock.names] = left
        else:
            del self._by_names[lock.names]


@dataclass(frozen=True, slots=True)
class _Writing(AbstractContextManager[None]):
    """A change under way; no generator, for every upload goes through it."""

    locks: Locks
    names: Names
    tokens: Tokens
    deep: bool
    is_new: bool

    def __enter__(self) -> None:
        self.locks.begin(self.names, self.tokens, self.deep, self.is_new)

    def __exit__(self, *_: object) -> None:
        self.locks.end(self.names)


def _is_above(names: Names, others: Names) -> bool:
    return len(names) < len(others) and others[: len(names)] == names


def _locked(condition: str, names: Names) -> LaneError:
    return LaneError(
        HTTPStatus.LOCKED,
        "locked",
        "somebody has locked this; try again in a few minutes",
        condition=condition,
        href=Place(names).href,
    )
