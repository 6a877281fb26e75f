"""Strategies for config values, made from the kinds and Specs themselves."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from conduck_service.chat.settings import ModelId
from conduck_service.config.fields import (
    Entries,
    Owned,
    SecretOverlay,
    SecretReference,
    Version,
)
from conduck_service.executors.command_settings import Argument, Argv
from conduck_service.executors.http.settings import FileToolSwitch
from conduck_service.extension import kinds
from conduck_service.extension.spec import INVALID, REQUIRED, Decoding, Kind, Spec

TEXT = st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6
)
NAMES = st.sampled_from(["a", "b1", "c_d-e", "z" * 63])
LEAST = 10**12
"""How far above its least value a number without a greatest one goes."""

ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    1.0,
    1.5,
    -0.0,
    1e300,
    float("inf"),
    10**400,
    "",
    "\n",
    "a",
    "a\n",
    "\0",
    "a\0b",
    "\ud800",
    "A",
    "file:a",
    "file:a\n",
    "cmd: ",
    "cmd:\x1f\u3000",
    "cmd:\ufeff",
    "image/png\n",
    "0007\n",
    "/\n",
    "x" * 300,
    [],
    {},
    [None],
    [[]],
    ["a", "a"],
    [1, 1.0],
    [1, True],
    {"a": None},
    {"": "a"},
    {"A\n": "a"},
)
"""Values that readers of JSON are known to differ about, or that are wrong."""


def value_of(kind: Kind) -> st.SearchStrategy[Any]:
    """Return values that a kind takes."""
    match kind:
        case kinds.Text():
            return _texts(kind.pattern) if kind.pattern else TEXT
        case kinds.Name():
            return NAMES
        case kinds.Integer():
            top = kind.minimum + LEAST if kind.maximum is None else kind.maximum
            whole = st.integers(kind.minimum, top)
            return whole | whole.map(float)
        case kinds.Seconds():
            longest = kind.minimum + LEAST if kind.maximum is None else kind.maximum
            return st.floats(kind.minimum, longest)
        case kinds.Choice():
            return st.sampled_from(kind.words)
        case kinds.ListOf():
            unique = _text_of if kind.unique else None
            return st.lists(
                value_of(kind.item),
                min_size=int(kind.non_empty),
                max_size=3,
                unique_by=unique,
            )
        case kinds.MapOf():
            keys = _texts(kind.key_pattern)
            return st.dictionaries(keys, value_of(kind.value), max_size=2)
        case kinds.Object():
            return object_of(kind.spec)
        case Entries():
            items = object_of(kind.spec)
            return st.lists(items, min_size=int(kind.non_empty), max_size=1)
        case _:
            known = _LEAVES.get(type(kind))
            return _found(kind) if known is None else known


def _found(kind: Kind) -> st.SearchStrategy[Any]:
    """Return values that a kind of an owner takes, found by asking it."""
    values = st.one_of(TEXT, NAMES, st.integers(0, 100), st.sampled_from(ODD))

    def is_taken(value: Any) -> bool:
        into = Decoding(base=Path("/"))
        return kind.decode(value, (), into) is not INVALID

    return values.filter(is_taken)


def object_of(spec: Spec[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return objects with the keys of a Spec; rules on several keys may be broken."""
    needed: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    for item in spec.fields:
        table = needed if item.default is REQUIRED else optional
        table[item.name] = value_of(item.kind)
    return st.fixed_dictionaries(needed, optional=optional)


@st.composite
def mutated(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> Any:
    """Return values with one to three faults, most of which matter."""
    value = {"": copy.deepcopy(draw(values))}
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(value))
        if not places:
            break
        holder, key = draw(st.sampled_from(places))
        draw(st.sampled_from(_MUTATIONS))(draw, holder, key)
    return value.get("")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys = value if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from _places(value[key])


def _drop(_draw: st.DrawFn, holder: Any, key: Any) -> None:
    del holder[key]


def _replace(draw: st.DrawFn, holder: Any, key: Any) -> None:
    holder[key] = copy.deepcopy(draw(st.sampled_from(ODD)))


def _add(draw: st.DrawFn, holder: Any, key: Any) -> None:
    """Add a key or an item, or change a text or a number a little."""
    value = holder[key]
    match value:
        case dict():
            value[draw(TEXT | NAMES)] = copy.deepcopy(draw(st.sampled_from(ODD)))
        case list():
            again = [st.sampled_from(value)] if value else []
            extra = st.one_of(st.sampled_from(ODD), *again)
            value.append(copy.deepcopy(draw(extra)))
        case str():
            holder[key] = value + draw(
                st.sampled_from(["\n", "\0", "é", "\ud800", "/"])
            )
        case int() | float() if not isinstance(value, bool):
            near = [value + 0.5] if abs(value) < LEAST else []
            odd = [-value, value * 10**13, str(value), *near]
            holder[key] = draw(st.sampled_from(odd))
        case _:
            holder[key] = str(value)


_MUTATIONS = (_drop, _replace, _add)


def _text_of(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _texts(pattern: str) -> st.SearchStrategy[str]:
    return st.from_regex(re.compile(f"(?:{pattern})", re.ASCII), fullmatch=True)


_REFERENCES = st.one_of(
    st.builds("{}:{}".format, st.sampled_from(["file", "keyring"]), NAMES),
    _texts("env:[A-Za-z_][A-Za-z0-9_]*"),
    TEXT.filter(str.strip).map("cmd:{}".format),
)
_PLAIN = st.none() | st.booleans() | TEXT | st.integers() | st.just(1.0)
_LEAVES: dict[type, st.SearchStrategy[Any]] = {
    kinds.Boolean: st.booleans(),
    kinds.FilePath: TEXT,
    kinds.Regex: st.sampled_from(["a+", "^error: ", "(?i)limit"]),
    kinds.JsonPointer: st.just("") | TEXT.map("/{}".format),
    kinds.Scalar: st.booleans()
    | st.text(max_size=3)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False),
    kinds.Umask: _texts("0?[0-7]{3}"),
    Argument: TEXT | st.just(""),
    Argv: st.builds(lambda program, rest: [program, *rest], TEXT, st.lists(TEXT)),
    FileToolSwitch: st.booleans()
    | st.fixed_dictionaries({}, optional={"max_steps": st.integers(1, 1000)}),
    ModelId: st.from_regex(r"[ -~]{1,20}", fullmatch=True),
    Owned: st.dictionaries(TEXT, _PLAIN, max_size=2),
    SecretOverlay: _REFERENCES | st.just(False),
    SecretReference: _REFERENCES,
    Version: st.sampled_from([1, 1.0]),
}
