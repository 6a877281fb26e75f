"""From what an engine printed to an answer, or to why there is none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from conduck_service.base.jsonio import JsonValue, at_pointer
from conduck_service.domain.execution import FailureCode, Finish, Usage
from conduck_service.executors.outputs import FinishSignal, Output, UsagePointers
from conduck_service.executors.stripping import strip_machinery
from conduck_service.extension.executor import Completed, Failed, RunResult

_ABSENT: Final = object()
_T = TypeVar("_T")
Interrupted = Callable[[], FailureCode | None]

# Longer ones make int() raise; as a float they are an infinity, which no count is.
_MOST_DIGITS = 4_300


def _number(text: str) -> int | float:
    return int(text) if len(text) <= _MOST_DIGITS else float(text)


# What an engine prints is read leniently: a NaN or an endless number among its
# counts must not cost the answer (C-META-06). What is sent on is strict all the
# same (C-RESP-21).
LENIENT = json.JSONDecoder(parse_int=_number)
"""Reads what engines say."""

# An object or an array at the beginning of a line; no ``[INFO]``.
_BEGINNING = re.compile(r"^(?:\{\s*[\"}]|\[\s*[\[{\"\]tfn0-9-])", re.MULTILINE)
_MOST_BROKEN_VALUES = 200
_LOOKS_EVERY = 256

MOST_LINES = 50_000
"""Lines of ``jsonl`` that are read, blank ones apart, counted from the last."""

# A sign that can be seen; white space, controls and what has no width is none.
_VISIBLE = re.compile(
    r"[^\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0]"
)


class _CutShortError(Exception):
    """The turn was interrupted while its output was read."""

    def __init__(self, code: FailureCode) -> None:
        super().__init__(code)
        self.code = code


def read_result(
    data: bytes, output: Output, strip: Sequence[str], interrupted: Interrupted
) -> RunResult:
    """Return the answer that stands in an engine's output.

    Success is a conjunction: the output can be read, the engine's own signal is
    good, there is an answer, and no failure pattern is found in it. The exit
    status is the caller's business.

    Args:
        data: Standard output, or the answer file with format ``file``.
        output: How to read it.
        strip: Which machinery to remove from the answer.
        interrupted: Says why the turn must end now, if it must; asked between
            the steps.
    """
    text = data.decode("utf-8", "replace")  # C-RESP-25
    try:
        if output.format in ("text", "file"):
            # C-RESP-24
            return _checked(text.rstrip("\r\n"), output, strip, interrupted)
        return _structured(text.removeprefix("\ufeff"), output, strip, interrupted)
    except _CutShortError as cut:
        return Failed(cut.code)


def check_text(
    text: str, strip: Sequence[str], interrupted: Interrupted
) -> Completed | Failed:
    """Return the answer in a text that says nothing but that, or why there is none.

    Args:
        text: What the engine gave as its answer.
        strip: Which machinery to remove from it.
        interrupted: As for :func:`read_result`.
    """
    try:
        return _checked(text, Output(), strip, interrupted)
    except _CutShortError as cut:
        return Failed(cut.code)


def _structured(
    text: str, output: Output, strip: Sequence[str], interrupted: Interrupted
) -> RunResult:
    records, is_whole = _records(text, output, interrupted)
    if not records:
        return Failed(FailureCode.ENGINE_ERROR, "there is no JSON in the output")
    signal = output.success
    if signal is not None and not _same(
        _last_at(records, signal.pointer), signal.equals
    ):
        return Failed(FailureCode.ENGINE_ERROR, "the success signal is not good")
    result = _last_answer(records, output, strip, interrupted)
    if isinstance(result, Failed):
        return result
    return Completed(
        answer=result.answer,
        # Counts of a part of the turn would be less than the truth (C-META-07).
        usage=_usage(records, output) if is_whole else None,
        finish=_finish(records, output.finish),
    )


def _look(interrupted: Interrupted) -> None:
    if (code := interrupted()) is not None:
        raise _CutShortError(code)


def _looking(items: Iterable[_T], interrupted: Interrupted) -> Iterator[_T]:
    """Yield the items, and look up now and then."""
    for number, item in enumerate(items, start=1):
        if number % _LOOKS_EVERY == 0:
            _look(interrupted)
        yield item


def _records(
    text: str, output: Output, interrupted: Interrupted
) -> tuple[list[JsonValue], bool]:
    """Return the JSON values of the output, oldest first, and whether all of them."""
    if output.format == "jsonl":
        return _line_records(text, interrupted)
    whole = _parsed(text)
    if whole is not _ABSENT:
        return [whole], True
    # C-RESP-12: of several values in noise, the last that holds an answer.
    last = answering = _ABSENT
    for value in _looking(_values_in(text), interrupted):
        last = value
        answering = value if _is_answering(value, output) else answering
    best = last if answering is _ABSENT else answering
    return ([] if best is _ABSENT else [best]), True


def _line_records(text: str, interrupted: Interrupted) -> tuple[list[JsonValue], bool]:
    """Return the values of the last lines.

    Lines that are not JSON are notes of the engine and are passed over.
    """
    records: list[JsonValue] = []
    count = 0
    for line in _looking(_lines_from_the_end(text), interrupted):
        if not line or line.isspace():
            continue
        count += 1
        if count > MOST_LINES:
            return records[::-1], False
        if (value := _parsed(line)) is not _ABSENT:
            records.append(value)
    return records[::-1], True


def _lines_from_the_end(text: str) -> Iterator[str]:
    """Yield the lines; they end at LF only, as U+2028 may stand inside a record."""
    end = len(text)
    while end >= 0:
        start = text.rfind("\n", 0, end) + 1
        yield text[start:end]
        end = start - 1


def _parsed(text: str) -> JsonValue:
    try:
        return LENIENT.decode(text)
    except (ValueError, RecursionError):
        return _ABSENT


def _values_in(text: str) -> Iterator[JsonValue]:
    """Yield the objects and arrays that begin a line amid other output.

    Nothing inside a broken value counts as one: what is left of a result that
    was cut short is no result (C-RESP-23). Finding out where a value is broken
    costs a look at all before it, so there is an end to that.
    """
    position = broken = 0
    while match := _BEGINNING.search(text, position):
        try:
            value, position = LENIENT.raw_decode(text, match.start())
        except json.JSONDecodeError as error:
            position = max(error.pos, match.start() + 1)
            broken += 1
        except (ValueError, RecursionError):
            return
        else:
            yield value
        if broken > _MOST_BROKEN_VALUES:
            return


def _at(record: JsonValue, pointer: str) -> JsonValue:
    try:
        return at_pointer(record, pointer)
    except LookupError:
        return _ABSENT


def _last_at(records: Sequence[JsonValue], pointer: str) -> JsonValue:
    for record in reversed(records):
        value = _at(record, pointer)
        if value is not _ABSENT:
            return value
    return _ABSENT


def _same(value: JsonValue, wanted: JsonValue) -> bool:
    # In Python 1 equals True; in JSON it does not.
    return isinstance(value, bool) is isinstance(wanted, bool) and bool(value == wanted)


def _is_answering(record: JsonValue, output: Output) -> bool:
    return isinstance(_at(record, output.answer or ""), str)


def _last_answer(
    records: Sequence[JsonValue],
    output: Output,
    strip: Sequence[str],
    interrupted: Interrupted,
) -> Completed | Failed:
    """Return the last message that still holds an answer (C-RESP-11)."""
    assert output.answer is not None
    result: Completed | Failed = Failed(FailureCode.NO_ANSWER, "no answer was found")
    for record in reversed(records):
        text = _at(record, output.answer)
        if not isinstance(text, str):
            continue
        result = _checked(text, output, strip, interrupted)
        if not (isinstance(result, Failed) and result.code is FailureCode.NO_ANSWER):
            return result
    return result


def _checked(
    text: str, output: Output, strip: Sequence[str], interrupted: Interrupted
) -> Completed | Failed:
    _look(interrupted)
    answer = strip_machinery(_whole_characters(text), strip)
    _look(interrupted)
    if not _VISIBLE.search(answer):  # C-RESP-07
        return Failed(FailureCode.NO_ANSWER, "the answer is blank")
    if any(pattern.search(answer) for pattern in output.failure_patterns):
        return Failed(FailureCode.ENGINE_ERROR, "a failure pattern was found")
    return Completed(answer=answer)


def _whole_characters(text: str) -> str:
    """Replace halves of surrogate pairs, which no strict client would read."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _finish(records: Sequence[JsonValue], signal: FinishSignal | None) -> Finish | None:
    if signal is None:
        return None
    value = _last_at(records, signal.pointer)
    if any(_same(value, length) for length in signal.length):
        return Finish.LENGTH
    return Finish.STOP if value == "stop" else None  # C-META-12


def _usage(records: Sequence[JsonValue], output: Output) -> Usage | None:
    """Return the usage of the whole turn, or None when a part is unknown.

    A count that no call has is one that the engine does not keep; one that only
    some have would be a part of the truth (C-META-07, C-META-08).
    """
    if output.usage is None:
        return None
    wanted = _wanted(output.usage)
    calls = _calls(records, output, tuple(wanted.values()))
    counts: dict[str, int | None] = {}
    for name, pointer in wanted.items():
        column = [_at(record, pointer) for record in calls]
        known = [value for value in column if value is not _ABSENT]
        if known and len(known) < len(column):
            return None
        counts[name] = _sum(known)
    return Usage(**counts) if any(counts.values()) else None


def _calls(
    records: Sequence[JsonValue], output: Output, pointers: Sequence[str]
) -> list[JsonValue]:
    """Return the records of model calls, those that lack their counts included.

    A call is a record with counts, or of the same type as one. Answers are calls
    too when any of them has counts; when none has, the engine counts elsewhere.
    """

    def is_counted(record: JsonValue) -> bool:
        return any(_at(record, pointer) is not _ABSENT for pointer in pointers)

    counted = [record for record in records if is_counted(record)]
    types = {_type(record) for record in counted} - {""}
    answers_count = any(_is_answering(record, output) for record in counted)
    return [
        record
        for record in records
        if is_counted(record)
        or _type(record) in types
        or (answers_count and _is_answering(record, output))
    ]


def _type(record: JsonValue) -> str:
    """Return the name that most engines give a record's kind, or nothing."""
    value = _at(record, "/type")
    return value if isinstance(value, str) else ""


def _wanted(pointers: UsagePointers) -> dict[str, str]:
    every = {
        "prompt_tokens": pointers.prompt_tokens,
        "completion_tokens": pointers.completion_tokens,
        "total_tokens": pointers.total_tokens,
    }
    return {name: pointer for name, pointer in every.items() if pointer}


def _sum(values: Iterable[JsonValue]) -> int | None:
    """Return the sum of counts; None when one is malformed or nothing counted."""
    total = 0
    for value in values:
        whole = isinstance(value, int) or (
            isinstance(value, float) and value.is_integer()
        )
        if isinstance(value, bool) or not whole or value < 0:
            return None  # C-META-06: left out, beside its neighbours
        total += int(value)
    # A zero is a placeholder: no turn with an answer used no tokens (C-META-04).
    return total if 0 < total < 2**63 else None
