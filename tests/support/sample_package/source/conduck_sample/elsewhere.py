"""Connection types, a resource provider, and an ingress that hears nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from conduck_service.domain.scope import ExtensionEntry, Scope
from conduck_service.extension.connection import ConnectionType
from conduck_service.extension.ingress import (
    CapabilitiesOf,
    Ingress,
    IngressContext,
    IngressType,
)
from conduck_service.extension.kinds import Boolean, FilePath, Name, Text
from conduck_service.extension.listener import LISTENER_FIELDS, check_listener
from conduck_service.extension.resource import ProviderType
from conduck_service.extension.spec import Decoding, Field, Spec

from .notes import note


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountConfig:
    """Config of a connection."""

    server: str = "tracker"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShelfConfig:
    """Config of a binding's resource."""

    path: Path
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BellConfig:
    """Config of a bell entry."""

    namespace: str
    scope: str
    secret: str


_ACCOUNT = Spec(
    AccountConfig,
    (
        Field(
            name="server",
            kind=Text(),
            default="tracker",
            doc="Name of the server.",
            shown=True,
        ),
    ),
)

_SHELF = Spec(
    ShelfConfig,
    (
        Field(name="path", kind=FilePath(), doc="The folder."),
        Field(
            name="read_only",
            kind=Boolean(),
            default=False,
            doc="Nothing may be changed in it.",
            shown=True,
        ),
    ),
)

_BELL = Spec(
    BellConfig,
    (
        *(item for item in LISTENER_FIELDS if item.name != "port"),
        Field(name="secret", kind=Name(), doc="Which of secret_names it rings with."),
    ),
)


class Bell:
    """A source of events that never has one."""

    def __init__(self, entry: ExtensionEntry, context: IngressContext) -> None:
        self._entry = entry
        self._context = context

    @property
    def address(self) -> str:
        """Where it is."""
        return f"bell:{self._entry.config.namespace}"

    def start(self) -> None:
        """Note the secret that it has."""
        value = self._context.secret(self._entry.config.secret)
        note("bell", entry=self._entry.name, secret=value)

    def answers(self, seconds: float) -> bool:
        """It waits for nobody."""
        del seconds
        return True

    def close_doors(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""


def _build(entry: ExtensionEntry, context: IngressContext) -> Ingress:
    return Bell(entry, context)


def _check(
    entry: ExtensionEntry,
    scope: Scope,
    _capabilities: CapabilitiesOf,
    into: Decoding,
) -> None:
    check_listener(entry, scope, "secret", into)


CONNECTIONS = (
    ConnectionType(
        name="account", spec=_ACCOUNT, slots={"token": "What the server wants to see."}
    ),
    ConnectionType(name="other", spec=_ACCOUNT),
)

PROVIDERS = (ProviderType(name="shelf", spec=_SHELF),)

INGRESSES = (IngressType(name="bell", spec=_BELL, build=_build, check=_check),)
