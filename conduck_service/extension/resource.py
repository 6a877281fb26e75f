"""The port for what an execution acquires before it runs, such as a workspace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conduck_service.extension.spec import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderType:
    """A registered resource provider.

    Attributes:
        name: The provider that bindings name.
        spec: Describes the config of a binding's resource (B-VALID-20).
    """

    name: str
    spec: Spec[Any]
