"""Machinery goes, everything else stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conduck_service.executors.stripping import STRIP_WORDS, strip_machinery

CALL = '@save(call_1): {"a": {"b": "}\\n"}, "c": [1]}'

GOLDEN = {
    "": "",
    "plain": "plain",
    "  kept as it is \n\n": "  kept as it is \n\n",
    "<think>x</think>": "",
    "<think>x</think>answer": "answer",
    "<think>x</think>  answer": "answer",
    "<think>x</think>\n\n\nanswer": "answer",
    "<think>\nx\n</think>\r\nanswer\r\n": "answer",
    "<think>a</think><thinking>b</thinking><reasoning>c</reasoning>d": "d",
    "<think>a</thinking>b</think>c": "c",
    f"{CALL}\nanswer": "answer",
    f"  {CALL}\nanswer": "answer",
    f"answer\n{CALL}": "answer",
    f"{CALL}{CALL}answer": "answer",
    f"{CALL} answer": "answer",
    "@a.b-c(x:1): {}\nanswer": "answer",
    "@a():{}": "",
    "@a(call_1): {...}\nanswer": "answer",
    "@a(call_1): {...}": "",
    "   <think>x</think>\nanswer": "answer",
    "<think>never ends": "",
    "\n <think>never ends\n\nat all": "",
    f"<think>x</think>\n{CALL}\n<think>never ends": "",
    "<think>a<think>b</think>c</think>answer": "answer",
    "<think>\n<think>\na\n</think>\nb\n</think>\nanswer": "answer",
    "<think>What is <think>?</think>answer\n<think>b</think>": "answer",
    "musing\n</think>\n\nanswer": "answer",
    "musing.</think>answer": "answer",
    "</think>\nanswer": "answer",
    "```\ncode\n```\nmusing\n</think>\nanswer": "answer",
    "musing\n</think>\n<think>x</think>answer": "answer",
    "- a\n    ```\n    x\n    ```\n<think>x</think>\nb": (
        "- a\n    ```\n    x\n    ```\nb"
    ),
    "1. ```\n   x\n   ```\n<think>x</think>\nb": "1. ```\n   x\n   ```\nb",
    '@a(b): {\n "c": 1\n}\nanswer': "answer",
    "one\n<think>x</think>\ntwo": "one\ntwo",
    "one\n\n<think>x</think>\n\ntwo": "one\n\n\ntwo",
    "```\na\n```\n<think>x</think>\nb": "```\na\n```\nb",
    "```py\n<think>a</think>\n```\n<think>x</think>\nb": (
        "```py\n<think>a</think>\n```\nb"
    ),
    "```not a fence``` here\n<think>x</think>\nb": "```not a fence``` here\nb",
    "~~~\n```\n~~~\n<think>x</think>\nb": "~~~\n```\n~~~\nb",
}

UNTOUCHED = [
    "a <think>x</think> b",
    "> <think>x</think>",
    "<thinker>x</thinker>",
    "< think>x</think>",
    "@a(b): c",
    "@a(b) {}",
    "@a b(c): {}",
    "@a(b): {half",
    "\t<think>x</think>\nanswer",
    "Write:\n\n    <think>x</think>\n\nThen go.",
    f"Write:\n\n    {CALL}\n\nThen go.",
    f"Write:\n\n\t{CALL}",
    "answer\n<think>never ends",
    f"{CALL[:-1]}\n<think>never ends",
    "```\ncode\n```\n<think>never ends",
    "@a(): {...}\nanswer",
    "@a(call_1): {...} and more",
    "@Input(name): { default }",
    "@Input(name): {default: 1}\nanswer",
    "@a(call_1): {b}",
    "@a(b): [1]",
    '@a(b): {"c": 1\n',
    "The tag `</think>` closes it.",
    "The tag </think> closes it.",
    "> musing</think>",
    "<thinker>x\n`</think>`",
    "```\n</think>\n```\nends it",
    "    </think>\nanswer",
    "- a\n    ```\n    x\n<think>x</think>\n    ```\n",
    "* ```\n<think>x</think>\n  ```",
    "1. a\n   1. b\n\n\t\t~~~\n@a(b): {}\n\t\t~~~",
    "```\n      ```\n<think>x</think>\n```",
    "mail @ann(at)home: {}",
    f"It ran {CALL}",
    f"```\n{CALL}\n```",
    f"   ~~~ text\n{CALL}\n~~~~",
    f"````\n```\n{CALL}\n```\n````",
    f"```\n{CALL}",
]


@pytest.mark.parametrize(("text", "wanted"), GOLDEN.items())
def test_machinery_goes(text: str, wanted: str) -> None:
    assert strip_machinery(text, STRIP_WORDS) == wanted


@pytest.mark.parametrize("text", UNTOUCHED)
def test_what_is_no_machinery_stays(text: str) -> None:
    assert strip_machinery(text, STRIP_WORDS) == text


@pytest.mark.parametrize("word", STRIP_WORDS)
def test_each_word_removes_its_own_kind_only(word: str) -> None:
    text = f"<think>x</think>\n{CALL}\nanswer"
    wanted = {"think": f"{CALL}\nanswer", "tool_lines": "<think>x</think>\nanswer"}
    assert strip_machinery(text, [word]) == wanted[word]
    assert strip_machinery(text, []) == text


PIECES = st.sampled_from(
    ["<think>", "</think>", "- ", "\t", "@a(call_1): {...}", "<reasoning>",
     "@a(b): ", "@a(b): {}", "{", "}", '"', "[",
     "```", "~~~~", "\n", "\r\n", " ", "    ", "word", "`", "\u2028", "é", "\x00"]
)  # fmt: skip


@given(st.lists(PIECES).map("".join))
def test_any_text_can_be_stripped(text: str) -> None:
    once = strip_machinery(text, STRIP_WORDS)
    assert len(once) <= len(text)
    assert strip_machinery(text, []) == text


@given(st.text(st.characters(exclude_characters="<@")))
def test_text_without_machinery_comes_back_unchanged(text: str) -> None:
    assert strip_machinery(text, STRIP_WORDS) == text


@given(st.text(st.characters(exclude_characters="`~<@\r\n "), min_size=1))
def test_an_answer_between_machinery_comes_back_alone(text: str) -> None:
    around = f"<think>\nx\n</think>\n{CALL}\n{text}\n{CALL}\n<think>x</think>\n"
    assert strip_machinery(around, STRIP_WORDS) == text


@pytest.mark.parametrize(
    "text",
    [
        "a\n" * 1_000_000,
        "<think>x</think>\n" * 100_000,
        '@a(b): {"c":\n' * 40_000,
        "```\n" * 300_000,
        " " * 2_000_000,
        "<think>\n" * 200_000,
        '@a(b): {"c":' * 100_000,
        "@a():{\n" * 1_000_000,
        '@a():{"\n' * 1_000_000,
        "@a():{}" * 1_000_000,
        "<think>" * 1_000_000,
        "x\n" + "<think>\n" * 1_000_000,
        "x\n" + "<think>\n" * 500_000 + "</think>\n" * 500_000,
        "</think>" * 1_000_000,
        "- " * 2_000_000,
        "- ```\n" * 1_000_000,
        "~~~~\n" + "~~~\n" * 1_000_000,
    ],
)
def test_long_text_is_stripped_to_its_end(text: str) -> None:
    # The time limit of every test bounds this; were it quadratic, it would take hours.
    assert len(strip_machinery(text, STRIP_WORDS)) <= len(text)


def test_deep_json_in_a_call_is_no_error() -> None:
    text = "@a(b): {" + '"c":{' * 100_000
    assert strip_machinery(text, STRIP_WORDS) == text
