"""The body of a good answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conduck_service.chat.answer import answer_body
from conduck_service.domain.execution import Finish, Usage
from conduck_service.extension.ingress import TurnReply
from tests.support.answers import strict


def body_of(answer: str = "hello", **more: Any) -> Any:
    """Return the parsed body of a reply."""
    reply = TurnReply(turn_id="turn_1", model_id="desk", answer=answer, **more)
    return strict(answer_body(reply))


def test_a_plain_answer_has_one_choice_and_says_whose_it_is() -> None:
    assert body_of() == {
        "id": "turn_1",
        "model": "desk",
        "choices": [{"message": {"role": "assistant", "content": "hello"}}],
    }


@pytest.mark.parametrize("finish", Finish)
def test_a_known_finish_is_told(finish: Finish) -> None:
    (choice,) = body_of(finish=finish)["choices"]
    assert choice["finish_reason"] == finish.value


def test_counts_that_are_known_are_told() -> None:
    usage = Usage(prompt_tokens=7, completion_tokens=2, total_tokens=9)
    assert body_of(usage=usage)["usage"] == {
        "prompt_tokens": 7,
        "completion_tokens": 2,
        "total_tokens": 9,
    }


def test_counts_that_are_not_known_are_left_out() -> None:
    assert body_of(usage=Usage(total_tokens=9))["usage"] == {"total_tokens": 9}
    assert "usage" not in body_of(usage=Usage())
    assert "usage" not in body_of(usage=None)


def test_the_body_is_one_line_of_utf8() -> None:
    reply = TurnReply(turn_id="t", model_id="m", answer="h\u00e9\n\u2028data: x")
    body = answer_body(reply)
    assert "h\u00e9".encode() in body
    assert b"\n" not in body


@settings(max_examples=100, deadline=None, database=None)
@given(answer=st.text(st.characters(exclude_categories=["Cs"])))
def test_every_answer_arrives_as_it_is(answer: str) -> None:
    assert body_of(answer)["choices"][0]["message"]["content"] == answer
