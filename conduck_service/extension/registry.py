"""Which types exist; built explicitly by the daemon, changed by nobody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from conduck_service.extension.executor import ExecutorType
from conduck_service.extension.handler import HandlerType
from conduck_service.extension.ingress import IngressType


@dataclass(frozen=True, slots=True)
class Registry:
    """The registered types by name."""

    executors: Mapping[str, ExecutorType]
    handlers: Mapping[str, HandlerType]
    ingresses: Mapping[str, IngressType]

    @classmethod
    def of(
        cls,
        *,
        executors: tuple[ExecutorType, ...] = (),
        handlers: tuple[HandlerType, ...] = (),
        ingresses: tuple[IngressType, ...] = (),
    ) -> Registry:
        """Return a registry of these types; a name is registered once."""
        return cls(
            MappingProxyType({item.name: item for item in executors}),
            MappingProxyType({item.name: item for item in handlers}),
            MappingProxyType({item.name: item for item in ingresses}),
        )
