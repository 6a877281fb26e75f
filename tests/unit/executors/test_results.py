"""From output to answer, usage and finish."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conduck_service.domain.execution import FailureCode, Finish, Usage
from conduck_service.executors.outputs import (
    FinishSignal,
    Output,
    Success,
    UsagePointers,
)
from conduck_service.executors.results import MOST_LINES, read_result
from conduck_service.executors.stripping import STRIP_WORDS
from conduck_service.extension.executor import Completed, Failed, RunResult

USAGE = UsagePointers(prompt_tokens="/u/p", completion_tokens="/u/c", total_tokens="")
NO_ANSWER = FailureCode.NO_ANSWER
ENGINE_ERROR = FailureCode.ENGINE_ERROR


def never() -> FailureCode | None:
    return None


def read(text: str | bytes, **output: Any) -> RunResult:
    data = text if isinstance(text, bytes) else text.encode("utf-8")
    return read_result(data, Output(**output), STRIP_WORDS, never)


def read_json(value: Any, **output: Any) -> RunResult:
    return read(json.dumps(value), format="json", **{"answer": "/a", **output})


def read_lines(*values: Any, **output: Any) -> RunResult:
    text = "\n".join(json.dumps(value) for value in values)
    return read(text, format="jsonl", **{"answer": "/a", **output})


def answer(result: RunResult) -> str:
    assert isinstance(result, Completed), result
    return result.answer


def failure(result: RunResult) -> FailureCode:
    assert isinstance(result, Failed), result
    return result.code


@pytest.mark.parametrize("form", ["text", "file"])
@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"ok", "ok"),
        (b"ok\n\r\n\n", "ok"),
        (b" \n a ", " \n a "),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"a\x00b\x1b[0m", "a\x00b\x1b[0m"),
        ("\ufeffa\u2028b\u2028".encode(), "\ufeffa\u2028b\u2028"),
    ],
)
def test_text_is_the_answer(form: str, data: bytes, wanted: str) -> None:
    assert answer(read(data, format=form)) == wanted


@pytest.mark.parametrize("data", ["", "\n", " \t\u3000\n", "<think>a</think>\n"])
def test_blank_text_is_no_answer(data: str) -> None:
    assert failure(read(data)) is NO_ANSWER


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("/a", {"a": "ok"}),
        ("/a/0/b", {"a": [{"b": "ok"}]}),
        ("/a~1b/m~0n", {"a/b": {"m~n": "ok"}}),
        ("", "ok"),
        ("/", {"": "ok"}),
    ],
)
def test_the_answer_stands_where_the_pointer_leads(pointer: str, value: Any) -> None:
    assert answer(read_json(value, answer=pointer)) == "ok"


@pytest.mark.parametrize(
    "value", [{}, {"a": None}, {"a": 1}, {"a": ["x"]}, {"a": {"b": "x"}}, [], "text", 7]
)
def test_anything_but_a_text_there_is_no_answer(value: Any) -> None:
    assert failure(read_json(value)) is NO_ANSWER


@pytest.mark.parametrize("text", ["", "no", "{", '{"a": "x"', "[[[", '"a', "nul"])
def test_output_without_json_is_an_error(text: str) -> None:
    assert failure(read(text, format="json", answer="/a")) is ENGINE_ERROR
    assert failure(read(text, format="jsonl", answer="/a")) is ENGINE_ERROR


@pytest.mark.parametrize(
    "text",
    [
        'x\n{"a": "ok"}\ny',
        '[1]\n{"a": "ok"}',
        '{"a": "ok"}\n{"b": 1}',
        '{"a": "old"}\n{"a": "ok"}',
        '[INFO] {"a": "no"}\n{"a":\n"ok"}',
        '\r\n{"a": "ok"}\r\n',
    ],
)
def test_a_json_result_is_found_in_noise(text: str) -> None:
    assert answer(read(text, format="json", answer="/a")) == "ok"


@pytest.mark.parametrize(
    "text",
    [
        '{"b":\n{"a": "no"}',
        '{"b": [\n{"a": "no"},\n{"a": "no"}\n',
        '[\n{"a": "no"},\n{"a',
        '  {"a": "no"}\nbye',
        'note {"a": "no"}',
    ],
)
def test_a_part_of_a_broken_value_is_no_result(text: str) -> None:
    assert failure(read(text, format="json", answer="/a")) is ENGINE_ERROR


# The time limit of every test bounds this; were it quadratic, it would take hours.
@pytest.mark.parametrize("noise", ["[\n", "{\n", '{"a":\n', '["x\n', "[1,\n"])
def test_noise_of_any_length_is_read_to_its_end(noise: str) -> None:
    assert failure(read(noise * 500_000, format="json", answer="/a")) is ENGINE_ERROR


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (['{"a":"1"}', '{"a":"2"}'], "2"),
        (['{"a":"1"}', "warning", "", '{"b":2}'], "1"),
        (['{"a":"1"}', '{"a":""}', '{"a":"<think>x</think>"}'], "1"),
        (['{"a":"1\u2028\u0085"}'], "1\u2028\u0085"),
        (['{"a":"1"}\r', '{"a":"2"}\r'], "2"),
        (['{"a":"1"}', '{"a":"2'], "1"),
    ],
)
def test_the_last_line_with_an_answer_counts(lines: list[str], wanted: str) -> None:
    assert answer(read("\n".join(lines), format="jsonl", answer="/a")) == wanted


def test_halves_of_surrogate_pairs_are_replaced() -> None:
    assert answer(read('{"a": "x\\ud83dy"}', format="json", answer="/a")) == (
        "x\ufffdy"
    )
    assert answer(read('{"a": "\\ud83e\\udd86"}', format="json", answer="/a")) == "🦆"


@pytest.mark.parametrize(
    ("equals", "value", "good"),
    [
        (False, False, True), (False, 0, False), (False, None, False),
        (True, 1, False), (1, 1, True), (1, 1.0, True), (1, True, False),
        ("success", "success", True), ("success", "error", False), (0, "0", False),
    ],
)  # fmt: skip
def test_the_success_signal_is_compared_as_json(
    equals: Any, value: Any, good: bool
) -> None:
    signal = Success(pointer="/s", equals=equals)
    result = read_json({"a": "ok", "s": value}, success=signal)
    assert isinstance(result, Completed) is good
    if isinstance(result, Failed):
        assert result.code is ENGINE_ERROR


def test_the_last_success_signal_counts_and_none_is_a_failure() -> None:
    signal = Success(pointer="/s", equals=True)
    assert failure(read_json({"a": "ok"}, success=signal)) is ENGINE_ERROR
    bad = ({"s": True}, {"a": "ok"}, {"s": False})
    assert failure(read_lines(*bad, success=signal)) is ENGINE_ERROR
    assert answer(read_lines(*reversed(bad), success=signal)) == "ok"


def test_a_failure_pattern_is_sought_in_the_answer() -> None:
    patterns = (re.compile("^No db"), re.compile("quota"))
    for text in ("No db here", "over quota"):
        assert failure(read(text, failure_patterns=patterns)) is ENGINE_ERROR
        # An error is not passed over in favour of an earlier message.
        result = read_lines({"a": "ok"}, {"a": text}, failure_patterns=patterns)
        assert failure(result) is ENGINE_ERROR
    assert answer(read("There is No db", failure_patterns=patterns))


def usage(*values: Any, **pointers: str) -> Usage | None:
    wanted = UsagePointers(
        **{"prompt_tokens": "", "completion_tokens": "", "total_tokens": "", **pointers}
    )
    result = read_lines(*values, usage=wanted if pointers else USAGE)
    assert isinstance(result, Completed)
    return result.usage


def call(prompt: Any, completion: Any, **more: Any) -> dict[str, Any]:
    return {"u": {"p": prompt, "c": completion}, **more}


OK = {"a": "ok"}


@pytest.mark.parametrize(
    ("records", "wanted"),
    [
        ([call(1, 2, a="ok")], (1, 2)),
        ([call(1, 2, a="x"), call(3, 4, a="ok")], (4, 6)),
        ([call(1, 2), call(3, 4), OK], (4, 6)),
        ([call(1, 2, type="s"), {"type": "t"}, {"type": "r", **OK}], (1, 2)),
        ([call(1.0, 2e3, a="ok")], (1, 2000)),
        ([call(-1, 5, a="ok")], (None, 5)),
        ([call("1", 5, a="ok")], (None, 5)),
        ([call(True, 5, a="ok")], (None, 5)),
        ([call(1.5, 5, a="ok")], (None, 5)),
        ([call(0, 5, a="ok")], (None, 5)),
        ([call(0, 5), call(3, 0), OK], (3, 5)),
        ([{"u": {"c": 5}, "a": "ok"}], (None, 5)),
        ([{"u": {"c": 5}}, {"u": {"c": 6}}, OK], (None, 11)),
        ([call(2**62, 5), call(2**62, 5), OK], (None, 10)),
    ],
)
def test_counts_are_summed_over_the_calls(
    records: list[Any], wanted: tuple[int | None, int | None]
) -> None:
    assert usage(*records) == Usage(
        prompt_tokens=wanted[0], completion_tokens=wanted[1]
    )


@pytest.mark.parametrize(
    "records",
    [
        [OK],
        [{"u": {}, "a": "ok"}],
        [{"u": None, "a": "ok"}],
        [call(0, 0, a="ok")],
        [call(-1, "x", a="ok")],
        [call(1, 2, a="x"), {"a": "ok"}],
        [call(1, 2), {"u": {"p": 1}}, OK],
        [call(1, 2, type="s"), {"type": "s"}, {"type": "r", **OK}],
    ],
)
def test_unknown_or_partial_usage_is_none(records: list[Any]) -> None:
    assert usage(*records) is None


def test_an_empty_usage_pointer_asks_for_nothing() -> None:
    assert usage({"t": 9, **OK}, total_tokens="/t") == Usage(total_tokens=9)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("max", Finish.LENGTH), (7, Finish.LENGTH), ("stop", Finish.STOP),
        ("tool_calls", None), (None, None), (True, None), ([], None),
    ],
)  # fmt: skip
def test_finish_says_length_or_stop_or_nothing(
    value: Any, wanted: Finish | None
) -> None:
    signal = FinishSignal(pointer="/f", length=("max", 7))
    for result in (
        read_json({"a": "ok", "f": value}, finish=signal),
        read_lines({"f": "max"}, {"a": "ok", "f": value}, finish=signal),
    ):
        assert isinstance(result, Completed)
        assert result.finish is wanted
    assert isinstance(read_json({"a": "ok"}, finish=signal), Completed)


@given(st.binary(), st.sampled_from(["text", "json", "jsonl"]))
def test_any_output_is_an_answer_or_a_failure(data: bytes, form: str) -> None:
    output = Output(format=form, answer=None if form == "text" else "/a")
    result = read_result(data, output, STRIP_WORDS, never)
    assert isinstance(result, Failed) or result.answer.strip()


@given(st.text())
def test_an_answer_in_json_arrives_as_it_is(text: str) -> None:
    result = read_result(
        json.dumps({"a": text}).encode("ascii"),
        Output(format="json", answer="/a"),
        strip=(),
        interrupted=never,
    )
    if any("!" <= sign <= "~" for sign in text):
        assert answer(result) == text
    elif isinstance(result, Completed):
        assert result.answer == text
        assert text.strip()


BLANK = ["\x00", "\x07\x1b\x7f", "\ufeff", "\u200b\u200d \u2060", "\u3164", "\x85"]


@pytest.mark.parametrize("text", BLANK)
def test_text_that_nobody_can_see_is_no_answer(text: str) -> None:
    assert failure(read(text)) is NO_ANSWER
    assert failure(read_json({"a": text})) is NO_ANSWER
    assert answer(read(f"{text}.{text}")) == f"{text}.{text}"


MANY_DIGITS = "9" * 5000


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_a_count_of_any_length_is_left_out_beside_the_answer(form: str) -> None:
    text = f'{{"a":"ok","u":{{"p":{MANY_DIGITS},"c":5}},"x":[-{MANY_DIGITS}]}}'
    result = read(text, format=form, answer="/a", usage=USAGE)
    assert isinstance(result, Completed)
    assert result.answer == "ok"
    assert result.usage == Usage(completion_tokens=5)


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_a_byte_order_mark_before_json_is_passed_over(form: str) -> None:
    assert answer(read('\ufeff{"a":"ok"}\n', format=form, answer="/a")) == "ok"


def test_deep_lines_cost_no_other_line() -> None:
    deep = "[" * 5000 + "]" * 5000
    text = f'{deep}\n{{"a":"ok"}}\n{deep}\n'
    assert answer(read(text, format="jsonl", answer="/a")) == "ok"


def test_only_the_last_lines_are_read_and_then_nothing_is_counted() -> None:
    last = json.dumps(call(1, 2, a="ok"))
    first = json.dumps(call(1, 2, a="old"))
    for blank, wanted in (("\n", (2, 4)), ("{}\n", None)):
        text = f"{first}\n" + blank * MOST_LINES + last
        result = read(text, format="jsonl", answer="/a", usage=USAGE)
        assert isinstance(result, Completed)
        assert result.answer == "ok"
        counts = result.usage and (
            result.usage.prompt_tokens,
            result.usage.completion_tokens,
        )
        assert counts == wanted
    assert failure(
        read(f"{first}\n" + "{}\n" * MOST_LINES, format="jsonl", answer="/a")
    )


LONG = [
    ("jsonl", "{}\n" * 2_000_000),
    ("jsonl", "\n" * 2_000_000),
    ("jsonl", '{"a":"<think>"}\n' * 400_000),
    ("json", "[]\n" * 600_000),
]


@pytest.mark.parametrize(("form", "text"), LONG)
def test_reading_stops_when_the_turn_is_interrupted(form: str, text: str) -> None:
    looks = iter([None, None, FailureCode.TIMEOUT])
    output = Output(format=form, answer="/a")
    result = read_result(text.encode(), output, STRIP_WORDS, lambda: next(looks))
    assert failure(result) is FailureCode.TIMEOUT
    # It looked no more often than it had to, so it stopped there.
    assert next(looks, None) is None


def test_an_answer_that_took_too_long_to_strip_is_late() -> None:
    looks = iter([None, FailureCode.TIMEOUT])
    result = read_result(b"ok", Output(), STRIP_WORDS, lambda: next(looks))
    assert failure(result) is FailureCode.TIMEOUT


@pytest.mark.parametrize(("form", "text"), LONG)
def test_output_of_any_length_is_read_to_its_end(form: str, text: str) -> None:
    assert isinstance(read(text, format=form, answer="/a"), Completed | Failed)
