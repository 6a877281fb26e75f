"""References inside the parsed JSON of a config, which need not be valid."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conduck_service.base.jsonio import JsonValue
from conduck_service.domain.reference import Scheme, parse_reference

_MOVABLE = (Scheme.KEYRING, Scheme.FILE)
"""Places that values are stored in from here; the others are the operator's."""


def point_to(document: JsonValue, name: str, reference: str) -> int:
    """Rewrite each reference to a stored value of a name; return how many changed.

    Args:
        document: The config, changed in place.
        name: Under which the value is stored.
        reference: Where the value lies now.
    """
    old = {f"{scheme}:{name}" for scheme in _MOVABLE} - {reference}
    changed = 0
    for references in _all(document):
        for key, value in references.items():
            if isinstance(value, str) and value in old:
                references[key] = reference
                changed += 1
    return changed


def count(document: JsonValue, reference: str) -> int:
    """Return how often the config has this very reference."""
    return sum(
        value == reference
        for references in _all(document)
        for value in references.values()
    )


def scope_of(document: JsonValue, scope: str) -> dict[str, Any] | None:
    """Return the object of a scope that the config itself defines."""
    for item in _objects(document, "scopes"):
        if item.get("id") == scope:
            return item
    return None


def scope_ids(document: JsonValue) -> list[str]:
    """Return the ids of the scopes that the config itself defines."""
    ids = [item.get("id") for item in _objects(document, "scopes")]
    return [item for item in ids if isinstance(item, str)]


def other_scheme(scope: dict[str, Any], name: str) -> Scheme | None:
    """Return the kind of place that a secret of a scope leads to, if not to ours.

    Ours are the places that a value of this very name is stored in from here.
    """
    references = scope.get("secret_refs")
    text = references.get(name) if isinstance(references, dict) else None
    if not isinstance(text, str) or text in {f"{kind}:{name}" for kind in _MOVABLE}:
        return None
    try:
        return parse_reference(text).scheme
    except ValueError:
        return None  # no reference at all; one is better


def add_reference(scope: dict[str, Any], name: str, reference: str) -> None:
    """Declare a secret in a scope, or let the one of that name lead elsewhere."""
    references = scope.setdefault("secret_refs", {})
    if isinstance(references, dict):  # the check says it if not
        references[name] = reference


def _all(document: JsonValue) -> Iterator[dict[str, Any]]:
    for key in ("connections", "scopes"):
        for item in _objects(document, key):
            references = item.get("secret_refs")
            if isinstance(references, dict):
                yield references


def _objects(document: JsonValue, key: str) -> Iterator[dict[str, Any]]:
    items = document.get(key) if isinstance(document, dict) else None
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            yield item
