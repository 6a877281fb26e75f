"""Writes docs/reference/config.md from the Specs of the document's owners."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

from conduck_service.chat.route import CHAT_HANDLER
from conduck_service.chat.settings import CHAT_SPEC
from conduck_service.config import document
from conduck_service.daemon import build_registry
from conduck_service.extension import kinds
from conduck_service.extension.spec import REQUIRED, Field, Spec
from conduck_service.files.settings import FILES_SPEC
from tests.support.trace import REFERENCE

PAGE = REFERENCE / "config.md"

HEAD = """# Config reference

Written by `scripts/docs` from the descriptions that the program itself decodes with.
A config is one strict JSON object. Unknown keys, `null` and a key that stands twice are
refused. The config is read at start only, so every change needs a restart.
"""

WORDS = {
    "Argument": "text, may be empty",
    "Argv": "list of texts",
    "Boolean": "`true` or `false`",
    "Entries": "list of objects, below",
    "FilePath": "path, from the config directory when relative",
    "JsonPointer": "JSON pointer",
    "ModelId": "text",
    "Name": "identifier",
    "Owned": "object of the owner",
    "Regex": "regular expression",
    "Scalar": "text, number or truth value",
    "SecretReference": "secret reference",
    "Text": "text",
    "Umask": "octal digits as text",
    "Version": "`1`",
}
"""What kinds without a description of their own take."""


def words_of(kind: Any) -> str:
    """Return what a kind of value takes, in a few words."""
    match kind:
        case kinds.Object():
            return "object, below"
        case kinds.ListOf():
            return f"list of {words_of(kind.item)}"
        case kinds.MapOf():
            return f"object of {words_of(kind.value)}"
        case kinds.Integer() | kinds.Seconds():
            what = "whole number" if isinstance(kind, kinds.Integer) else "seconds"
            top = "or more" if kind.maximum is None else f"to {kind.maximum}"
            return f"{what}, {kind.minimum} {top}"
        case kinds.Choice():
            return "one of " + ", ".join(f"`{word}`" for word in kind.words)
        case _:
            return WORDS[type(kind).__name__]


def default_of(item: Field) -> str:
    """Return the default of a key as the page shows it."""
    if item.default is REQUIRED:
        return "required"
    if isinstance(item.kind, kinds.Umask):
        return f'`"{item.default:04o}"`'
    if item.default is None or dataclasses.is_dataclass(item.default):
        return ""
    if isinstance(item.default, str) and not item.default:
        return ""
    return f"`{json.dumps(item.default, default=list)}`"


def inner_specs(spec: Spec[Any], prefix: str) -> Iterator[tuple[str, Spec[Any]]]:
    """Yield the objects inside an object with their places."""
    for item in spec.fields:
        kind = item.kind.item if isinstance(item.kind, kinds.ListOf) else item.kind
        if isinstance(kind, kinds.Object):
            place = f"{prefix} `{item.name}`"
            yield place, kind.spec
            yield from inner_specs(kind.spec, place)


def table(title: str, spec: Spec[Any]) -> str:
    """Return the section of one object."""
    rows = [
        f"| `{item.name}` | {words_of(item.kind)} | {default_of(item)} | {item.doc} |"
        for item in spec.fields
    ]
    head = [
        "| key | takes | default | meaning |",
        "| --- | --- | --- | --- |",
    ]
    return "\n".join(["", f"## {title}", "", *head, *rows, ""])


def page() -> str:
    """Return the whole page."""
    registry = build_registry({})
    objects: list[tuple[str, Spec[Any]]] = [
        ("The document", document.DOCUMENT),
        ("A scope", document.SCOPE),
        ("A binding", document.BINDING),
        ("A route", document.ROUTE),
        ("An extension entry", document.EXTENSION),
        ("Config of an entry of type `conduck_chat`", CHAT_SPEC),
        ("Config of an entry of type `conduck_files`", FILES_SPEC),
        ("Config of a route with handler `chat`", CHAT_HANDLER.spec),
    ]
    objects += [
        (f"Config of a binding with executor `{name}`", executor.spec)
        for name, executor in registry.executors.items()
    ]
    sections = [
        table(title, spec)
        for outer, outer_spec in objects
        for title, spec in [(outer, outer_spec), *inner_specs(outer_spec, f"{outer}:")]
    ]
    return HEAD + "".join(sections)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
