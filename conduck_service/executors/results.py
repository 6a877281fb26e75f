"""From what an engine printed to an answer, or to why there is none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from conduck_service.base.jsonio import JsonValue, at_pointer
from conduck_service.domain.execution import FailureCode, Finish, Usage
from conduck_service.executors.outputs import FinishSignal, Output, UsagePointers
from conduck_service.executors.stripping import strip_machinery
from conduck_service.extension.executor import Completed, Failed, RunResult

_ABSENT: Final = object()

# What an engine prints is read leniently: a NaN among its counts must not cost
# the answer (C-META-06). What is sent on is strict all the same (C-RESP-21).
_DECODER = json.JSONDecoder()
# An object or an array at the beginning of a line; no ``[INFO]``.
_BEGINNING = re.compile(r"^(?:\{\s*[\"}]|\[\s*[\[{\"\]tfn0-9-])", re.MULTILINE)
_MOST_BROKEN_VALUES = 200


def read_result(data: bytes, output: Output, strip: Sequence[str]) -> RunResult:
    """Return the answer that stands in an engine's output.

    Success is a conjunction: the output can be read, the engine's own signal is
    good, there is an answer, and no failure pattern is found in it. The exit
    status is the caller's business.

    Args:
        data: Standard output, or the answer file with format ``file``.
        output: How to read it.
        strip: Which machinery to remove from the answer.
    """
    text = data.decode("utf-8", "replace")  # C-RESP-25
    if output.format in ("text", "file"):
        return _checked(text.rstrip("\r\n"), output, strip)  # C-RESP-24
    records = _records(text, output)
    if not records:
        return Failed(FailureCode.ENGINE_ERROR, "there is no JSON in the output")
    signal = output.success
    if signal is not None and not _same(
        _last_at(records, signal.pointer), signal.equals
    ):
        return Failed(FailureCode.ENGINE_ERROR, "the success signal is not good")
    result = _last_answer(records, output, strip)
    if isinstance(result, Failed):
        return result
    return Completed(
        answer=result.answer,
        usage=_usage(records, output),
        finish=_finish(records, output.finish),
    )


def _records(text: str, output: Output) -> list[JsonValue]:
    """Return the JSON values of the output, oldest first.

    Lines end at LF only: U+2028 and its kind may stand inside a record. Lines
    that are not JSON are notes of the engine and are passed over.
    """
    if output.format == "jsonl":
        values = (_parsed(line) for line in text.split("\n"))
        return [value for value in values if value is not _ABSENT]
    whole = _parsed(text)
    found = list(_values_in(text)) if whole is _ABSENT else [whole]
    # C-RESP-12: of several values in noise, the last that holds an answer.
    answering = [value for value in found if _is_answering(value, output)]
    return (answering or found)[-1:]


def _parsed(text: str) -> JsonValue:
    try:
        return _DECODER.decode(text)
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
            value, position = _DECODER.raw_decode(text, match.start())
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
    records: Sequence[JsonValue], output: Output, strip: Sequence[str]
) -> Completed | Failed:
    """Return the last message that still holds an answer (C-RESP-11)."""
    assert output.answer is not None
    result: Completed | Failed = Failed(FailureCode.NO_ANSWER, "no answer was found")
    for record in reversed(records):
        text = _at(record, output.answer)
        if not isinstance(text, str):
            continue
        result = _checked(text, output, strip)
        if not (isinstance(result, Failed) and result.code is FailureCode.NO_ANSWER):
            return result
    return result


def _checked(text: str, output: Output, strip: Sequence[str]) -> Completed | Failed:
    answer = strip_machinery(_whole_characters(text), strip)
    if not answer.strip():  # C-RESP-07
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
