"""Limits of scopes, which only narrow those above, and budgets."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from conduck_service.base.diagnostics import suggest
from conduck_service.base.jsonio import JsonValue
from conduck_service.config.declared import entries, mapping, tellable, word
from conduck_service.config.inherit import Effective
from conduck_service.domain.scope import Settings
from conduck_service.extension.spec import Decoding

_KEYS = ("concurrency", "job_concurrency", "ready_limit")


def check_limits(
    scopes: Iterable[Effective], settings: Settings, into: Decoding
) -> None:
    """Refuse limits above those of the scopes above, or of the settings.

    Keeps: B-SCOPE-05, B-SCOPE-06.
    """
    whole = {key: getattr(settings, key) for key in _KEYS}
    in_force: dict[Effective | None, dict[str, int]] = {None: whole}
    for scope in scopes:
        above = in_force[scope.parent]
        own = mapping(scope.declared.value, "limits")
        limits = dict(above)
        for key in _KEYS:
            value = own.get(key)
            if isinstance(value, bool) or not isinstance(value, int):
                continue
            if 0 < above[key] < value:
                into.refuse(
                    (*scope.at, "limits", key),
                    "limit_exceeds_parent",
                    "the limit of a scope is above that of the scope above it or of "
                    "the settings",
                    f"write at most {above[key]}, or raise the other",
                )
            else:
                limits[key] = value
        in_force[scope] = limits


def check_budgets(document: JsonValue, scopes: Collection[str], into: Decoding) -> None:
    """Refuse usage budgets of scopes that are not there."""
    settings = mapping(document, "settings")
    for at, budget in entries(settings, "usage_budgets", ("settings",)):
        name = word(budget, "scope")
        if name and name not in scopes:
            into.refuse(
                (*at, "scope"),
                "unknown_reference",
                "there is no scope of this id",
                suggest(name, tellable(scopes)),
            )
