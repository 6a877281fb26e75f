"""What a scope lists by name, described once: bindings, routes, extensions."""

from __future__ import annotations

from typing import Any

from conduck_service.config.fields import Entries, Owned
from conduck_service.domain.scope import (
    ActivePolicy,
    Binding,
    ExtensionEntry,
    Fallback,
    Grant,
    Resource,
    Route,
)
from conduck_service.extension.executor import FEATURES
from conduck_service.extension.kinds import (
    Boolean,
    Choice,
    Integer,
    ListOf,
    Name,
    Object,
    Text,
)
from conduck_service.extension.spec import Field, Spec

LONGEST_TIMEOUT = 2**31 - 1
TIMEOUT = Integer(1, LONGEST_TIMEOUT)

OPERATION = Text(
    r"!?[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*|@[a-z][a-z0-9_-]*",
    "a name such as work.create, a toolset such as @work, or a denial such as "
    "!work.cancel",
)
"""An item of a list of operations; there is no wildcard (B-AUTHZ-15)."""

OPERATIONS = ListOf(OPERATION, unique=True)

VARIABLES = ListOf(
    Text(
        "[A-Za-z_][A-Za-z0-9_]*",
        "a variable of letters, digits and _, no digit first",
    ),
    unique=True,
)

_SECRET_NAMES = ListOf(Name(), unique=True)


def _connection(who: str) -> Field:
    return Field(
        name="connection",
        kind=Name(),
        default=None,
        doc=f"Id of the connection that {who} may act as; the scope needs it too.",
    )


def _make_flags(**flags: bool) -> frozenset[str]:
    return frozenset(name for name, is_set in flags.items() if is_set)


def _make_binding(*, operations: object, grants: object, **own: Any) -> Binding:
    del operations, grants  # what they come to depends on the scope
    return Binding(**own)


def _make_grant(*, operations: object, **own: Any) -> Grant:
    del operations
    return Grant(**own)


def _make_route(
    *,
    active_policy: str,
    unsupported_fallback: str | None,
    error_fallback: str | None,
    **own: Any,
) -> Route:
    return Route(
        active_policy=ActivePolicy(active_policy),
        unsupported_fallback=_fallback(unsupported_fallback),
        error_fallback=_fallback(error_fallback),
        **own,
    )


def _fallback(word: str | None) -> Fallback | None:
    return None if word is None else Fallback(word)


def _make_tombstone(*, name: str, disabled: bool) -> str:
    if not disabled:
        raise ValueError("disabled is false; leave the entry out to inherit it")
    return name


TOMBSTONE: Spec[str] = Spec(
    _make_tombstone,
    (
        Field(name="name", kind=Name(), doc="Name of the inherited entry."),
        Field(
            name="disabled",
            kind=Boolean(),
            doc="Write true: the entry is not in force here and below.",
        ),
    ),
)

REQUIRES: Spec[frozenset[str]] = Spec(
    _make_flags,
    tuple(
        Field(
            name=name,
            kind=Boolean(),
            default=False,
            doc=f"Whether the executor must be able to do this: {name}.",
        )
        for name in FEATURES
    ),
)

RESOURCE: Spec[Resource] = Spec(
    Resource,
    (
        Field(
            name="provider",
            kind=Name(),
            doc="Registered provider that acquires the resource.",
        ),
        Field(
            name="config",
            kind=Owned(),
            default=None,
            doc="Config of the provider, as its own page describes it.",
        ),
        Field(
            name="pass_env",
            kind=VARIABLES,
            default=(),
            doc="Variables of the daemon's environment that the provider's commands "
            "may see; they never reach the run.",
        ),
    ),
)

GRANT: Spec[Grant] = Spec(
    _make_grant,
    (
        Field(name="name", kind=Name(), doc="Name of the grant in its binding."),
        Field(name="label", kind=Text(), default="", doc="What it is, for people."),
        Field(
            name="operations",
            kind=OPERATIONS,
            default=(),
            doc="Operations that a Work with this grant may call on top.",
        ),
        Field(
            name="config",
            kind=Owned(),
            default=None,
            doc="Fields that replace those of the binding's config, each as a whole.",
        ),
    ),
)

BINDING: Spec[Binding] = Spec(
    _make_binding,
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
        _connection("its executions"),
        Field(
            name="requires",
            kind=Object(REQUIRES),
            default=frozenset(),
            doc="What the executor must be able to do.",
        ),
        Field(
            name="operations",
            kind=OPERATIONS,
            default=(),
            doc="Operations that its executions may call, all within the ceiling of "
            "the scope: names, toolsets as @name, and !name to leave one out.",
        ),
        Field(
            name="secret_names",
            kind=_SECRET_NAMES,
            default=(),
            doc="Secrets of the scope that the executor may have.",
        ),
        Field(
            name="resource",
            kind=Object(RESOURCE),
            default=None,
            doc="What each execution acquires before it runs.",
        ),
        Field(
            name="timeout_seconds",
            kind=TIMEOUT,
            default=None,
            doc="Longest life of an execution of this binding, in seconds, in the "
            "place of the setting.",
            shown=True,
        ),
        Field(
            name="grants",
            kind=Entries(GRANT),
            default=(),
            doc="What a Work can be given beyond this, if its route asks for it.",
        ),
        Field(
            name="pass_env",
            kind=VARIABLES,
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
            name="unsupported_fallback",
            kind=Choice(tuple(fallback.value for fallback in Fallback)),
            default=None,
            doc="What becomes of it where the executor cannot do that.",
        ),
        Field(
            name="error_fallback",
            kind=Choice(tuple(fallback.value for fallback in Fallback)),
            default=None,
            doc="What becomes of it where doing that fails.",
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
        _connection("the extension"),
        Field(
            name="secret_names",
            kind=_SECRET_NAMES,
            default=(),
            doc="Secrets of the scope that the extension may have.",
        ),
    ),
)
