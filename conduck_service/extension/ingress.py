"""The port beside the core: a source of events with a life of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from conduck_service.base.clock import Clock
from conduck_service.domain.conversation import Conversation
from conduck_service.domain.execution import Finish, Usage
from conduck_service.domain.scope import ExtensionEntry, Scope
from conduck_service.extension.executor import Capabilities
from conduck_service.extension.spec import Decoding, Spec


class StartError(Exception):
    """Raised when an ingress cannot start; the text holds cause and remedy."""


class HopelessStartError(StartError):
    """Raised when an ingress cannot start and no restart cures it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """A chat request that waits for its answer.

    Attributes:
        model_id: The advertised id that was chosen.
        conversation: What was asked; lives in memory only.
        body_bytes: Size of the request body.
        received_at: Monotonic time at which the last byte of the body came; the
            turn's deadline counts from here (C-TIME-02).
        client_gone: Says whether the peer has left; answers at once.
    """

    model_id: str
    conversation: Conversation
    body_bytes: int
    received_at: float
    client_gone: Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReply:
    """The answer of one complete turn."""

    turn_id: str
    model_id: str
    answer: str
    usage: Usage | None = None
    finish: Finish | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTerms:
    """What a chat entry offers and what it allows its turns.

    Attributes:
        namespace: Names the source of its events.
        models: The advertised ids; every one has a route.
        deadline_seconds: From receipt of the whole body to the answer.
        start_within_seconds: Longest wait for a slot.
        queue_depth: Turns of the entry that may wait at once.
    """

    namespace: str
    models: tuple[str, ...]
    deadline_seconds: float
    start_within_seconds: float
    queue_depth: int


class TurnPort(Protocol):
    """Runs chat turns of one entry; called from many threads."""

    @property
    def capacity(self) -> int:
        """Turns that can run or wait at once."""
        ...

    def capabilities(self, model_id: str) -> Capabilities:
        """Return what the engine behind an advertised id can take."""
        ...

    def check_enabled(self) -> None:
        """Refuse everything while the scope is switched off.

        Raises:
            ServiceError: UNAVAILABLE.
        """
        ...

    def check_room(self) -> None:
        """Refuse early what could not be queued anyway.

        Raises:
            ServiceError: QUEUE_FULL or UNAVAILABLE.
        """
        ...

    def run(self, request: TurnRequest) -> TurnReply:
        """Run one complete turn in this thread and return its answer.

        Raises:
            ServiceError: The turn was refused, failed or ran out of time.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class IngressContext:
    """What an ingress gets from the core.

    Attributes:
        scope: The scope that holds the entry.
        secret: Returns the value of a secret name of the entry, or None when
            it cannot be had; the reason is logged where it is found. It may be asked
            for every request: the value is resolved at the first call, and anew
            at the first one after a secret was written.
        open_turns: Returns the port for turns on these terms.
        turns_running: Returns the number of turns that an engine works on now,
            those of all scopes together; costs next to nothing.
        since_turn: Returns the seconds for which no turn has run: 0 while one
            does, infinity when there was none yet.
        has_grace: Says whether the daemon is being stopped and what still runs
            may go on for a while.
        clock: The time.
        slot: The same as ``secret`` for a slot of the entry's connection.
    """

    scope: Scope
    secret: Callable[[str], str | None]
    open_turns: Callable[[TurnTerms], TurnPort]
    turns_running: Callable[[], int]
    since_turn: Callable[[], float]
    has_grace: Callable[[], bool]
    clock: Clock
    slot: Callable[[str], str | None] = lambda _name: None


class Ingress(Protocol):
    """A running source of events."""

    @property
    def address(self) -> str:
        """Where it listens, for people, such as ``http://127.0.0.1:8480``."""
        ...

    def start(self) -> None:
        """Bind and begin to serve; returns when requests are accepted.

        Raises:
            StartError: It cannot, with what to do about it.
        """
        ...

    def answers(self, seconds: float) -> bool:
        """Say whether it attends to what comes in; it has so many seconds to find out.

        A service manager starts a daemon anew that does not.
        """
        ...

    def close_doors(self) -> None:
        """Refuse new requests from now on; running ones go on."""
        ...

    def stop(self) -> None:
        """End serving; returns when no request is being answered any more."""
        ...


CapabilitiesOf = Callable[[str], Capabilities | None]
"""Returns what the named binding can take, or None when it is not usable."""


def no_checks(
    _entry: ExtensionEntry,
    _scope: Scope,
    _capabilities: CapabilitiesOf,
    _into: Decoding,
) -> None:
    """Find nothing wrong with an entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngressType:
    """A registered extension type that is an ingress.

    Attributes:
        name: The type that extension entries name.
        spec: Describes the entry's config.
        build: Makes the ingress of an entry; starts nothing.
        check: Notes what is wrong between the entry and its scope, at pointers
            relative to the entry.
        folder: The key of the entry's config that names the folder which the
            entry serves, a path or None; empty for a type that serves none. The
            folder in force is then ``Scope.folder``.
    """

    name: str
    spec: Spec[Any]
    build: Callable[[ExtensionEntry, IngressContext], Ingress]
    check: Callable[[ExtensionEntry, Scope, CapabilitiesOf, Decoding], None] = no_checks
    folder: str = ""
