"""From what an engine of a preset printed to an answer, or to why there is none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

from conduck_service.base.jsonio import JsonValue
from conduck_service.domain.execution import FailureCode, Finish
from conduck_service.executors.outputs import Output
from conduck_service.executors.preset.frame import Preset
from conduck_service.executors.preset.records import Printed, Record
from conduck_service.executors.results import read_result
from conduck_service.extension.executor import Completed, Failed, RunResult

_DECODER = json.JSONDecoder()
_LOOKS_EVERY = 256
_MOST_BEGINNINGS = 20
_BEGINNING = re.compile(r"^[{\[]", re.MULTILINE)
_JSON_STRING = Output(format="json", answer="")

Interrupted = Callable[[], FailureCode | None]


class BareToolTurn(Failed):
    """The model called tools and wrote no word, and can be asked for some."""


def printed(
    data: bytes, *, exited_well: bool, side: JsonValue, interrupted: Interrupted
) -> Printed:
    """Return what an engine printed; bytes that are no UTF-8 are replaced."""
    text = data.decode("utf-8", "replace")
    return Printed(
        text=text,
        records=tuple(_records(text, interrupted)),
        exited_well=exited_well,
        side=side,
    )


def judge(
    preset: Preset, run: Printed, strip: Sequence[str], interrupted: Interrupted
) -> RunResult:
    """Return the answer of a finished run.

    Success is a conjunction: the exit status, the engine's own signal with its final
    record, and an answer with something to see in it. An error that is told as
    success is none.
    """
    reading = preset.read(run)
    if reading.is_too_long:
        return Failed(FailureCode.CONTEXT_TOO_LONG, "the engine says so")
    is_cut_off = reading.finish is Finish.LENGTH
    if not is_cut_off and not run.exited_well:
        return Failed(FailureCode.EXIT, "the exit status is not zero")
    if not is_cut_off and not reading.is_good:
        return Failed(FailureCode.ENGINE_ERROR, "the success signal is not good")
    # As the answer of a JSON engine: stripped, and looked through for a sign.
    answer = json.dumps(reading.answer or "").encode()
    result = read_result(answer, _JSON_STRING, strip, interrupted)
    if isinstance(result, Completed):
        return Completed(
            answer=result.answer, usage=reading.usage, finish=reading.finish
        )
    is_bare = result.code is FailureCode.NO_ANSWER and reading.used_tools
    if is_bare and not is_cut_off and preset.again:
        return BareToolTurn(FailureCode.NO_ANSWER, "the turn ended after a tool")
    return result


def _records(text: str, interrupted: Interrupted) -> Iterator[Record]:
    """Yield the objects of the output; what is no JSON is a note of the engine."""
    whole = _parsed(text)
    if whole is None:
        found = list(_of_lines(text, interrupted))
        if found:
            yield from found
            return
        whole = _after_notes(text)
    for item in whole if isinstance(whole, list) else [whole]:
        if isinstance(item, dict):
            yield item


def _of_lines(text: str, interrupted: Interrupted) -> Iterator[Record]:
    # Lines end at LF only: U+2028 and its like stand inside records.
    for number, line in enumerate(text.split("\n"), start=1):
        if number % _LOOKS_EVERY == 0 and interrupted() is not None:
            return
        if line.startswith("{") and isinstance(value := _parsed(line), dict):
            yield value


def _after_notes(text: str) -> JsonValue:
    """Return the value that ends the output, when lines of notes stand before it."""
    for count, beginning in enumerate(_BEGINNING.finditer(text)):
        if count == _MOST_BEGINNINGS:
            break
        if (value := _parsed(text[beginning.start() :])) is not None:
            return value
    return None


def _parsed(text: str) -> JsonValue:
    try:
        return _DECODER.decode(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None
