"""The port below the core: runs one execution of an engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from conduck_service.base.jsonio import JsonValue
from conduck_service.domain.conversation import Conversation
from conduck_service.domain.execution import FailureCode, Finish, Usage
from conduck_service.domain.scope import Binding, Scope
from conduck_service.extension.connection import ConnectionAccess
from conduck_service.extension.spec import Decoding, Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an engine can take, as its binding configures it.

    Attributes:
        images: Whether images of the current turn reach the engine.
        image_types: Media types it takes; empty means every image type.
        max_request_bytes: Largest request body it survives, if that is known.
        serialize: Whether only one turn may run in its folder at a time.
    """

    images: bool = False
    image_types: tuple[str, ...] = ()
    max_request_bytes: int | None = None
    serialize: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionContext:
    """What an executor gets for one execution.

    Attributes:
        execution_id: Id for logs; nothing of the conversation is in it.
        conversation: The whole snapshot. Ephemeral: it is never stored.
        folder: Working folder of the turn, absolute; the engine's cwd.
        scratch: Returns the turn's private folder (0700), made at the first
            call, in the daemon's own place or inside a given folder; whoever
            made the context removes it when the execution ends. Raises OSError.
        marker: Environment variable that marks every process of the turn.
        host_env: The daemon's variables that the binding passes on.
        secrets: Values of the binding's secrets by name; kept out of ``repr``.
        connection: The connection that the binding names, if it names one.
        interrupted: Returns why the turn must end now, or None. It is asked at
            least every 100 ms and answers at once.
    """

    execution_id: str
    conversation: Conversation
    folder: Path
    scratch: Callable[[Path | None], Path]
    marker: tuple[str, str]
    host_env: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    connection: ConnectionAccess | None = None
    interrupted: Callable[[], FailureCode | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """The engine answered."""

    answer: str = field(repr=False)
    usage: Usage | None = None
    finish: Finish | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The engine did not answer.

    Attributes:
        code: Why.
        detail: A few words for the operator's log, such as ``exit status 3``;
            never anything that the engine or a person wrote (C-SEC-22).
    """

    code: FailureCode
    detail: str = ""


RunResult = Completed | Failed
"""An engine that fails is an expected answer, so it is a value."""


class Executor(Protocol):
    """Runs executions of one registered type; called from many threads."""

    def capabilities(self, config: Any) -> Capabilities:
        """Return what an engine with this decoded config can take."""
        ...

    def folder(self, config: Any) -> Path | None:
        """Return the cwd that the config names, or None for the lane's root."""
        ...

    def run(self, config: Any, context: ExecutionContext) -> RunResult:
        """Run one whole turn and return how it ended.

        When this returns, no process of the turn is alive any more.
        """
        ...


FEATURES = ("workspace", "inject", "interrupt", "park", "live", "image")
"""Capabilities that a binding can require of its executor (B-BIND-12)."""

INTERFACES = {
    "inject": "inject",
    "interrupt": "interrupt",
    "park": "park",
    "live": "live",
}
"""Features that an executor has by having a method of that name (B-VALID-06)."""

ConfigObject = Mapping[str, JsonValue]
"""The config of a binding as it stands in the document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An engine on this machine, as setup shows it and writes it into a config.

    Attributes:
        label: What people call it.
        program: The program that was found.
        config: Of a binding that runs it.
    """

    label: str
    program: Path
    config: ConfigObject


def no_checks(_binding: Binding, _scope: Scope, _into: Decoding) -> None:
    """Find nothing wrong with a binding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorType:
    """A registered executor.

    Attributes:
        name: The type that bindings name.
        spec: Describes the binding's config; without one any object is taken as
            it is (B-VALID-18).
        executor: Runs it.
        check: Notes what is wrong between the binding and its scope, at
            pointers relative to the binding.
        features: Which of ``FEATURES`` it has; ``image`` depends on the config, so
            ``capabilities`` tells that.
        has_toolbelt: Whether its executions can call operations.
        connection_types: Types of the connection that it works through; with
            some, a binding has to name one of them.
        adapt: Returns the config of a binding from an included folder as it holds
            in that folder; raises when it cannot (B-INCL-24). Without one, config
            from folders is taken as it is.
        find: Looks for its engine with the variables of the process, without
            running anything; None when it is not there. Without one, setup
            proposes no binding of this type.
    """

    name: str
    spec: Spec[Any] | None
    executor: Executor
    check: Callable[[Binding, Scope, Decoding], None] = no_checks
    features: frozenset[str] = frozenset()
    has_toolbelt: bool = False
    connection_types: tuple[str, ...] = ()
    adapt: Callable[[ConfigObject, Path], ConfigObject] | None = None
    find: Callable[[Mapping[str, str]], Found | None] | None = None
