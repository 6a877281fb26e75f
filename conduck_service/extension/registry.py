"""Which types exist: the daemon's own, and those of packages that a config names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Protocol, TypeVar

from conduck_service.extension.connection import ConnectionType
from conduck_service.extension.executor import INTERFACES, ExecutorType
from conduck_service.extension.handler import HandlerType
from conduck_service.extension.ingress import IngressType
from conduck_service.extension.operation import Operation, Toolset
from conduck_service.extension.resource import ProviderType


class RegistrationError(Exception):
    """Raised for a type that cannot be registered; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """Types that come together, the service's own or those of a distribution.

    A distribution offers one under its own name in the entry point group
    ``conduck_service.extensions``.
    """

    name: str
    executors: tuple[ExecutorType, ...] = ()
    handlers: tuple[HandlerType, ...] = ()
    ingresses: tuple[IngressType, ...] = ()
    connections: tuple[ConnectionType, ...] = ()
    providers: tuple[ProviderType, ...] = ()
    operations: tuple[Operation, ...] = ()
    toolsets: tuple[Toolset, ...] = ()


class _Named(Protocol):
    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=_Named)

FindPackage = Callable[[str], object]
"""Returns an installed package by name, or None; its code may do anything."""


def find_nothing(_name: str) -> None:
    """Find no package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """The registered types by name.

    Attributes:
        packages: Names of the packages that they come from.
        find: Finds a package that is not among them.
    """

    executors: Mapping[str, ExecutorType] = field(default_factory=dict)
    handlers: Mapping[str, HandlerType] = field(default_factory=dict)
    ingresses: Mapping[str, IngressType] = field(default_factory=dict)
    connections: Mapping[str, ConnectionType] = field(default_factory=dict)
    providers: Mapping[str, ProviderType] = field(default_factory=dict)
    operations: Mapping[str, Operation] = field(default_factory=dict)
    toolsets: Mapping[str, Toolset] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    find: FindPackage = find_nothing

    @classmethod
    def of(cls, *packages: Package, find: FindPackage = find_nothing) -> Registry:
        """Return a registry of the types of these packages.

        Raises:
            RegistrationError: Two types of a kind have one name, or an executor
                does not have what it advertises (B-VALID-06).
        """
        registry = cls(find=find)
        for package in packages:
            registry = registry.including(package)
        return registry

    def including(self, package: Package) -> Registry:
        """Return a registry that has the types of one more package too.

        Raises:
            RegistrationError: As for :meth:`of`; nothing of it is registered.
        """
        for executor in package.executors:
            _check_interfaces(executor)
        tables = {
            item.name: _joined(getattr(self, item.name), getattr(package, item.name))
            for item in fields(Package)
            if item.name != "name"
        }
        known = tables["operations"]
        for toolset in package.toolsets:
            if not known.keys() >= set(toolset.operations):
                raise RegistrationError(
                    f"toolset {toolset.name} holds an operation that is not registered"
                )
        return Registry(
            **tables, packages=(*self.packages, package.name), find=self.find
        )


def _joined(known: Mapping[str, T], more: Iterable[T]) -> dict[str, T]:
    joined = dict(known)
    for item in more:
        if item.name in joined:
            raise RegistrationError(f"two types have the name {item.name}")
        joined[item.name] = item
    return joined


def _check_interfaces(executor: ExecutorType) -> None:
    for feature in sorted(executor.features & INTERFACES.keys()):
        method = INTERFACES[feature]
        if not callable(getattr(executor.executor, method, None)):
            raise RegistrationError(
                f"executor {executor.name} advertises {feature} and has no {method}()"
            )
