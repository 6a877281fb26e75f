"""Everything that is said about a config document, in one fixed order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from conduck_service.base.diagnostics import Diagnostic, Pointer, has_errors, in_order
from conduck_service.base.jsonio import JsonError, JsonValue, parse
from conduck_service.config.decode import decode_scope, entries
from conduck_service.config.document import DOCUMENT
from conduck_service.config.folder import FolderRules
from conduck_service.config.lanes import settle_folders
from conduck_service.config.owners import check_owners
from conduck_service.config.references import check_references
from conduck_service.config.syntax import explained
from conduck_service.domain.scope import Document, Scope, Settings
from conduck_service.extension.registry import Registry
from conduck_service.extension.spec import Decoding, Mark


def check_document(
    text: str,
    *,
    base: Path,
    registry: Registry,
    environment: Mapping[str, str],
    state_dir: Path | None,
) -> tuple[Document | None, list[Diagnostic]]:
    """Return the document of a text and what is wrong with it.

    Nothing is run, resolved or asked over the network. All independent faults
    are found at once; owners check the entries of those scopes only that have
    no fault otherwise, since they would take one for many.

    Args:
        text: The config.
        base: The config directory, absolute.
        registry: The types that the document may use.
        environment: Variables of the daemon.
        state_dir: The state directory, if one is known.

    Returns:
        The document, or None if there is an error; and every diagnostic, by
        pointer and code.

    Keeps: B-DIAG-12, B-DIAG-13, B-DIAG-14.
    """
    try:
        value = parse(text)
    except JsonError as error:
        return None, [explained(text, error)]
    private = [base] if state_dir is None else [base, state_dir]
    into = Decoding(base=base)
    rules = FolderRules(environment, private)
    document = _check_value(value, rules, registry, into)
    problems = in_order(into.problems)
    return (None if has_errors(problems) else document), problems


def _check_value(
    value: JsonValue, rules: FolderRules, registry: Registry, into: Decoding
) -> Document | None:
    document = DOCUMENT.decode(value, (), into)
    check_references(value, into)
    decoded = _decode_scopes(value, registry, into)
    scopes = settle_folders(decoded, rules, registry, into)
    if not isinstance(document, Mark):
        _check_limits(scopes, document.settings, into)
    _check_owners(scopes, registry, into)
    _check_shared(scopes, into)
    if isinstance(document, Mark):
        return None
    return replace(document, scopes=tuple(scopes.values()))


def _decode_scopes(
    value: JsonValue, registry: Registry, into: Decoding
) -> dict[int, Scope]:
    """Return the scopes that could be decoded, by their place in the list."""
    scopes = {}
    for index, (at, item) in enumerate(entries(value, "scopes", ())):
        scope = decode_scope(item, at, registry, into)
        if scope is not None:
            scopes[index] = scope
    return scopes


def _check_limits(
    scopes: Mapping[int, Scope], settings: Settings, into: Decoding
) -> None:
    for index, scope in scopes.items():
        if scope.ready_limit is not None and scope.ready_limit > settings.ready_limit:
            into.refuse(
                ("scopes", index, "limits", "ready_limit"),
                "limit_exceeds_parent",
                "the limit of a scope is above that of the settings",
                f"write at most {settings.ready_limit}, or raise the setting",
            )


def _check_owners(
    scopes: Mapping[int, Scope], registry: Registry, into: Decoding
) -> None:
    faulty = {item.pointer[:2] for item in into.problems}
    # What the environment names is the folder of any scope.
    if () in faulty:
        return
    for index, scope in scopes.items():
        if ("scopes", index) not in faulty:
            check_owners(scope, ("scopes", index), registry, into)


def _check_shared(scopes: Mapping[int, Scope], into: Decoding) -> None:
    """Refuse a namespace or a port that an earlier entry has already (F-NET-04)."""
    for key in ("namespace", "port"):
        seen: dict[object, Pointer] = {}
        for at, value in _owned_values(scopes, key):
            first = seen.setdefault(value, at)
            if first is not at:
                place = "/".join(map(str, first))
                into.refuse(
                    at,
                    "duplicate_name",
                    f"another extension entry has this {key}, at {place}",
                    f"give each entry a {key} of its own",
                )


def _owned_values(
    scopes: Mapping[int, Scope], key: str
) -> Iterable[tuple[Pointer, object]]:
    for index, scope in scopes.items():
        for number, entry in enumerate(scope.extensions):
            value = getattr(entry.config, key, None)
            if value is not None:
                yield ("scopes", index, "extensions", number, "config", key), value
