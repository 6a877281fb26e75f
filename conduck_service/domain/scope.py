"""The effective config objects that the core works with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any


class ActivePolicy(StrEnum):
    """What a route does with an event whose Work is active already."""

    QUEUE = "queue"
    INJECT = "inject"
    INTERRUPT = "interrupt"
    DROP = "drop"


class Fallback(StrEnum):
    """What a route does when the executor cannot do what its policy asks for."""

    QUEUE = "queue"
    DROP = "drop"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageBudget:
    """Tokens that agent turns may use within a window of time.

    Attributes:
        tokens: How many.
        window_seconds: Length of the window.
        scope: The scope that it holds for; None for all of them together.
    """

    tokens: int
    window_seconds: int
    scope: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageSettings:
    """What the config grants one extension package.

    Attributes:
        pass_env: Variables of the daemon that the package's processes may see.
    """

    pass_env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits that hold for the whole daemon; times are in seconds.

    Attributes:
        concurrency: Agent turns that may run at once; 0 means no bound.
        job_concurrency: Jobs that may run at once; 0 means no bound.
        ready_limit: Ready plus running Work of a scope; more is refused.
        reconcile_seconds: Between two looks at what sources may have missed.
        timeout_seconds: Longest life of one execution.
        kept_executions: Executions of one Work that are kept.
        kept_finished_days: Days that runs of finished Work keep their content.
        retry_delays_seconds: Waits before each repetition of a failed attempt.
        causal_depth_limit: Longest chain of events that cause each other.
        causal_rate_limit: Events of one chain within a minute.
        usage_budgets: Tokens that may be used within a time.
        extensions: Package name to what it is granted.
    """

    concurrency: int = 4
    job_concurrency: int = 4
    ready_limit: int = 10
    reconcile_seconds: int = 900
    timeout_seconds: int = 3600
    kept_executions: int = 20
    kept_finished_days: int = 14
    retry_delays_seconds: tuple[int, ...] = (300, 600)
    causal_depth_limit: int = 32
    causal_rate_limit: int = 128
    usage_budgets: tuple[UsageBudget, ...] = ()
    extensions: Mapping[str, PackageSettings] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """An account or a server elsewhere that scopes can be granted.

    Attributes:
        id: Stable identity, global in the config.
        type: Registered type, which knows the config.
        config: The owner's decoded config; nothing in it is secret.
        secret_refs: Slot of the type to reference; the text is sensitive.
    """

    id: str
    type: str
    config: Any = None
    secret_refs: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a scope; None leaves the one above in force.

    They hold for everything of the scope and of the scopes below it together.
    """

    concurrency: int | None = None
    job_concurrency: int | None = None
    ready_limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorization:
    """The ceiling of a scope: what its bindings can be given at most.

    Attributes:
        connections: Ids of connections.
        operations: Names of operations, with toolsets and denials resolved.
        read_scopes: Scopes whose events may be waited for.
        file_scopes: Scopes in whose trackers issues may be filed.
    """

    connections: frozenset[str] = frozenset()
    operations: frozenset[str] = frozenset()
    read_scopes: frozenset[str] = frozenset()
    file_scopes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """What a binding has acquired for each execution, such as a workspace.

    Attributes:
        provider: Registered provider.
        config: The owner's decoded config.
        pass_env: Variables of the daemon that the provider's commands may see;
            they never reach the run.
    """

    provider: str
    config: Any = None
    pass_env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a binding offers a Work beyond what it gives every Work.

    Attributes:
        name: Name within the binding.
        label: For people; empty when there is none.
        operations: Operations that come on top.
        config: The owner's decoded config of the binding with this grant alone.
    """

    name: str
    label: str = ""
    operations: frozenset[str] = frozenset()
    config: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """How Work is done: an executor with its config.

    Attributes:
        name: Name within the scope.
        executor: Registered type of the executor.
        config: The owner's decoded config, an object only it understands.
        connection: Id of the connection that its executions may act as.
        requires: Capabilities that the executor must have.
        operations: Names of operations that its executions may call.
        secret_names: Scope secrets that the executor may have.
        resource: What each execution acquires first.
        timeout_seconds: Replaces the setting of the same name, in seconds.
        grants: What a Work can be given on top, in order.
        pass_env: Variables of the daemon that a run may see.
    """

    name: str
    executor: str
    config: Any = None
    connection: str | None = None
    requires: frozenset[str] = frozenset()
    operations: frozenset[str] = frozenset()
    secret_names: tuple[str, ...] = ()
    resource: Resource | None = None
    timeout_seconds: int | None = None
    grants: tuple[Grant, ...] = ()
    pass_env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Which events go to which binding, in slot order.

    Attributes:
        name: Name within the scope.
        handler: Registered handler that says which events it takes.
        binding: Name of the binding that does the work.
        active_policy: What happens while the Work is active already.
        unsupported_fallback: What happens instead where the executor cannot.
        error_fallback: What happens instead where doing that fails.
        config: The owner's decoded config.
    """

    name: str
    handler: str
    binding: str
    active_policy: ActivePolicy
    unsupported_fallback: Fallback | None = None
    error_fallback: Fallback | None = None
    config: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionEntry:
    """An ingress or another extension that a scope runs.

    Attributes:
        name: Name within the scope.
        type: Registered type.
        config: The owner's decoded config.
        connection: Id of the connection that it may act as.
        secret_names: Scope secrets that it may have.
    """

    name: str
    type: str
    config: Any = None
    connection: str | None = None
    secret_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is in force in one scope, inherited entries included.

    Attributes:
        id: Stable identity.
        name: Label for people.
        parent: Id of the scope above; None for a root.
        enabled: Whether the scope and every scope above it takes new work.
        source: The included folder that the scope comes from.
        limits: Its own limits; those of the scopes above hold beside them.
        authorization: The ceiling in force.
        bindings: By name; inherited ones first.
        routes: In slot order.
        extensions: Those in force; an inherited one is run by its own scope only.
        own_extensions: Names of the extensions that this scope declares.
        secret_refs: Secret name to reference; the reference text is sensitive,
            so it stays out of ``repr``.
        folder: Real path of the folder that the scope's file lane serves; without
            one, that of the nearest scope above with a lane; else the shared folder
            that the environment names. Engines work in it unless their binding
            names another.
        has_lane: Whether a file lane of this scope or one above serves ``folder``.
    """

    id: str
    name: str
    parent: str | None = None
    enabled: bool = True
    source: Path | None = None
    limits: Limits = Limits()
    authorization: Authorization = Authorization()
    bindings: tuple[Binding, ...] = ()
    routes: tuple[Route, ...] = ()
    extensions: tuple[ExtensionEntry, ...] = ()
    own_extensions: frozenset[str] = frozenset()
    secret_refs: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: Path | None = None
    has_lane: bool = False

    def binding(self, name: str) -> Binding:
        """Return the binding of that name.

        Raises:
            LookupError: There is none.
        """
        for binding in self.bindings:
            if binding.name == name:
                return binding
        raise LookupError(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A checked config: everything that the daemon is built from.

    Attributes:
        settings: Limits of the whole daemon.
        connections: By id.
        scopes: The effective scopes, those of the config file first.
    """

    settings: Settings
    connections: Mapping[str, Connection] = field(default_factory=dict)
    scopes: tuple[Scope, ...] = ()
