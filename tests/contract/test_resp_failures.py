"""Turns without a good answer are 502, whatever the engine printed."""

from __future__ import annotations

import functools
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.engines import Engine, Engines, Run, engine, serving
from tests.support.service import Stub, binding, running, user, wait_until

JSON = {"format": "json", "answer": "/result"}
CHECKED = JSON | {"success": {"pointer": "/is_error", "equals": False}}
JSONL = {"format": "jsonl", "answer": "/text"}
PATTERNS = {"failure_patterns": ["^No connected db", "(?i)rate limit"]}
SECRET = "half-an-answer-6b1d"
CAP = 65_536


def filing(*steps: list[Any], **config: Any) -> Engine:
    """Return an engine whose answer would stand in a file."""
    words, output = ("--answer", "{answer_file}"), {"format": "file"}
    return engine(["print", SECRET], *steps, arguments=words, output=output, **config)


def printing(value: Any, output: dict[str, Any]) -> Engine:
    return engine(["print", json.dumps(value)], output=output)


SILENT = {
    "nothing": engine(),
    "json_empty": printing({"result": ""}, JSON),
    "json_without_answer": printing({"n": 1}, JSON),
    "json_null": printing({"result": None}, JSON),
    "json_number": printing({"result": 4}, JSON),
    "json_nothing": engine(output=JSON),
    "file_missing": filing(),
    "file_empty": filing(["answer", ""]),
    "file_pipe": filing(["answer_pipe"]),
    "jsonl_nothing": engine(output=JSONL),
    "jsonl_empty": engine(["print", '{"text":""}\n{"text":""}\n'], output=JSONL),
}
BLANK = {
    "blank": engine(["print", "\n \n"]),
    "tabs": engine(["print", "\t \r\n\u3000\u2003"]),
    "controls": engine(["print", "\x00\x07\ufeff\u200b"]),
    "thought_only": engine(["print", "<think>x</think>\n"]),
    "call_only": engine(["print", '@save(call_1): {"a": 1}\n']),
    "literal_call_only": engine(["print", "@save(call_1): {...}\n"]),
    "open_thought": engine(["print", f"<think>\n{SECRET}"]),
    "json_blank": printing({"result": " \n"}, JSON),
    "jsonl_blank": engine(
        ["print", '{"text":"<think>x</think>"}\n{"text":" "}\n'], output=JSONL
    ),
}
FAILING = {
    "status": engine(["print", SECRET], ["exit", 1]),
    "json_status": engine(
        ["print", json.dumps({"result": SECRET})], ["exit", 3], output=JSON
    ),
    "jsonl_status": engine(
        ["print", json.dumps({"text": SECRET})], ["exit", 1], output=JSONL
    ),
}
UNSUCCESSFUL = {
    "is_error": printing({"is_error": True, "result": SECRET}, CHECKED),
    "no_flag": printing({"result": SECRET}, CHECKED),
    "other_flag": printing({"is_error": 0, "result": SECRET}, CHECKED),
    "flag_of_the_end": engine(
        ["print", json.dumps({"text": SECRET}) + '\n{"ok":false}\n'],
        output=JSONL | {"success": {"pointer": "/ok", "equals": True}},
    ),
}
CUT = {
    "killed": engine(["print", SECRET], ["signal", signal.SIGKILL]),
    "half_json": engine(["print", json.dumps({"result": SECRET})[:-2]], output=JSON),
    "half_list": engine(
        ["print", f'{{"list": [\n{{"result": "{SECRET}"}},\n{{"res'], output=JSON
    ),
}
SIGNALS = {
    "segv": engine(["print", SECRET], ["signal", signal.SIGSEGV]),
    "term": engine(["print", SECRET], ["signal", signal.SIGTERM]),
    "abrt": engine(["print", SECRET], ["signal", signal.SIGABRT]),
}
PATTERNED = {
    "text_pattern": engine(["print", f"No connected db {SECRET}"], output=PATTERNS),
    "json_pattern": printing({"result": f"Rate limit hit {SECRET}"}, JSON | PATTERNS),
}
FLOODING = {
    "flood": engine(["flood"], max_output_bytes=CAP),
    "just_over": engine(["print", "x" * (CAP + 1)], max_output_bytes=CAP),
    "file_over": filing(["answer", "x" * (CAP + 1)], max_output_bytes=CAP),
    "stubborn": engine(["ignore_term"], ["flood"], max_output_bytes=CAP),
    "errors": engine(["error", "x" * (CAP + 1)], ["print", "ok"], max_output_bytes=CAP),
}
FAILURES = {
    **SILENT, **BLANK, **FAILING, **UNSUCCESSFUL, **CUT, **SIGNALS, **PATTERNED,
    **FLOODING,
}  # fmt: skip
ENGINES = {
    **FAILURES,
    "worker": engine(["write", "report.txt", "done"]),
    "at_the_cap": engine(["print", "x" * CAP], max_output_bytes=CAP),
    "patterned_but_well": engine(
        ["print", "It said: No connected db"], output=PATTERNS
    ),
    "flagged_well": printing({"is_error": False, "result": "It is 4."}, CHECKED),
}


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    with serving(tmp_path_factory.mktemp("failures"), ENGINES) as them:
        yield them


@pytest.fixture(scope="module")
def run_of(engines: Engines) -> Callable[[str], Run]:
    """Return what gives the run of a model, which is done once."""
    return functools.cache(lambda model: engines.run(model, user("x")))


def assert_failure(run: Run) -> None:
    assert (run.status, run.code) == (502, "upstream_failure")


@pytest.mark.req("C-RESP-06")
@pytest.mark.parametrize("model", SILENT)
def test_no_text_is_a_failure(run_of: Callable[[str], Run], model: str) -> None:
    assert_failure(run_of(model))


@pytest.mark.req("C-RESP-07")
@pytest.mark.parametrize("model", BLANK)
def test_blank_text_is_a_failure(run_of: Callable[[str], Run], model: str) -> None:
    assert_failure(run_of(model))


@pytest.mark.req("C-RESP-08")
def test_work_without_words_is_a_failure_and_the_work_stays(engines: Engines) -> None:
    assert_failure(engines.run("worker", user("x")))
    assert (engines.service.folder / "report.txt").read_text("utf-8") == "done"


@pytest.mark.req("C-RESP-09")
@pytest.mark.parametrize("model", FAILURES)
def test_no_failure_is_answered_in_words_of_our_own(
    run_of: Callable[[str], Run], model: str
) -> None:
    run = run_of(model)
    assert run.status != 200
    assert set(run.body) == {"error"}
    assert SECRET not in run.response.text


@pytest.mark.req("C-RESP-14")
@pytest.mark.parametrize("model", FAILING)
def test_text_with_an_error_status_is_a_failure(
    run_of: Callable[[str], Run], model: str
) -> None:
    assert_failure(run_of(model))


@pytest.mark.req("C-RESP-15")
@pytest.mark.parametrize("model", UNSUCCESSFUL)
def test_a_result_that_reports_failure_is_one(
    run_of: Callable[[str], Run], model: str
) -> None:
    assert_failure(run_of(model))


@pytest.mark.req("C-RESP-23")
@pytest.mark.parametrize("model", CUT)
def test_half_an_answer_is_a_failure(run_of: Callable[[str], Run], model: str) -> None:
    assert_failure(run_of(model))


@pytest.mark.req("C-RESP-28")
@pytest.mark.parametrize("model", SIGNALS)
def test_an_engine_that_dies_is_a_failure(
    run_of: Callable[[str], Run], model: str
) -> None:
    assert_failure(run_of(model))


@pytest.mark.req("C-RESP-29")
@pytest.mark.parametrize("model", PATTERNED)
def test_an_answer_with_a_failure_pattern_is_a_failure(
    run_of: Callable[[str], Run], model: str
) -> None:
    assert_failure(run_of(model))


@pytest.mark.req("C-RESP-29")
def test_signals_and_patterns_let_good_answers_pass(engines: Engines) -> None:
    good = engines.run("patterned_but_well", user("x"))
    assert good.answer == "It said: No connected db"
    assert engines.run("flagged_well", user("x")).answer == "It is 4."


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.req("C-RESP-26")
@pytest.mark.parametrize("model", FLOODING)
def test_output_over_the_cap_is_a_failure_and_ends_the_engine(
    run_of: Callable[[str], Run], model: str
) -> None:
    start = time.monotonic()
    run = run_of(model)
    assert_failure(run)
    assert time.monotonic() - start < 10
    assert not is_alive(run.records[0]["pid"])


@pytest.mark.req("C-RESP-26")
def test_output_up_to_the_cap_is_an_answer(engines: Engines) -> None:
    assert engines.run("at_the_cap", user("x")).answer == "x" * CAP


def test_a_flood_in_the_grace_of_a_late_engine_ends_it(tmp_path: Path) -> None:
    late = engine(
        ["ignore_term"], ["sleep", 1.2], ["flood"],
        timeout_seconds=1, kill_grace_seconds=10, max_output_bytes=CAP,
    )  # fmt: skip
    with serving(tmp_path, {"late": late}) as them:
        start = time.monotonic()
        run = them.run("late", user("x"))
        assert (run.status, run.code) == (504, "upstream_timeout")
        assert time.monotonic() - start < 15
        assert not is_alive(run.records[0]["pid"])


@pytest.mark.req("C-RESP-27")
def test_an_engine_that_cannot_be_started_is_a_failure(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program", encoding="ascii")
    programs = {
        "missing": "/nonexistent/engine",
        "missing_in_path": "no-such-engine-4d2f",
        "not_executable": str(plain),
        "a_folder": str(tmp_path),
    }
    bindings = {
        name: binding(Stub((program,), tmp_path), name=name)
        for name, program in programs.items()
    }
    with running(tmp_path, bindings=bindings) as service:
        for name in bindings:
            response = service.turn(user("x"), model=name)
            assert response.status_code == 502, name
            assert response.json()["error"]["code"] == "upstream_failure"
        wait_until(lambda: service.log.count("cannot_start") >= len(programs))
