"""Included folders: their scopes are put under a scope of the config file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from conduck_service.base.diagnostics import Diagnostic, Level, Pointer, suggest
from conduck_service.base.jsonio import JsonError, JsonValue, decode_utf8, parse
from conduck_service.base.safefiles import Fault, SafeFileError, read_unwritable
from conduck_service.config.declared import (
    Composed,
    entries,
    mapping,
    tellable,
    word,
)
from conduck_service.config.document import DOCUMENT, FRAGMENT, INCLUDE
from conduck_service.config.syntax import explained
from conduck_service.extension.spec import Decoding, Mark

FRAGMENT_NAME = Path(".open-conduit", "config.json")
FRAGMENT_LIMIT = 1 << 20


def compose(document: JsonValue, base: Path, into: Decoding) -> list[Composed]:
    """Return the scopes of the file and then those of its folders, in order.

    Keeps: B-INCL-02, B-INCL-03, B-INCL-04, B-INCL-05, B-INCL-15, B-INCL-16,
    B-INCL-17, B-INCL-19, B-INCL-35, B-INCL-36.
    """
    own = [
        Composed(at=at, value=value, base=base)
        for at, value in entries(document, "scopes", ())
    ]
    known = {name: None for item in own if (name := word(item.value, "id"))}
    scopes = list(own)
    for at, value in entries(document, "includes", ()):
        include = INCLUDE.decode(value, at, into)
        if isinstance(include, Mark):
            continue
        if include["parent"] not in known:
            into.refuse(
                (*at, "parent"),
                "unknown_reference",
                "the config file itself has no scope of this id",
                suggest(include["parent"], tellable(known)),
            )
            continue
        # One folder is one source, however its path is written.
        folder = Path(os.path.normpath(base / include["path"]))
        scopes += _fragment(folder, include["parent"], at, into)
    _refuse_roots_in_folders(own, scopes[len(own) :], into)
    return scopes


def _fragment(
    folder: Path, parent: str, at: Pointer, into: Decoding
) -> Iterator[Composed]:
    """Yield the scopes of one folder."""
    value = _read(folder, (*at, "path"), into)
    if value is None:
        return
    found = len(into.problems)
    FRAGMENT.decode(value, at, into)
    into.problems[found:] = [
        _in_folder_words(item, at) for item in into.problems[found:]
    ]
    items = list(entries(value, "scopes", at))
    names = [name for _, item in items if (name := word(item, "id"))]
    known = dict.fromkeys([parent, *names])
    for place, item in items:
        _refuse_secrets(item, place, into)
        scope = item
        name = word(item, "parent")
        if isinstance(item, dict) and name not in known:
            if name:
                into.refuse(
                    (*place, "parent"),
                    "unknown_reference",
                    "the parent is neither that of the include nor a scope of the "
                    "folder",
                    suggest(name, tellable(known)),
                )
            if name or "parent" not in item:
                scope = {**item, "parent": parent}
        yield Composed(at=place, value=scope, base=folder, source=folder)


def _read(folder: Path, at: Pointer, into: Decoding) -> JsonValue | None:
    """Return the JSON of a folder's file, or None after noting why not."""
    try:
        data = read_unwritable(folder / FRAGMENT_NAME, FRAGMENT_LIMIT)
    except SafeFileError as error:
        if error.fault is Fault.MISSING:
            into.problems.append(_missing(at))  # B-INCL-32, B-INCL-33
        else:
            _refuse_file(error, at, into)
        return None
    text = ""
    try:
        text = decode_utf8(data)
        return parse(text)
    except JsonError as error:
        found = explained(text, error) if text else _not_text(error)
        into.problems.append(replace(found, pointer=at))
        return None


def _refuse_file(error: SafeFileError, at: Pointer, into: Decoding) -> None:
    reason, remedy = error.reason, error.remedy
    if error.fault is Fault.MODE:
        reason, remedy = "others than its owner can change it", "chmod go-w it"
    into.refuse(
        at,
        "unsafe_file",
        f"the file {FRAGMENT_NAME} of the folder is not used: {reason}",
        remedy,
    )


def _missing(at: Pointer) -> Diagnostic:
    return Diagnostic(
        pointer=at,
        code="include_missing",
        message=f"the folder, or its {FRAGMENT_NAME}, is not there",
        remedy="its scopes are left out until it returns; or remove the include",
        level=Level.WARNING,
    )


def _not_text(error: JsonError) -> Diagnostic:
    return Diagnostic(
        pointer=(),
        code="invalid_json",
        message=error.reason,
        remedy="save the file as UTF-8 without a byte order mark",
    )


def _in_folder_words(problem: Diagnostic, at: Pointer) -> Diagnostic:
    """Say that a key which only the config file has belongs there (B-INCL-06)."""
    steps = problem.pointer[len(at) :]
    if len(steps) == 1 and steps[0] in DOCUMENT.keys and steps[0] not in FRAGMENT.keys:
        return replace(
            problem,
            message="an included folder has scopes only",
            remedy="move it into the config file",
        )
    return problem


def _refuse_secrets(scope: JsonValue, at: Pointer, into: Decoding) -> None:
    """Refuse what would let a folder choose secrets or variables of the daemon.

    Keeps: B-INCL-08, B-INCL-09.
    """

    def refuse(*steps: str | int) -> None:
        into.refuse(
            (*at, *steps),
            "not_authorized",
            "an included folder does not decide about secrets and variables",
            "move it to a scope of the config file, and inherit it from there",
        )

    if isinstance(scope, dict) and "secret_refs" in scope:
        refuse("secret_refs")
    for place, binding in entries(scope, "bindings", ()):
        if isinstance(binding, dict) and "pass_env" in binding:
            refuse(*place, "pass_env")
        if "pass_env" in mapping(binding, "resource"):
            refuse(*place, "resource", "pass_env")


def _refuse_roots_in_folders(
    own: list[Composed], included: list[Composed], into: Decoding
) -> None:
    ids = {word(item.value, "id") for item in own}
    foreign = {word(item.value, "id") for item in included} - ids
    for item in own:
        if (parent := word(item.value, "parent")) and parent in foreign:
            into.refuse(
                (*item.at, "parent"),
                "unknown_reference",
                "a scope of the config file cannot be in a scope of a folder",
                "name a scope of the config file",
            )
