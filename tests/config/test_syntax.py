"""Broken JSON is told at its place, in words that help who wrote it."""

from __future__ import annotations

import random

import pytest

from conduck_service.base.diagnostics import Diagnostic
from tests.config.build import check

CANARY = "canary"

FAULTS = [
    ("", 1, 1, "the file is empty"),
    (" \n\t", 1, 1, "the file is empty"),
    ('{"a": 1,}', 1, 8, "a comma too many"),
    ('{"a": [1,\n]\n}', 1, 9, "a comma too many"),
    ('{"a": 1,, "b": 2}', 1, 9, "a comma too many"),
    ('{"a": 1\n "b": 2}', 1, 8, "a comma is missing"),
    ('{"a": [1 2]}', 1, 9, "a comma is missing"),
    ('{"a": "canary" "canary"}', 1, 15, "a comma is missing"),
    ('{"a": 1, // canary\n"b": 2}', 1, 10, "a comment"),
    ('{"a": 1 # canary\n}', 1, 9, "a comment"),
    ('/* canary */ {"a": 1}', 1, 1, "a comment"),
    ('{"a": 1}\n// canary', 2, 1, "a comment"),
    ("{'canary': 1}", 1, 2, "quotes here are of another kind"),
    ("{\"a\": 'canary'}", 1, 7, "quotes here are of another kind"),
    ("{\u201ccanary\u201d: 1}", 1, 2, "quotes here are of another kind"),
    ("{canary: 1}", 1, 2, "a key stands without quotes"),
    ('{"a": canary}', 1, 7, "no value of JSON"),
    ('{"a": True}', 1, 7, "spelled in another way"),
    ('{"a": }', 1, 7, "a value is missing"),
    ('{"a" 1}', 1, 6, "a colon is missing"),
    ('{"a": 1', 1, 8, "the text ends before"),
    ('{"a": [1}', 1, 9, "this bracket closes something else"),
    ('{"a": "canary\n"}', 1, 14, "a text is not closed"),
    ('{"a": "canary}', 1, 7, "a text is not closed"),
    ('{"a": "\\canary"}', 1, 8, "a backslash"),
    ('{"a": "can"ary"}', 1, 12, "does not belong behind a value"),
    ('{"a": 007}', 1, 8, "does not belong behind a value"),
    ('{"a":\u00a01}', 1, 6, "a blank of another kind"),
    ('{"a": 1}\n{}', 2, 1, "something after"),
    ('{"b": {"c": 1,\n  "c": "canary"}}', 2, 3, "the same key twice"),
    ('{"a\\"b": {"a": 1}, "a\\u0022b": 2}', 1, 20, "the same key twice"),
    ('{"a": [1, -Infinity]}', 1, 11, "NaN and Infinity"),
    ('{"a": ' + "9" * 5000 + "}", 1, 7, "too many digits"),
    ("[" * 100_000, 0, 0, "nested too deeply"),
]


def fault(text: str) -> Diagnostic:
    (problem,) = check(text)[1]
    assert problem.code == "invalid_json"
    assert problem.remedy
    assert CANARY not in str(problem)
    return problem


@pytest.mark.parametrize(("text", "line", "column", "words"), FAULTS)
def test_a_fault_of_the_text_is_told_at_its_place_in_helpful_words(
    text: str, line: int, column: int, words: str
) -> None:
    problem = fault(text)
    assert words in problem.message
    assert (problem.line, problem.column) == (line, column)


def test_every_broken_text_has_an_explanation() -> None:
    """Whatever a hand can do to a config is explained, never a crash."""
    good = '{"version": 1, "scopes": [{"a": [1, 2.5, true, "x\\n"]}], "s": {"k": "v"}}'
    dice = random.Random(20)  # noqa: S311 - the same texts every time
    for _ in range(3000):
        text = list(good)
        for _ in range(dice.randint(1, 3)):
            place = dice.randrange(len(text))
            new = dice.choice(["", *"{}[]\",:'/#\\ \nx1-"])
            text[place : place + dice.randint(0, 1)] = new
        for problem in check("".join(text))[1]:
            assert problem.message
            assert problem.remedy


def test_a_large_broken_text_is_explained_at_once() -> None:
    for text in ('{"a": 1, "a": 2} "' + '\\"' * 500_000, "{" + '"a": 1,\n' * 130_000):
        fault(text)
