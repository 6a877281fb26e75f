"""Metadata of a reply: only what was measured, and only what is true."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.engines import Engine, Engines, are_unrelated, engine, serving
from tests.support.service import user

USAGE = {
    "prompt_tokens": "/usage/prompt_tokens",
    "completion_tokens": "/usage/completion_tokens",
    "total_tokens": "/usage/total_tokens",
}
JSON = {"format": "json", "answer": "/result", "usage": USAGE}
JSONL = JSON | {"format": "jsonl"}
FINISH = {"pointer": "/stop", "length": ["max_tokens", "max_turns", "length"]}
COMPLETE = {"pointer": "/complete", "length": [False]}


def raw(text: str, **output: Any) -> Engine:
    return engine(["print", text], output={**JSON, **output})


def counted(**usage: str) -> Engine:
    """Return an engine whose counts are these pieces of JSON text."""
    pairs = ",".join(f'"{name}":{value}' for name, value in usage.items())
    return raw(f'{{"result":"ok","usage":{{{pairs}}}}}')


def lines(*records: dict[str, Any]) -> Engine:
    text = "".join(json.dumps(record) + "\n" for record in records)
    return engine(["print", text], output=JSONL)


def stopped(stop: Any, **more: Any) -> Engine:
    text = json.dumps({"result": "ok", "stop": stop, **more})
    return raw(text, finish=FINISH)


def tokens(prompt: int, completion: int) -> dict[str, Any]:
    return {"usage": {"prompt_tokens": prompt, "completion_tokens": completion}}


ANSWER = {"type": "result", "result": "ok"}
STEP = {"type": "step"}

NO_COUNTS = {
    "text": engine(["print", "ok"]),
    "unasked": engine(
        ["print", '{"result":"ok","usage":{"prompt_tokens":5}}'],
        output={"format": "json", "answer": "/result"},
    ),
    "absent": raw('{"result":"ok"}'),
    "zeros": counted(prompt_tokens="0", completion_tokens="0", total_tokens="0"),
    "empty": counted(),
}
MALFORMED = {
    "negative": "-1",
    "a_text": '"7"',
    "nan": "NaN",
    "infinity": "Infinity",
    "huge": "1e400",
    "beyond_64_bits": "9223372036854775808",
    "endless": "9" * 5000,
    "fraction": "7.5",
    "true": "true",
    "null": "null",
    "a_list": "[7]",
}
WHOLE_NUMBERS = {
    "integer": "7600",
    "decimal_point": "7600.0",
    "exponent": "7.6e3",
    "large": "12345678901234",
}
SUMS = {
    "each_call_answers": lines(
        {"result": "a", **tokens(1, 10)},
        {"result": "b", **tokens(2, 20)},
        {"result": "ok", **tokens(4, 40)},
    ),
    "calls_beside_the_answer": lines(
        {**STEP, **tokens(1, 10)},
        {**STEP, **tokens(2, 20)},
        {"type": "note"},
        {**STEP, **tokens(4, 40)},
        ANSWER,
    ),
}
PARTS = {
    "an_answer_without": lines(
        {"result": "a", **tokens(1, 10)},
        {"result": "b"},
        {"result": "ok", **tokens(4, 40)},
    ),
    "the_last_without": lines({"result": "a", **tokens(1, 10)}, {"result": "ok"}),
    "a_step_without": lines({**STEP, **tokens(1, 10)}, STEP, ANSWER),
    "half_a_step": lines(
        {**STEP, **tokens(1, 10)}, {**STEP, "usage": {"prompt_tokens": 2}}, ANSWER
    ),
}
LIMITS = {
    "tokens": stopped("max_tokens"),
    "word": stopped("length"),
}
OTHERS = ["tool_calls", "content_filter", "end_turn", "", 7, None, True]

ENGINES = {
    **{f"none_{name}": item for name, item in NO_COUNTS.items()},
    **{
        f"bad_{name}": counted(prompt_tokens=text, completion_tokens="5")
        for name, text in MALFORMED.items()
    },
    **{
        f"whole_{name}": counted(prompt_tokens=text, completion_tokens="5")
        for name, text in WHOLE_NUMBERS.items()
    },
    **{f"sum_{name}": item for name, item in SUMS.items()},
    **{f"part_{name}": item for name, item in PARTS.items()},
    **{f"limit_{name}": item for name, item in LIMITS.items()},
    **{f"other_{index}": stopped(item) for index, item in enumerate(OTHERS)},
    "turns": stopped("max_turns"),
    "stop": stopped("stop"),
    "one_zero": counted(prompt_tokens="0", completion_tokens="5"),
    "one_malformed": lines(
        {"result": "a", **tokens(-1, 10)}, {"result": "ok", **tokens(2, 20)}
    ),
    "closed": raw(
        '{"result":"ok","stop":"max_turns","complete":true}', finish=COMPLETE
    ),
    "unfinished": raw(
        '{"result":"ok","stop":"max_turns","complete":false}', finish=COMPLETE
    ),
    "nan_words": raw('{"result":"NaN is not Infinity","usage":{"prompt_tokens":NaN}}'),
}


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    with serving(tmp_path_factory.mktemp("meta"), ENGINES) as them:
        yield them


@pytest.mark.req("C-META-01")
def test_a_reply_without_metadata_is_complete(engines: Engines) -> None:
    run = engines.run("none_text", user("x"))
    assert run.status == 200
    assert set(run.body) <= {"choices", "model", "id"}
    assert run.choice == {"message": {"role": "assistant", "content": "ok"}}


@pytest.mark.req("C-META-02")
@pytest.mark.parametrize("model", ["none_text", "none_absent", "stop"])
def test_model_is_the_advertised_id_that_served(engines: Engines, model: str) -> None:
    assert engines.run(model, user("x")).body["model"] == model


@pytest.mark.req("C-META-03")
def test_the_id_is_fresh_for_every_turn(engines: Engines) -> None:
    first, second = (engines.run("stop", user("x")).body["id"] for _ in range(2))
    assert are_unrelated(first, second)


@pytest.mark.req("C-META-04")
@pytest.mark.parametrize("name", NO_COUNTS)
def test_nothing_measured_is_nothing_reported(engines: Engines, name: str) -> None:
    run = engines.run(f"none_{name}", user("x"))
    assert run.answer == "ok"
    assert "usage" not in run.body


@pytest.mark.req("C-META-04")
def test_a_zero_beside_a_count_is_not_reported(engines: Engines) -> None:
    run = engines.run("one_zero", user("x"))
    assert run.body["usage"] == {"completion_tokens": 5}


@pytest.mark.req("C-META-05")
@pytest.mark.parametrize("name", WHOLE_NUMBERS)
def test_a_count_is_written_as_an_integer(engines: Engines, name: str) -> None:
    run = engines.run(f"whole_{name}", user("x"))
    number = int(float(WHOLE_NUMBERS[name]))
    assert run.body["usage"] == {"prompt_tokens": number, "completion_tokens": 5}
    written = re.findall(r'_tokens":([^,}]*)', run.response.text)
    assert written == [str(number), "5"]


@pytest.mark.req("C-META-06")
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_count_is_left_out_alone(engines: Engines, name: str) -> None:
    run = engines.run(f"bad_{name}", user("x"))
    assert run.answer == "ok"
    assert run.body["usage"] == {"completion_tokens": 5}


@pytest.mark.req("C-META-06")
def test_a_sum_with_a_malformed_count_is_left_out_alone(engines: Engines) -> None:
    run = engines.run("one_malformed", user("x"))
    assert run.answer == "ok"
    assert run.body["usage"] == {"completion_tokens": 30}


@pytest.mark.req("C-META-07")
@pytest.mark.parametrize("name", SUMS)
def test_usage_is_the_sum_of_all_calls(engines: Engines, name: str) -> None:
    run = engines.run(f"sum_{name}", user("x"))
    assert run.answer == "ok"
    assert run.body["usage"] == {"prompt_tokens": 7, "completion_tokens": 70}


@pytest.mark.req("C-META-08")
@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_the_usage_is_not_reported(engines: Engines, name: str) -> None:
    run = engines.run(f"part_{name}", user("x"))
    assert run.answer == "ok"
    assert "usage" not in run.body


@pytest.mark.req("C-META-09")
@pytest.mark.parametrize("name", LIMITS)
def test_an_output_limit_is_told(engines: Engines, name: str) -> None:
    run = engines.run(f"limit_{name}", user("x"))
    assert run.answer == "ok"
    assert run.choice["finish_reason"] == "length"


@pytest.mark.req("C-META-10")
def test_a_step_cap_that_ended_the_answer_is_told(engines: Engines) -> None:
    assert engines.run("turns", user("x")).choice["finish_reason"] == "length"
    assert engines.run("unfinished", user("x")).choice["finish_reason"] == "length"


@pytest.mark.req("C-META-11")
def test_a_cap_after_a_complete_answer_is_not_told(engines: Engines) -> None:
    run = engines.run("closed", user("x"))
    assert run.answer == "ok"
    assert "finish_reason" not in run.choice


@pytest.mark.req("C-META-12")
@pytest.mark.parametrize("index", range(len(OTHERS)), ids=map(repr, OTHERS))
def test_other_finish_reasons_are_left_out(engines: Engines, index: int) -> None:
    run = engines.run(f"other_{index}", user("x"))
    assert run.answer == "ok"
    assert "finish_reason" not in run.choice


@pytest.mark.req("C-META-12")
def test_stop_is_copied(engines: Engines) -> None:
    assert engines.run("stop", user("x")).choice["finish_reason"] == "stop"


@pytest.mark.req("C-RESP-21")
@pytest.mark.parametrize("model", ["nan_words", "bad_nan", "bad_infinity", "bad_huge"])
def test_a_body_never_holds_nan_or_infinity(engines: Engines, model: str) -> None:
    run = engines.run(model, user("x"))
    assert run.status == 200
    body = run.body  # Read by a parser that refuses the constants.
    assert "prompt_tokens" not in body.get("usage", {})
    if model == "nan_words":
        assert run.answer == "NaN is not Infinity"
