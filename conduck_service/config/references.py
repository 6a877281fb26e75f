"""What entries of a document say about each other, looked at in the JSON.

The JSON is looked at, not what was decoded of it, so that an entry with a fault
of another kind is checked all the same and counts as existing.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from conduck_service.base.diagnostics import Pointer, suggest
from conduck_service.base.jsonio import JsonValue
from conduck_service.config.decode import entries, word
from conduck_service.domain.reference import Scheme, parse_reference
from conduck_service.extension.spec import Decoding, unique_by

_RESERVED = ("OS_", "OPEN_CONDUIT_")
_MISTYPED = 0.8
"""How like a known name one is that was mistyped; chat_token and api_token are not."""

_LISTS = ("bindings", "routes", "extensions")


def check_references(document: JsonValue, into: Decoding) -> None:
    """Note names that are used twice, lead nowhere or must not be used."""
    scopes = list(entries(document, "scopes", ()))
    unique_by(_named(scopes, "id"), "scopes", into)
    hidden = {name for _, scope in scopes for name in _secret_variables(scope)}
    for at, scope in scopes:
        for key in _LISTS:
            unique_by(_named(entries(scope, key, at), "name"), key, into)
        _check_routes(scope, at, into)
        _check_secret_names(scope, at, into)
        for place, binding in entries(scope, "bindings", at):
            _check_pass_env(binding, place, hidden, into)


def _named(
    items: Iterator[tuple[Pointer, JsonValue]] | list[tuple[Pointer, JsonValue]],
    key: str,
) -> Iterator[tuple[Pointer, str]]:
    for at, item in items:
        if name := word(item, key):
            yield (*at, key), name


def _check_routes(scope: JsonValue, at: Pointer, into: Decoding) -> None:
    known = [name for _, name in _named(entries(scope, "bindings", at), "name")]
    for place, name in _named(entries(scope, "routes", at), "binding"):
        if name not in known:
            into.refuse(
                place,
                "unknown_reference",
                "the scope has no binding of this name",
                suggest(name, known) if known else "add it to bindings of the scope",
            )


def _check_secret_names(scope: JsonValue, at: Pointer, into: Decoding) -> None:
    known = list(_secret_refs(scope))
    for key in ("bindings", "extensions"):
        for place, entry in entries(scope, key, at):
            for name_at, name in entries(entry, "secret_names", place):
                if isinstance(name, str) and name not in known:
                    into.refuse(
                        name_at,
                        "unknown_reference",
                        "the scope has no secret of this name",
                        _secret_remedy(name, known),
                    )


def _secret_remedy(name: str, known: list[str]) -> str:
    """Return what to do about an unknown secret.

    Other secrets of the scope are never offered: whoever took one would hand it,
    perhaps the bearer token, to a consumer that it is not meant for.
    """
    add = "add it to secret_refs of the scope, as file:NAME"
    near = difflib.get_close_matches(name, known, n=1, cutoff=_MISTYPED)
    return f"did you mean {near[0]!r}? if not, {add}" if near else add


def _check_pass_env(
    binding: JsonValue, at: Pointer, hidden: set[str], into: Decoding
) -> None:
    for place, name in entries(binding, "pass_env", at):
        if not isinstance(name, str):
            continue
        if name.startswith(_RESERVED):
            into.refuse(
                place,
                "pass_env_reserved",
                "variables that begin with OS_ and OPEN_CONDUIT_ are not passed on",
                "take it out of the list",
            )
        if name in hidden:
            into.refuse(
                place,
                "pass_env_secret",
                "an env: reference of the config names this variable",
                "take it out of the list and give the secret with secret_names",
            )


def _secret_refs(scope: JsonValue) -> dict[str, JsonValue]:
    found = scope.get("secret_refs") if isinstance(scope, dict) else None
    return found if isinstance(found, dict) else {}


def _secret_variables(scope: JsonValue) -> Iterator[str]:
    for text in _secret_refs(scope).values():
        if isinstance(text, str) and text.startswith(f"{Scheme.ENV}:"):
            try:
                yield parse_reference(text).target
            except ValueError:
                continue
