"""Many of one thing cost no more each than a few: counted, not timed."""

from __future__ import annotations

import cProfile
import json
import pstats
from pathlib import Path
from typing import Any

import pytest

from tests.config.build import binding, chat, check, document, route, scope


def _calls(value: Any) -> int:
    """Return how many functions a check of this calls."""
    profile = cProfile.Profile()
    profile.enable()
    check(value)
    profile.disable()
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def _scopes(count: int) -> dict[str, Any]:
    return document(*(scope(f"s{number}") for number in range(count)))


def _unknown_parents(count: int) -> dict[str, Any]:
    return document(*(scope(f"s{number}", parent="nope") for number in range(count)))


def _unknown_lists(count: int) -> dict[str, Any]:
    lists = {"read_scopes": ["nope"], "connections": ["nope"]}
    return document(*(scope(f"s{n}", authorization=lists) for n in range(count)))


def _unknown_secrets(count: int) -> dict[str, Any]:
    refs = {f"known{number}": "file:x" for number in range(count)}
    names = [f"unknown{number}" for number in range(count)]
    return document(scope(secret_refs=refs, bindings=[binding(secret_names=names)]))


def _chain(count: int) -> dict[str, Any]:
    scopes = [scope("s0", bindings=[binding()], routes=[route()])]
    scopes += [scope(f"s{n}", parent=f"s{n - 1}") for n in range(1, count)]
    return document(*scopes)


def _entries(count: int) -> dict[str, Any]:
    entries = [chat(f"chat{n}", namespace=f"n{n}", port=1000 + n) for n in range(count)]
    return document(scope(extensions=entries))


@pytest.mark.parametrize(
    "make",
    [_scopes, _unknown_parents, _unknown_lists, _unknown_secrets, _chain, _entries],
)
def test_ten_times_as_many_cost_about_ten_times_as_much(make: Any) -> None:
    few, many = _calls(make(300)), _calls(make(3000))
    assert many < 20 * few


def test_two_hundred_parents_and_ten_thousand_scopes_are_accepted(
    tmp_path: Path,
) -> None:
    found, problems = check(json.dumps(_chain(200)))
    assert (found is not None, problems) == (True, [])
    found, problems = check(json.dumps(_scopes(10_000)))
    assert problems == []
    assert found is not None
    assert len(found.scopes) == 10_000
    assert list(tmp_path.iterdir()) == []
