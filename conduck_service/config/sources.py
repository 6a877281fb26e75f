"""Sources of events: each has a namespace and a port that no other one has."""

from __future__ import annotations

from collections.abc import Iterable

from conduck_service.base.diagnostics import Pointer
from conduck_service.config.declared import Table
from conduck_service.config.inherit import Effective
from conduck_service.domain.scope import ExtensionEntry
from conduck_service.extension.spec import Decoding


def check_sources(scopes: Iterable[Effective], into: Decoding) -> None:
    """Refuse a namespace or a port that an earlier entry has already (F-NET-04).

    What is switched off owns no namespace, but its port is still listened on.

    Keeps: B-EXT-06.
    """
    seen: dict[tuple[str, object], Pointer] = {}
    found = [
        (item.at, item.entry.config, scope.is_enabled)
        for scope in scopes
        for item in scope.own(Table.EXTENSIONS)
        if isinstance(item.entry, ExtensionEntry)
    ]
    for at, config, is_enabled in sorted(found, key=lambda item: _order(item[0])):
        for key in ("namespace", "port") if is_enabled else ("port",):
            value = getattr(config, key, None)
            if value is None:
                continue
            first = seen.setdefault((key, value), at)
            if first is not at:
                into.refuse(
                    (*at, "config", key),
                    "duplicate_name",
                    f"another extension entry has this {key}, at {_text(first, key)}",
                    f"give each entry a {key} of its own",
                )


def _order(at: Pointer) -> tuple[bool, list[int]]:
    """Return the place in the order of the file, folders last."""
    return at[0] == "includes", [step for step in at if isinstance(step, int)]


def _text(at: Pointer, key: str) -> str:
    return "/".join(map(str, (*at, "config", key)))
