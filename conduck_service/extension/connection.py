"""The port for accounts and servers elsewhere: what a type of connection needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conduck_service.extension.spec import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionType:
    """A registered type of connection.

    Attributes:
        name: The type that connections name.
        spec: Describes its config, in which nothing is secret.
        slots: Secrets that a connection may have, each with a sentence that says
            what it is.
    """

    name: str
    spec: Spec[Any]
    slots: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionAccess:
    """What an execution gets of the connection that its binding names.

    Attributes:
        config: The decoded config of the connection.
        secrets: Value of each slot that has one; kept out of ``repr``. They are for
            the executor itself and go into no environment (B-SECRET-37).
    """

    config: Any
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
