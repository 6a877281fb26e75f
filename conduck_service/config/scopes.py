"""A scope of the config, described once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from conduck_service.base.ids import NAME
from conduck_service.config.entries import BINDING, EXTENSION, OPERATIONS, ROUTE
from conduck_service.config.fields import Entries, SecretOverlay
from conduck_service.domain.scope import Limits
from conduck_service.extension.kinds import (
    Boolean,
    Integer,
    ListOf,
    MapOf,
    Name,
    Object,
    Text,
)
from conduck_service.extension.spec import Field, Spec

_NAMES = ListOf(Name(), unique=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredScope:
    """What a scope says about itself, before it inherits anything.

    Attributes:
        limits: None where it sets none of its own.
        authorization: Key to what it lists; None for what it inherits.
        secret_refs: Name to reference, or False for a name that is taken away.
    """

    id: str
    name: str
    parent: str | None = None
    enabled: bool = True
    limits: Limits = field(default_factory=Limits)
    authorization: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    secret_refs: dict[str, str | bool] = field(default_factory=dict, repr=False)


def _make_scope(
    *, bindings: object, routes: object, extensions: object, **own: Any
) -> DeclaredScope:
    del bindings, routes, extensions  # each of them is decoded by itself
    return DeclaredScope(**own)


def _limit(name: str, doc: str) -> Field:
    return Field(name=name, kind=Integer(1), default=None, doc=doc, shown=True)


LIMITS: Spec[Limits] = Spec(
    Limits,
    (
        _limit("concurrency", "Agent turns of this scope and those below at once."),
        _limit("job_concurrency", "Jobs of this scope and those below at once."),
        _limit("ready_limit", "Ready plus running Work of this scope and those below."),
    ),
)

AUTHORIZATION: Spec[dict[str, tuple[str, ...] | None]] = Spec(
    dict,
    (
        Field(
            name="connections",
            kind=_NAMES,
            default=None,
            doc="Ids of the connections that may be used here.",
            shown=True,
        ),
        Field(
            name="operations",
            kind=OPERATIONS,
            default=None,
            doc="Operations that bindings may list: names, toolsets as @name, and "
            "!name to leave one out.",
            shown=True,
        ),
        Field(
            name="read_scopes",
            kind=_NAMES,
            default=None,
            doc="Scopes whose events may be waited for.",
            shown=True,
        ),
        Field(
            name="file_scopes",
            kind=_NAMES,
            default=None,
            doc="Scopes in whose trackers issues may be filed and commented on.",
            shown=True,
        ),
    ),
)

SCOPE: Spec[DeclaredScope] = Spec(
    _make_scope,
    (
        Field(
            name="id",
            kind=Name(),
            doc="Identity of the scope; another id makes it another scope.",
            shown=True,
        ),
        Field(name="name", kind=Text(), doc="Label for people.", shown=True),
        Field(
            name="parent",
            kind=Name(),
            default=None,
            doc="Id of the scope that this one is in and inherits from.",
            shown=True,
        ),
        Field(
            name="enabled",
            kind=Boolean(),
            default=True,
            doc="Whether the scope, and every scope in it, takes new work.",
            shown=True,
        ),
        Field(
            name="limits",
            kind=Object(LIMITS),
            default=Limits(),
            doc="Limits that are stricter than those of the scope above and of the "
            "settings.",
            shown=True,
        ),
        Field(
            name="authorization",
            kind=Object(AUTHORIZATION),
            default={},
            doc="The most that bindings of the scope can be given. A list that is "
            "left out is that of the scope above; in a scope without one, empty.",
            shown=True,
        ),
        Field(
            name="bindings",
            kind=Entries(BINDING),
            default=(),
            doc="How work of the scope is done.",
        ),
        Field(
            name="routes",
            kind=Entries(ROUTE),
            default=(),
            doc="Which events go to which binding; the first that takes one has it.",
        ),
        Field(
            name="extensions",
            kind=Entries(EXTENSION),
            default=(),
            doc="Where the events of the scope come from.",
        ),
        Field(
            name="secret_refs",
            kind=MapOf(SecretOverlay(), NAME.pattern, "a name of a-z, 0-9, _ and -"),
            default={},
            doc="Secret names of the scope and where each value is kept; false takes "
            "an inherited name away.",
        ),
    ),
)
