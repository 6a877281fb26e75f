"""The core's own objects of a version 1 document, described once."""

from __future__ import annotations

from typing import Any

from conduck_service.base.ids import NAME
from conduck_service.config.fields import Entries, Owned, SecretReference, Version
from conduck_service.domain.scope import (
    ActivePolicy,
    Binding,
    Document,
    ExtensionEntry,
    Route,
    Scope,
    Settings,
)
from conduck_service.extension.kinds import (
    Boolean,
    Choice,
    Integer,
    ListOf,
    MapOf,
    Name,
    Object,
    Text,
)
from conduck_service.extension.spec import Field, Spec

VERSION = 1
LONGEST_TIMEOUT = 2**31 - 1

_TIMEOUT = Integer(1, LONGEST_TIMEOUT)
_SECRET_NAMES = ListOf(Name(), unique=True)


def _make_route(*, active_policy: str, **own: Any) -> Route:
    return Route(active_policy=ActivePolicy(active_policy), **own)


def _make_scope(*, limits: int | None, **own: Any) -> Scope:
    return Scope(ready_limit=limits, **own)


def _make_limits(*, ready_limit: int | None) -> int | None:
    return ready_limit


def _make_document(*, version: int, settings: Settings, scopes: tuple[()]) -> Document:
    del version  # there is only this one
    return Document(settings=settings, scopes=scopes)


SETTINGS: Spec[Settings] = Spec(
    Settings,
    (
        Field(
            name="concurrency",
            kind=Integer(0, 1000),
            default=4,
            doc="Agent turns that may run at once; 0 sets no bound.",
            shown=True,
        ),
        Field(
            name="ready_limit",
            kind=Integer(1),
            default=10,
            doc="Ready plus running Work that a scope may have; more is refused.",
            shown=True,
        ),
        Field(
            name="timeout_seconds",
            kind=_TIMEOUT,
            default=3600,
            doc="Longest life of one execution, in seconds.",
            shown=True,
        ),
    ),
)

BINDING: Spec[Binding] = Spec(
    Binding,
    (
        Field(name="name", kind=Name(), doc="Name of the binding in its scope."),
        Field(
            name="executor",
            kind=Name(),
            doc="Registered executor that does the work.",
        ),
        Field(
            name="config",
            kind=Owned(),
            default=None,
            doc="Config of the executor, as its own page describes it.",
        ),
        Field(
            name="secret_names",
            kind=_SECRET_NAMES,
            default=(),
            doc="Secrets of the scope that the executor may have.",
        ),
        Field(
            name="timeout_seconds",
            kind=_TIMEOUT,
            default=None,
            doc="Longest life of an execution of this binding, in seconds, in the "
            "place of the setting.",
            shown=True,
        ),
        Field(
            name="pass_env",
            kind=ListOf(
                Text(
                    "[A-Za-z_][A-Za-z0-9_]*",
                    "a variable of letters, digits and _, no digit first",
                ),
                unique=True,
            ),
            default=(),
            doc="Variables of the daemon's environment that its runs may see; none "
            "that begins with OS_ or OPEN_CONDUIT_, none that holds a secret.",
        ),
    ),
)

ROUTE: Spec[Route] = Spec(
    _make_route,
    (
        Field(name="name", kind=Name(), doc="Name of the route in its scope."),
        Field(
            name="handler",
            kind=Name(),
            doc="Registered handler that says which events the route takes.",
        ),
        Field(
            name="binding",
            kind=Name(),
            doc="Binding of the scope that does the work of these events.",
        ),
        Field(
            name="active_policy",
            kind=Choice(tuple(policy.value for policy in ActivePolicy)),
            doc="What becomes of an event whose Work is active already.",
        ),
        Field(
            name="config",
            kind=Owned(),
            default=None,
            doc="Config of the handler, as its own page describes it.",
        ),
    ),
)

EXTENSION: Spec[ExtensionEntry] = Spec(
    ExtensionEntry,
    (
        Field(name="name", kind=Name(), doc="Name of the entry in its scope."),
        Field(name="type", kind=Name(), doc="Registered type of the extension."),
        Field(
            name="config",
            kind=Owned(),
            default=None,
            doc="Config of the extension, as its own page describes it.",
        ),
        Field(
            name="secret_names",
            kind=_SECRET_NAMES,
            default=(),
            doc="Secrets of the scope that the extension may have.",
        ),
    ),
)

LIMITS: Spec[int | None] = Spec(
    _make_limits,
    (
        Field(
            name="ready_limit",
            kind=Integer(1),
            default=None,
            doc="Ready plus running Work of this scope; at most the setting.",
            shown=True,
        ),
    ),
)

SCOPE: Spec[Scope] = Spec(
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
            name="enabled",
            kind=Boolean(),
            default=True,
            doc="Whether the scope takes new work.",
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
            kind=MapOf(SecretReference(), NAME.pattern, "a name of a-z, 0-9, _ and -"),
            default={},
            doc="Secret names of the scope and where each value is kept.",
        ),
        Field(
            name="limits",
            kind=Object(LIMITS),
            default=None,
            doc="Limits that are stricter than the settings.",
            shown=True,
        ),
    ),
)

DOCUMENT: Spec[Document] = Spec(
    _make_document,
    (
        Field(
            name="version",
            kind=Version(VERSION),
            doc=f"Version of the config's form; write {VERSION}.",
        ),
        Field(
            name="settings",
            kind=Object(SETTINGS),
            default=Settings(),
            doc="Limits that hold for the whole daemon.",
        ),
        Field(
            name="scopes",
            kind=Entries(SCOPE, non_empty=True),
            doc="What the daemon works for; at least one.",
        ),
    ),
)
