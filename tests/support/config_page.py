"""Writes docs/reference/config.md and config.schema.json from the owners' Specs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from conduck_service.config import document, entries, scopes
from conduck_service.config.fields import Entries
from conduck_service.config.schema import config_schema
from conduck_service.daemon.registry import build_registry
from conduck_service.extension import kinds
from conduck_service.extension.registry import Registry
from conduck_service.extension.spec import REQUIRED, Field, Kind, Spec
from tests.support.trace import REFERENCE

PAGE = REFERENCE / "config.md"
SCHEMA = REFERENCE / "config.schema.json"

HEAD = """# Config reference

Written by `scripts/docs` from the descriptions that the program itself decodes with.
[configure.md](../howto/configure.md) explains what the objects are for.

A config is one strict JSON object. Unknown keys, `null` and a key that stands twice are
refused; every fault is named with its place, its code ([errors.md](errors.md)) and a
remedy. [config.schema.json](config.schema.json) says the same as JSON Schema, and
`open-conduit config schema` prints it for the types that are registered. Neither knows
the rules below the tables, nor what depends on other entries or on the machine.

- An *identifier* is 1 to 63 of `a` to `z`, `0` to `9`, `_` and `-`, a letter first.
- A *text* is not empty and holds neither NUL nor half a character.
- A *whole number* may be written as `8480.0` too.
- A *secret reference* is `keyring:NAME`, `file:NAME`, `env:VARIABLE` or `cmd:COMMAND`.
- *Change* says what a change of the key will need once `config apply` exists: `live` is
  taken over by the running daemon, `restart` is not. Until then the config is read at
  start only, so **every** change needs a restart.
- *Shown* keys of an owner's config appear with their values where a config is shown to
  operators; of the others, only the name does.
"""

WORDS = {
    "Argument": "text, may be empty",
    "Argv": "list, at least one: text; all but the first may be empty",
    "Boolean": "`true` or `false`",
    "FilePath": "path, from the config directory when relative",
    "FileToolSwitch": "`true`, `false` or an object with `max_steps`, 1 to 1000",
    "JsonPointer": "JSON pointer",
    "ModelId": "text of at most 200 characters, no controls",
    "Name": "identifier",
    "Owned": "object of the owner, below",
    "Regex": "regular expression of Python's `re`",
    "Scalar": "text, number or truth value",
    "SecretOverlay": "secret reference, or `false`",
    "SecretReference": "secret reference",
    "Umask": "three octal digits as text, as in `0007`",
    "Version": "`1`",
}
"""What kinds without a description of their own take."""

_OBJECTS = "list: object, below"

_TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "`true` or `false`",
    "array": "list",
    "object": "object",
    "": "see there",
}
"""What kinds of owners take, of which nothing more is known here."""

OBJECTS: tuple[tuple[str, Spec[Any]], ...] = (
    ("The document", document.DOCUMENT),
    ("A connection", document.CONNECTION),
    ("An included folder", document.INCLUDE),
    ("The config of an included folder", document.FRAGMENT),
    ("A scope", scopes.SCOPE),
    ("A binding", entries.BINDING),
    ("A grant of a binding", entries.GRANT),
    ("A route", entries.ROUTE),
    ("An extension entry", entries.EXTENSION),
    ("In the place of a binding, a route or an extension entry", entries.TOMBSTONE),
)


def words_of(kind: Kind) -> str:
    """Return what a kind of value takes, in a few words."""
    match kind:
        case kinds.Object():
            return "object, below"
        case Entries():
            return "list, at least one: object, below" if kind.non_empty else _OBJECTS
        case kinds.ListOf():
            bounds = ", at least one" * kind.non_empty + ", none twice" * kind.unique
            return f"list{bounds}: {words_of(kind.item)}"
        case kinds.MapOf():
            return f"object: {words_of(kind.value)}; keys: {kind.key_words}"
        case kinds.Integer() | kinds.Seconds():
            what = "whole number" if isinstance(kind, kinds.Integer) else "seconds"
            top = "or more" if kind.maximum is None else f"to {kind.maximum}"
            return f"{what}, {kind.minimum} {top}"
        case kinds.Choice():
            return "one of " + ", ".join(f"`{word}`" for word in kind.words)
        case kinds.Text():
            return f"text: {kind.pattern_words}" if kind.pattern_words else "text"
        case _:
            name = type(kind).__name__
            return WORDS.get(name) or _TYPES[kind.schema().get("type", "")]


def default_of(spec: Spec[Any], item: Field) -> str:
    """Return the default of a key as the page shows it."""
    if item.default is REQUIRED:
        return "required"
    if item.name not in spec.defaults:
        return ""
    if isinstance(item.kind, kinds.Object):
        return "`{}`"
    return f"`{json.dumps(spec.defaults[item.name])}`"


def inner_specs(spec: Spec[Any], prefix: str) -> Iterator[tuple[str, Spec[Any]]]:
    """Yield the objects inside an object with their places."""
    for item in spec.fields:
        kind: Kind = item.kind
        if isinstance(kind, kinds.ListOf):
            kind = kind.item
        elif isinstance(kind, kinds.MapOf):
            kind = kind.value
        if isinstance(kind, kinds.Object):
            place = f"{prefix} `{item.name}`"
            yield place, kind.spec
            yield from inner_specs(kind.spec, place)


def table(title: str, spec: Spec[Any]) -> str:
    """Return the section of one object."""
    if not spec.fields:
        return f"\n## {title}\n\nIt has no keys.\n"
    rows = [
        "| "
        + " | ".join(
            cell.replace("|", "\\|")
            for cell in (
                f"`{item.name}`",
                words_of(item.kind),
                default_of(spec, item),
                "live" if item.live else "restart",
                "yes" if item.shown else "",
                item.doc,
            )
        )
        + " |"
        for item in spec.fields
    ]
    head = [
        "| key | takes | default | change | shown | meaning |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    rules = ["", *(f"- {rule}" for rule in spec.rules)] if spec.rules else []
    return "\n".join(["", f"## {title}", "", *head, *rows, *rules, ""])


def sections(title: str, spec: Spec[Any], words: str = "") -> str:
    """Return the section of one object and those of the objects in it."""
    first = table(title, spec)
    more = [table(place, inner) for place, inner in inner_specs(spec, f"{title}:")]
    return "".join([first, f"\n{words}\n" if words else "", *more])


def owners(registry: Registry) -> Iterator[str]:
    """Yield the sections of what is registered."""
    for connection in registry.connections.values():
        slots = [f"- `{name}`: {doc}" for name, doc in connection.slots.items()]
        yield sections(
            f"Config of a connection of type `{connection.name}`",
            connection.spec,
            "\n".join(["Its secret slots:", "", *slots]) if slots else "",
        )
    for executor in registry.executors.values():
        title = f"Config of a binding with executor `{executor.name}`"
        through = ", ".join(f"`{name}`" for name in executor.connection_types)
        words = f"It needs a connection of type {through}." if through else ""
        if executor.spec is None:
            yield f"\n## {title}\n\nAny object.\n"
        else:
            yield sections(title, executor.spec, words)
    for provider in registry.providers.values():
        title = f"Config of a resource of provider `{provider.name}`"
        yield sections(title, provider.spec)
    for handler in registry.handlers.values():
        yield sections(f"Config of a route with handler `{handler.name}`", handler.spec)
    for ingress in registry.ingresses.values():
        title = f"Config of an extension entry of type `{ingress.name}`"
        yield sections(title, ingress.spec)


def page() -> str:
    """Return the whole page."""
    core = (sections(title, spec) for title, spec in OBJECTS)
    return HEAD + "".join([*core, *owners(build_registry({}))])


def schema() -> str:
    """Return the text of the JSON Schema."""
    return json.dumps(config_schema(build_registry({})), indent=2) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    SCHEMA.write_text(schema(), encoding="utf-8")
