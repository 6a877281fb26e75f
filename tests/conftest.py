"""Settings for every test: a clean environment, and rules that exist."""

from __future__ import annotations

import os

import pytest

from tests.support.trace import read_rules

OURS = ("CONDUCK_", "OPEN_CONDUIT_", "OS_ENDPOINT", "OS_TOKEN")


def pytest_configure() -> None:
    for name in list(os.environ):
        if name.startswith(OURS) and name != "CONDUCK_CHECKER":
            del os.environ[name]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rules = read_rules()
    for item in items:
        for mark in item.iter_markers("req"):
            unknown = [rule for rule in mark.args if rule not in rules]
            if unknown or not mark.args:
                raise pytest.UsageError(f"{item.nodeid}: no such rule: {unknown}")
