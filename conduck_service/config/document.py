"""The version 1 document and an included fragment of it, described once."""

from __future__ import annotations

from typing import Any

from conduck_service.base.ids import NAME
from conduck_service.config.entries import TIMEOUT, VARIABLES
from conduck_service.config.fields import Entries, Owned, SecretReference, Version
from conduck_service.config.scopes import SCOPE
from conduck_service.domain.scope import (
    Connection,
    PackageSettings,
    Settings,
    UsageBudget,
)
from conduck_service.extension.kinds import (
    Integer,
    ListOf,
    MapOf,
    Name,
    Object,
    Text,
)
from conduck_service.extension.spec import Field, Spec

VERSION = 1

_PACKAGE_NAME = "[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?"

_VERSION = Field(
    name="version",
    kind=Version(VERSION),
    doc=f"Version of the config's form; write {VERSION}.",
)


def _number(name: str, kind: Integer, default: int, doc: str) -> Field:
    return Field(name=name, kind=kind, default=default, doc=doc, shown=True)


BUDGET: Spec[UsageBudget] = Spec(
    UsageBudget,
    (
        Field(
            name="tokens",
            kind=Integer(1),
            doc="Tokens that may be used within the window.",
            shown=True,
        ),
        Field(
            name="window_seconds",
            kind=TIMEOUT,
            doc="Length of the window, in seconds.",
            shown=True,
        ),
        Field(
            name="scope",
            kind=Name(),
            default=None,
            doc="Id of the scope that it holds for; all of them when left out.",
            shown=True,
        ),
    ),
)

PACKAGE: Spec[PackageSettings] = Spec(
    PackageSettings,
    (
        Field(
            name="pass_env",
            kind=VARIABLES,
            default=(),
            doc="Variables of the daemon's environment that processes of the package "
            "may see.",
        ),
    ),
)

SETTINGS: Spec[Settings] = Spec(
    Settings,
    (
        _number(
            "concurrency",
            Integer(0, 1000),
            4,
            "Agent turns that may run at once; 0 sets no bound.",
        ),
        _number(
            "job_concurrency",
            Integer(0, 1000),
            4,
            "Jobs that may run at once; 0 sets no bound.",
        ),
        _number(
            "ready_limit",
            Integer(1),
            10,
            "Ready plus running Work that a scope may have; more is refused.",
        ),
        _number(
            "reconcile_seconds",
            TIMEOUT,
            900,
            "Time between two looks for events that a source may have missed.",
        ),
        _number(
            "timeout_seconds",
            TIMEOUT,
            3600,
            "Longest life of one execution.",
        ),
        _number("kept_executions", Integer(1), 20, "Executions kept of a Work."),
        _number(
            "kept_finished_days",
            Integer(0),
            14,
            "Days for which runs of finished Work keep their content.",
        ),
        Field(
            name="retry_delays_seconds",
            kind=ListOf(TIMEOUT),
            default=(300, 600),
            doc="Wait before each repetition of a failed attempt; an empty list means "
            "one attempt.",
            shown=True,
        ),
        _number(
            "causal_depth_limit",
            Integer(1),
            32,
            "Longest chain of events that cause each other.",
        ),
        _number(
            "causal_rate_limit",
            Integer(1),
            128,
            "Events of one chain within a minute.",
        ),
        Field(
            name="usage_budgets",
            kind=ListOf(Object(BUDGET)),
            default=(),
            doc="Tokens that agent turns may use within a time; none by default.",
            shown=True,
        ),
        Field(
            name="extensions",
            kind=MapOf(Object(PACKAGE), _PACKAGE_NAME, "the name of a package"),
            default={},
            doc="Extension packages whose types the config uses, by name, and what "
            "each is granted.",
            live=False,
        ),
    ),
)

CONNECTION: Spec[Connection] = Spec(
    Connection,
    (
        Field(
            name="id",
            kind=Name(),
            doc="Identity of the connection, global in the config.",
            shown=True,
        ),
        Field(
            name="type",
            kind=Name(),
            doc="Registered type of the connection.",
            shown=True,
        ),
        Field(
            name="config",
            kind=Owned(),
            default=None,
            doc="Config of the type, as its own page describes it; no secrets.",
        ),
        Field(
            name="secret_refs",
            kind=MapOf(SecretReference(), NAME.pattern, "a name of a-z, 0-9, _ and -"),
            default={},
            doc="Secret slots of the type and where each value is kept.",
        ),
    ),
)

INCLUDE: Spec[dict[str, str]] = Spec(
    dict,
    (
        Field(
            name="path",
            kind=Text(),
            doc="The folder, absolute or from the config directory on; it holds "
            ".open-conduit/config.json.",
        ),
        Field(
            name="parent",
            kind=Name(),
            doc="Id of the scope of this file that the folder's scopes are in.",
        ),
    ),
)


def _make_document(*, settings: Settings, **_own: Any) -> Settings:
    return settings  # everything else is decoded entry by entry


DOCUMENT: Spec[Settings] = Spec(
    _make_document,
    (
        _VERSION,
        Field(
            name="settings",
            kind=Object(SETTINGS),
            default=Settings(),
            doc="Limits that hold for the whole daemon.",
        ),
        Field(
            name="connections",
            kind=Entries(CONNECTION),
            default=(),
            doc="Accounts and servers elsewhere, which scopes can be granted.",
        ),
        Field(
            name="scopes",
            kind=Entries(SCOPE, non_empty=True),
            doc="What the daemon works for; at least one.",
        ),
        Field(
            name="includes",
            kind=Entries(INCLUDE),
            default=(),
            doc="Folders that keep scopes of their own.",
        ),
    ),
)

FRAGMENT: Spec[None] = Spec(
    lambda **_own: None,
    (
        _VERSION,
        Field(
            name="scopes",
            kind=Entries(SCOPE, non_empty=True),
            doc="Scopes of this folder; at least one.",
        ),
    ),
)
"""The file that an included folder keeps; it has neither settings nor connections."""
