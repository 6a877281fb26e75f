"""Each way in which a turn can fail is told, in words of our own."""

from __future__ import annotations

import pytest

from conduck_service.chat.errors import WIRE, error_answer
from conduck_service.domain.errors import ErrorCode
from conduck_service.domain.execution import FailureCode
from conduck_service.runtime.failures import TOLD, queue_full, told, unavailable


def test_every_failure_is_told() -> None:
    assert TOLD.keys() == set(FailureCode)


def test_every_error_has_a_status() -> None:
    assert WIRE.keys() == set(ErrorCode)


def test_every_failure_has_its_own_words() -> None:
    words = [message for _, message in TOLD.values()]
    assert len(set(words)) == len(words)


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (FailureCode.TIMEOUT, 504),
        (FailureCode.EXIT, 502),
        (FailureCode.CRASH, 502),
        (FailureCode.NO_ANSWER, 502),
        (FailureCode.OUTPUT_LIMIT, 502),
        (FailureCode.ENGINE_ERROR, 502),
        (FailureCode.CONTEXT_TOO_LONG, 400),
        (FailureCode.CANNOT_START, 502),
        (FailureCode.SECRET_UNAVAILABLE, 502),
        (FailureCode.RESOURCE_UNAVAILABLE, 502),
        (FailureCode.CLIENT_GONE, 502),
        (FailureCode.OVERLOADED, 503),
        (FailureCode.SHUTDOWN, 502),
    ],
)
def test_each_failure_has_its_status(failure: FailureCode, status: int) -> None:
    assert error_answer(told(failure)).status == status


@pytest.mark.req("C-CONC-09")
def test_only_what_is_worth_trying_again_says_when() -> None:
    for error in (told(FailureCode.OVERLOADED), queue_full(), unavailable("why")):
        assert isinstance(error.retry_after, int)
    for failure in set(FailureCode) - {FailureCode.OVERLOADED}:
        assert told(failure).retry_after is None
