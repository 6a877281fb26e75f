"""How a binding says where the answer stands."""

from __future__ import annotations

from typing import Any

import pytest

from conduck_service.executors.outputs import (
    OUTPUT_SPEC,
    FinishSignal,
    Output,
    Success,
    UsagePointers,
)
from tests.unit.executors.decoding import decode, refusals


def test_text_is_the_default() -> None:
    assert decode(OUTPUT_SPEC, {}) == Output(format="text")


def test_everything_can_be_said() -> None:
    made = decode(
        OUTPUT_SPEC,
        {
            "format": "jsonl",
            "answer": "/result",
            "success": {"pointer": "/is_error", "equals": False},
            "usage": {"prompt_tokens": "/u/in", "completion_tokens": "/u/out"},
            "finish": {"pointer": "/stop", "length": ["max_tokens", 7]},
            "failure_patterns": ["^No db"],
        },
    )
    assert made.success == Success(pointer="/is_error", equals=False)
    assert made.usage == UsagePointers(
        prompt_tokens="/u/in", completion_tokens="/u/out", total_tokens=""
    )
    assert made.finish == FinishSignal(pointer="/stop", length=("max_tokens", 7))
    assert [pattern.pattern for pattern in made.failure_patterns] == ["^No db"]


JSON = {"format": "json", "answer": "/a"}
SUCCESS = {"pointer": "/s", "equals": True}


@pytest.mark.parametrize(
    ("value", "place", "code"),
    [
        ({"format": "xml"}, "format", "invalid_config"),
        ({"format": "json"}, "", "invalid_config"),
        ({"format": "jsonl"}, "", "invalid_config"),
        ({"format": "text", "answer": "/a"}, "", "invalid_config"),
        ({"format": "file", "answer": "/a"}, "", "invalid_config"),
        ({"success": SUCCESS}, "", "invalid_config"),
        ({"format": "file", "usage": {}}, "", "invalid_config"),
        ({**JSON, "answer": "a"}, "answer", "invalid_config"),
        ({**JSON, "answer": None}, "answer", "null_value"),
        ({**JSON, "success": {"pointer": "/s"}}, "success/equals", "missing_field"),
        (
            {**JSON, "success": {**SUCCESS, "equals": []}},
            "success/equals",
            "invalid_type",
        ),
        ({**JSON, "usage": {"tokens": "/t"}}, "usage/tokens", "unknown_field"),
        (
            {**JSON, "finish": {"pointer": "/f", "length": []}},
            "finish/length",
            "invalid_config",
        ),
        ({"failure_patterns": ["("]}, "failure_patterns/0", "invalid_config"),
        *[
            ({"failure_patterns": [text]}, "failure_patterns/0", "invalid_config")
            for text in ("(" * 20_000, "a{99999999999999999999}", "(?P<a>", "[")
        ],
        ({"failure_patterns": "a"}, "failure_patterns", "invalid_type"),
        ({"strip": []}, "strip", "unknown_field"),
    ],
)
def test_what_makes_no_sense_is_refused(value: Any, place: str, code: str) -> None:
    assert refusals(OUTPUT_SPEC, value) == [(place, code)]
