"""What an engine printed as records, and what a preset reads out of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from conduck_service.base.jsonio import JsonValue
from conduck_service.domain.execution import Finish, Usage

Record = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """A finished run of an engine.

    Attributes:
        text: All of standard output.
        records: The JSON objects in it, oldest first: one a line, or the elements
            of one array, or the one object. Whatever else was printed is no record.
        exited_well: Whether the exit status was zero.
        side: The JSON at ``{side}``: the file, or ``export.json`` in the folder;
            None without one.
    """

    text: str = field(repr=False)
    records: tuple[Record, ...] = field(repr=False)
    exited_well: bool = True
    side: JsonValue = field(default=None, repr=False)

    def of_type(self, *names: str) -> Iterator[Record]:
        """Yield the records of these types, newest first."""
        return (item for item in reversed(self.records) if item.get("type") in names)

    def last(self, *names: str) -> Record:
        """Return the newest record of these types, or an empty one."""
        return next(self.of_type(*names), {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a preset found.

    Attributes:
        answer: Text of the last message, nothing of tools in it; blank or None when
            there is none.
        is_good: Whether the engine's own signal says that the turn succeeded, and
            its final record is there. The exit status is judged beside it.
        finish: ``LENGTH`` when the engine says that a limit cut the answer off; the
            partial text counts then, whatever else it says. None when it does not
            say.
        usage: Of the whole turn, or None.
        used_tools: Whether the model called tools in this turn.
        is_too_long: Whether the engine says that the conversation does not fit.
    """

    answer: str | None
    is_good: bool
    finish: Finish | None = None
    usage: Usage | None = None
    used_tools: bool = False
    is_too_long: bool = False


def at(value: JsonValue, *keys: str | int) -> JsonValue:
    """Return what stands at these keys and indexes, or None.

    Engines change what they print; nothing that is missing is an error of ours.
    """
    for key in keys:
        if isinstance(key, str) and isinstance(value, Mapping):
            value = value.get(key)
        elif isinstance(key, int) and isinstance(value, list | tuple):
            value = value[key] if -len(value) <= key < len(value) else None
        else:
            return None
    return value


def text_at(value: JsonValue, *keys: str | int) -> str:
    """Return the text at these keys, or an empty one."""
    found = at(value, *keys)
    return found if isinstance(found, str) else ""


def items_at(value: JsonValue, *keys: str | int) -> list[JsonValue]:
    """Return the list at these keys, or an empty one."""
    found = at(value, *keys)
    return list(found) if isinstance(found, list | tuple) else []


def usage_of(*pairs: tuple[JsonValue, JsonValue]) -> Usage | None:
    """Return the sum of pairs of prompt and completion tokens.

    None when a count is missing or is no whole number above zero: a part of the
    truth is none (C-META-07).
    """
    counts = [count for pair in pairs for count in pair]
    if not counts or not all(_is_count(count) for count in counts):
        return None
    prompt, completion = (sum(column) for column in zip(*pairs, strict=True))
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion,
    )


def _is_count(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
