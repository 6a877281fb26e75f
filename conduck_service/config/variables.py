"""Which variables of the daemon a config may pass on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from conduck_service.base.diagnostics import Pointer
from conduck_service.base.jsonio import JsonValue
from conduck_service.config.declared import Composed, Table, entries, mapping, words
from conduck_service.domain.reference import Scheme, parse_reference
from conduck_service.extension.spec import Decoding

_RESERVED = ("OS_", "OPEN_CONDUIT_")


def check_variables(
    document: JsonValue, scopes: Iterable[Composed], into: Decoding
) -> None:
    """Refuse to pass on what is reserved, or what holds a secret.

    Keeps: B-ENV-10, B-ENV-11, B-ENV-12, B-ENV-15, B-ENV-20.
    """
    composed = list(scopes)
    holders = [value for _, value in entries(document, "connections", ())]
    hidden = set(_secret_variables([*holders, *(item.value for item in composed)]))
    for at, holder in _passing(document, composed):
        for place, name in words(holder, "pass_env", at):
            _check_variable(name, place, hidden, into)


def _passing(
    document: JsonValue, scopes: Iterable[Composed]
) -> Iterator[tuple[Pointer, JsonValue]]:
    """Yield every object that has a ``pass_env``."""
    packages = mapping(mapping(document, "settings"), "extensions")
    for name, package in packages.items():
        yield ("settings", "extensions", name), package
    for scope in scopes:
        for at, binding in entries(scope.value, Table.BINDINGS, scope.at):
            yield at, binding
            yield (*at, "resource"), mapping(binding, "resource")


def _check_variable(name: str, at: Pointer, hidden: set[str], into: Decoding) -> None:
    if name.startswith(_RESERVED):
        into.refuse(
            at,
            "pass_env_reserved",
            "variables that begin with OS_ and OPEN_CONDUIT_ are not passed on",
            "take it out of the list",
        )
    if name in hidden:
        into.refuse(
            at,
            "pass_env_secret",
            "an env: reference of the config names this variable",
            "take it out of the list and give the secret with secret_names",
        )


def _secret_variables(holders: Iterable[JsonValue]) -> Iterator[str]:
    for holder in holders:
        for text in mapping(holder, "secret_refs").values():
            if isinstance(text, str) and text.startswith(f"{Scheme.ENV}:"):
                try:
                    yield parse_reference(text).target
                except ValueError:
                    continue
