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


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits that hold for the whole daemon.

    Attributes:
        concurrency: Agent turns that may run at once; 0 means no bound.
        ready_limit: Ready plus running Work of a scope; more is refused.
        timeout_seconds: Longest life of one execution, in seconds.
    """

    concurrency: int = 4
    ready_limit: int = 10
    timeout_seconds: int = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """How Work is done: an executor with its config.

    Attributes:
        name: Name within the scope.
        executor: Registered type of the executor.
        config: The owner's decoded config, an object only it understands.
        secret_names: Scope secrets that the executor may have.
        timeout_seconds: Replaces the setting of the same name, in seconds.
        pass_env: Variables of the daemon that a run may see.
    """

    name: str
    executor: str
    config: Any
    secret_names: tuple[str, ...] = ()
    timeout_seconds: int | None = None
    pass_env: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Which events go to which binding, in slot order."""

    name: str
    handler: str
    binding: str
    active_policy: ActivePolicy
    config: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionEntry:
    """An ingress or another extension that a scope runs."""

    name: str
    type: str
    config: Any
    secret_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is in force in one scope: entries, limits and secret references.

    Attributes:
        id: Stable identity.
        name: Label for people.
        enabled: Whether the scope takes new work.
        secret_refs: Secret name to reference; the reference text is sensitive,
            so it stays out of ``repr``.
        folder: Real path of the folder that the scope's file lane serves; in a
            scope without a lane, of the shared folder that the environment
            names. Engines work in it unless their binding names another.
        has_lane: Whether a file lane of the scope serves ``folder``.
    """

    id: str
    name: str
    enabled: bool = True
    bindings: tuple[Binding, ...] = ()
    routes: tuple[Route, ...] = ()
    extensions: tuple[ExtensionEntry, ...] = ()
    secret_refs: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: Path | None = None
    has_lane: bool = False
    ready_limit: int | None = None

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
    """A checked config: everything that the daemon is built from."""

    settings: Settings
    scopes: tuple[Scope, ...]
