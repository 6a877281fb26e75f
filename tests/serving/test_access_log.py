"""One line in the log for each answer, without anything a peer wrote."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import pytest

from tests.serving.app import TOKEN
from tests.serving.conftest import Serve
from tests.support.raw_http import exchange, request

LOGGER = "conduck_service.serving.access"


def lines_of(caplog: pytest.LogCaptureFixture, count: int) -> list[logging.LogRecord]:
    """Wait for that many lines; a line is written after its answer."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        found = [record for record in caplog.records if record.name == LOGGER]
        if len(found) >= count:
            return found
        time.sleep(0.005)
    raise AssertionError(f"no {count} lines")


@pytest.fixture(autouse=True)
def _level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, LOGGER)


def told(record: logging.LogRecord) -> tuple[object, ...]:
    names = ("action", "server", "method", "route", "status", "size")
    return tuple(getattr(record, name) for name in names)


def test_an_answer_is_one_line(port: int, caplog: pytest.LogCaptureFixture) -> None:
    exchange(port, request("GET", "/ok?canary", token=TOKEN))
    exchange(port, request("POST", "/canary", token="canary"))
    exchange(port, request("PROPFIND", "/nope", token=TOKEN))
    exchange(port, request("CANARY", "/ok", token=TOKEN))
    exchange(port, b"CANARY\r\n\r\n")
    first, second, third, fourth, fifth = lines_of(caplog, 5)
    assert told(first) == ("request", "test", "GET", "ok", 200, 4)
    assert told(second)[:5] == ("request", "test", "POST", "-", 401)
    assert told(third)[:5] == ("request", "test", "PROPFIND", "-", 404)
    assert told(fourth)[:5] == ("request", "test", "-", "ok", 200)
    assert told(fifth)[:5] == ("request", "test", "-", "-", 400)
    assert 0 <= vars(first)["ms"] < 5000
    for record in caplog.records:
        assert "canary" not in str(vars(record)).lower()


class Broken(logging.Handler):
    """A handler that raises where logging does not catch it."""

    def handle(self, _record: logging.LogRecord) -> bool:
        raise RuntimeError("the disk is full")


@pytest.fixture
def _broken_logging() -> Iterator[None]:
    logger = logging.getLogger("conduck_service.serving")
    handler = Broken()
    logger.addHandler(handler)
    yield
    logger.removeHandler(handler)


@pytest.mark.usefixtures("_broken_logging")
def test_logging_that_fails_costs_no_worker(serve: Serve) -> None:
    port = serve(workers=1).port
    for path in ("/ok", "/fail", "/exit", "/late", "/ok"):
        data = request("GET", path, token=TOKEN)
        if path != "/late":
            exchange(port, data)
        else:
            with pytest.raises(ValueError, match="of a body of"):
                exchange(port, data)
    assert exchange(port, request("GET", "/ok", token=TOKEN)).status == 200
