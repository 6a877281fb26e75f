"""Route handlers: one wants a feature of the binding, one looks at its grants."""

from __future__ import annotations

from dataclasses import dataclass

from conduck_service.domain.scope import Binding, Route, Scope
from conduck_service.extension.handler import EventData, HandlerType
from conduck_service.extension.kinds import ListOf, Name
from conduck_service.extension.spec import Decoding, Field, Spec

from .notes import note


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteConfig:
    """Config of both handlers; only ``sees_grants`` looks at it."""

    allowed: tuple[str, ...] | None = None


_SPEC = Spec(
    RouteConfig,
    (
        Field(
            name="allowed",
            kind=ListOf(Name(), unique=True),
            default=None,
            doc="Grants that the binding may offer; any when left out.",
            shown=True,
        ),
    ),
)


def _never(_config: RouteConfig, _type: str, _data: EventData) -> bool:
    return False


def _check_grants(
    route: Route, binding: Binding, _scope: Scope, into: Decoding
) -> None:
    names = [grant.name for grant in binding.grants]
    note("grants", route=route.name, binding=binding.name, names=names)
    allowed = route.config.allowed
    if allowed is not None and not set(names) <= set(allowed):
        into.refuse(
            ("binding",),
            "invalid_config",
            "the binding offers a grant that the route does not allow",
            "add it to allowed, or take it out of the binding",
        )


HANDLERS = (
    HandlerType(
        name="needs_inject",
        spec=_SPEC,
        matches=_never,
        requires=frozenset({"inject"}),
    ),
    HandlerType(name="sees_grants", spec=_SPEC, matches=_never, check=_check_grants),
)
