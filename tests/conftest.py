"""Settings for every test: a clean environment, and rules that exist."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator

import pytest

from tests.support.trace import read_rules

FOR_TESTS = {"CONDUCK_CHECKER", "CONDUCK_TOOLS"}
OURS = ("CONDUCK_", "OPEN_CONDUIT_", "OS_ENDPOINT", "OS_TOKEN")


def pytest_configure() -> None:
    for name in list(os.environ):
        if name.startswith(OURS) and name not in FOR_TESTS:
            del os.environ[name]
    # Under nohup, or in the background of a script, these are ignored, and so they
    # would be by every program under test.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rules = read_rules()
    for item in items:
        for mark in item.iter_markers("req"):
            unknown = [rule for rule in mark.args if rule not in rules]
            if unknown or not mark.args:
                raise pytest.UsageError(f"{item.nodeid}: no such rule: {unknown}")


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """Undo what a test does to logging, so that the next finds it untouched."""
    loggers = [logging.getLogger(), logging.getLogger("conduck_service")]
    before = [(one, one.level, [*one.handlers]) for one in loggers]
    yield
    for one, level, handlers in before:
        one.setLevel(level)
        one.handlers[:] = handlers
