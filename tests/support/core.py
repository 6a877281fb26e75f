"""The core without a daemon: an executor that does as told, and a clock to turn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from conduck_service.base.clock import Clock, SystemClock
from conduck_service.base.redaction import Redactor
from conduck_service.domain.conversation import Conversation, Message, Role
from conduck_service.domain.scope import ActivePolicy, Binding, Route, Scope, Settings
from conduck_service.extension.executor import (
    Capabilities,
    Completed,
    ExecutionContext,
    ExecutorType,
    RunResult,
)
from conduck_service.extension.handler import EventData, HandlerType
from conduck_service.extension.ingress import TurnRequest, TurnTerms
from conduck_service.extension.registry import Package, Registry
from conduck_service.extension.spec import Spec
from conduck_service.runtime.attempts import Attempts
from conduck_service.runtime.journal import Journal
from conduck_service.runtime.lifecycle import Lifecycle
from conduck_service.runtime.pools import AgentPool
from conduck_service.runtime.scratch import Scratch
from conduck_service.runtime.turns import Core, Turns
from conduck_service.secrets.vault import Vault

Behaviour = Callable[[ExecutionContext], RunResult]


class HandClock:
    """A clock that stands still until it is turned by hand."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def now(self) -> datetime:
        """Return a fixed moment plus the seconds turned."""
        return datetime.fromtimestamp(self.seconds, UTC)

    def monotonic(self) -> float:
        """Return the seconds turned."""
        return self.seconds


@dataclass(slots=True)
class ScriptedExecutor:
    """Runs turns by calling a function; keeps what it was given.

    A binding's config is a mapping that may hold ``folder`` and ``serialize``.
    """

    behaviour: Behaviour
    contexts: list[ExecutionContext] = field(default_factory=list)

    def capabilities(self, config: Mapping[str, Any]) -> Capabilities:
        """Return whether turns may overlap, as the config says."""
        return Capabilities(serialize=bool(config.get("serialize")))

    def folder(self, config: Mapping[str, Any]) -> Path | None:
        """Return the folder of the config."""
        return config.get("folder")

    def run(self, _config: Any, context: ExecutionContext) -> RunResult:
        """Note the context and do as told."""
        self.contexts.append(context)
        return self.behaviour(context)


class Gate:
    """An engine that runs until it is let go or interrupted."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self._open = threading.Event()

    def __call__(self, _context: ExecutionContext) -> RunResult:
        """Wait for :meth:`open`, and answer."""
        self.entered.release()
        assert self._open.wait(20)
        return Completed(answer="late")

    def wait_until_entered(self) -> None:
        """Return once one more engine has started."""
        assert self.entered.acquire(timeout=20)

    def open(self) -> None:
        """Let every engine go, now and later."""
        self._open.set()


def matches_model(config: Mapping[str, Any], _type: str, data: EventData) -> bool:
    """Match what the config names."""
    return data.get("model") in config["models"]


def registry_of(executor: ScriptedExecutor) -> Registry:
    """Return a registry of one executor and one handler."""
    spec: Spec[Any] = Spec(dict, ())
    return Registry.of(
        Package(
            name="test",
            executors=(ExecutorType(name="fake", spec=spec, executor=executor),),
            handlers=(HandlerType(name="pick", spec=spec, matches=matches_model),),
        )
    )


def scope_of(
    folder: Path,
    bindings: Mapping[str, Mapping[str, Any]] | None = None,
    **more: Any,
) -> Scope:
    """Return a scope whose models are named like the bindings that serve them."""
    names = bindings or {"agent": {}}
    return Scope(
        id="home",
        name="Test",
        folder=folder,
        bindings=tuple(
            Binding(name=name, executor="fake", config=config)
            for name, config in names.items()
        ),
        routes=tuple(
            Route(
                name=name,
                handler="pick",
                binding=name,
                active_policy=ActivePolicy.QUEUE,
                config={"models": (name,)},
            )
            for name in names
        ),
        **more,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreBench:
    """A core with one scope and one entry."""

    core: Core
    scope: Scope
    turns: Turns
    executor: ScriptedExecutor

    def request(self, model: str = "agent", **more: Any) -> TurnRequest:
        """Return a request that was received now."""
        fields: dict[str, Any] = {
            "model_id": model,
            "conversation": Conversation((Message(Role.USER, "hi"),)),
            "body_bytes": 2,
            "received_at": self.core.clock.monotonic(),
            "client_gone": lambda: False,
        }
        return TurnRequest(**fields | more)


def core_bench(
    folder: Path,
    behaviour: Behaviour,
    *,
    scope: Scope | None = None,
    settings: Settings | None = None,
    clock: Clock | None = None,
    environment: Mapping[str, str] | None = None,
    **terms: Any,
) -> CoreBench:
    """Return a core over a scope; ``terms`` are keys of the entry's TurnTerms."""
    scope = scope or scope_of(folder)
    settings = settings or Settings()
    clock = clock or SystemClock()
    executor = ScriptedExecutor(behaviour)
    core = Core(
        settings=settings,
        scopes={scope.id: scope},
        attempts=_attempts(folder, executor, scope, dict(environment or {})),
        pool=AgentPool(settings.concurrency),
        journal=Journal(),
        lifecycle=Lifecycle(clock),
        clock=clock,
    )
    fields: dict[str, Any] = {
        "namespace": "test_chat",
        "models": tuple(binding.name for binding in scope.bindings),
        "deadline_seconds": 20.0,
        "start_within_seconds": 5.0,
        "queue_depth": 4,
    }
    turns = Turns(core, scope, TurnTerms(**fields | terms))
    return CoreBench(core=core, scope=scope, turns=turns, executor=executor)


def _attempts(
    folder: Path, executor: ScriptedExecutor, scope: Scope, variables: dict[str, str]
) -> Attempts:
    (folder / "scratch").mkdir(exist_ok=True)
    vault = Vault(
        scope.secret_refs, folder=folder, environment=variables, redactor=Redactor()
    )
    return Attempts(
        registry=registry_of(executor),
        vaults={scope.id: vault},
        environment=variables,
        scratch=Scratch(root=folder / "scratch", instance="instance_x"),
    )
