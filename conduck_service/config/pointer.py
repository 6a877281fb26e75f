"""Places in a config, written as diagnostics print them or with names of entries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from conduck_service.base.diagnostics import suggest
from conduck_service.base.jsonio import JsonValue

_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")


class PointerError(LookupError):
    """Raised when a pointer leads nowhere.

    Attributes:
        place: The way up to where it still led somewhere, and one step more.
        reason: Why it leads no further.
        remedy: What may have been meant.
    """

    def __init__(self, place: str, reason: str, remedy: str) -> None:
        super().__init__(f"{place}: {reason}; {remedy}")
        self.place = place
        self.reason = reason
        self.remedy = remedy


def steps_of(pointer: str) -> tuple[str, ...]:
    """Return the steps of a pointer.

    It is written as in ``scopes/0/bindings/0/config``, with or without a slash
    before it; ``~1`` and ``~0`` stand for a slash and a tilde inside a step. The
    empty pointer means everything.
    """
    text = pointer.removeprefix("/")
    if not text:
        return ()
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in text.split("/"))


def get(value: JsonValue, steps: Sequence[str]) -> JsonValue:
    """Return what is at a place.

    Raises:
        PointerError: Nothing is there.
    """
    for number, step in enumerate(steps):
        value = value[_key(value, step, steps[: number + 1])]
    return value


def put(value: JsonValue, steps: Sequence[str], new: JsonValue) -> None:
    """Set what is at a place; there is at least one step.

    Objects on the way that are not there are made, since what is left out has its
    default. At the end of a list, ``-`` stands for one entry more.

    Raises:
        PointerError: A list on the way has no such entry, or what is on the way
            holds nothing. The value is then as it was.
    """
    target, depth = value, 0
    for step in steps[:-1]:
        if isinstance(target, dict) and step not in target:
            break
        depth += 1
        target = target[_key(target, step, steps[:depth])]
    last = steps[-1]
    if isinstance(target, list) and last == "-":
        target.append(new)
        return
    if isinstance(target, dict):
        for step in reversed(steps[depth + 1 :]):
            new = {step: new}
        target[steps[depth]] = new
        return
    target[_key(target, last, steps)] = new


def remove(value: JsonValue, steps: Sequence[str]) -> None:
    """Take away what is at a place; there is at least one step.

    Raises:
        PointerError: Nothing is there.
    """
    target = get(value, steps[:-1])
    del target[_key(target, steps[-1], steps)]


def _key(value: JsonValue, step: str, way: Sequence[str]) -> Any:
    """Return the key or index that a step means in a value."""
    place = "/".join(way)
    if isinstance(value, dict):
        if step in value:
            return step
        raise PointerError(
            place,
            "the file has no such key; what is left out has its default",
            suggest(step, list(value)) if value else "look one step higher",
        )
    if isinstance(value, list):
        return _index(value, step, place)
    raise PointerError(place, "nothing is inside a single value", "leave the step out")


def _index(entries: list[JsonValue], step: str, place: str) -> int:
    if _INDEX.fullmatch(step) and int(step) < len(entries):
        return int(step)
    labels = [_label(entry) for entry in entries]
    matches = [number for number, label in enumerate(labels) if label == step]
    if len(matches) == 1:
        return matches[0]
    if matches:
        numbers = " or ".join(map(str, matches))
        raise PointerError(
            place, "more than one entry is called so", f"write its number: {numbers}"
        )
    names = [label for label in labels if label is not None]
    if not entries:
        raise PointerError(place, "the list is empty", "look one step higher")
    remedy = suggest(step, names) if names else f"count from 0 to {len(entries) - 1}"
    raise PointerError(place, "the list has no such entry", remedy)


def _label(entry: JsonValue) -> str | None:
    """Return what an entry is called; beside an id, a name is a free text."""
    if not isinstance(entry, dict):
        return None
    label = entry["id"] if "id" in entry else entry.get("name")
    return label if isinstance(label, str) else None
