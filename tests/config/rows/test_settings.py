"""Settings: what holds without a word, and what they may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conduck_service.domain.scope import Settings, UsageBudget
from tests.config.rows.lab import (
    CANARY,
    accepted,
    asked,
    config,
    found,
    scope,
    told,
)

DEFAULTS: dict[str, Any] = {
    "concurrency": 4,  # B-SET-01
    "job_concurrency": 4,  # B-SET-02
    "ready_limit": 10,  # B-SET-06
    "reconcile_seconds": 900,
    "timeout_seconds": 3600,  # B-SET-09
    "kept_executions": 20,  # B-SET-11
    "kept_finished_days": 14,  # B-SET-12
    "retry_delays_seconds": [300, 600],  # B-SET-13
    "causal_depth_limit": 32,  # B-SET-16
    "causal_rate_limit": 128,  # B-SET-18
    "usage_budgets": [],  # B-SET-20
}


def hash_of(root: Path, settings: dict[str, Any]) -> str:
    """Return the hash of a document with these settings, from the real program."""
    status, answer, _ = asked(root, config(scope(), settings=settings))
    assert status == 0
    made: str = answer["hash"]
    return made


@pytest.mark.req("B-SET-01", "B-SET-02", "B-SET-06", "B-SET-09", "B-SET-11")
@pytest.mark.req("B-SET-12", "B-SET-13", "B-SET-16", "B-SET-18", "B-SET-20")
def test_no_settings_are_the_default_ones(tmp_path: Path) -> None:
    assert hash_of(tmp_path, {}) == hash_of(tmp_path, DEFAULTS)
    made = accepted(config(scope())).settings
    for key, value in DEFAULTS.items():
        has = getattr(made, key)
        assert (list(has) if isinstance(has, tuple) else has) == value, key
    assert made == Settings(extensions=made.extensions)


@pytest.mark.req("B-SCHEMA-16")
@pytest.mark.parametrize("key", DEFAULTS)
def test_each_setting_that_is_left_out_is_its_default(key: str, tmp_path: Path) -> None:
    rest = {name: value for name, value in DEFAULTS.items() if name != key}
    other = {"retry_delays_seconds": [300], "usage_budgets": [BUDGET]}
    changed = other.get(key, 5)
    assert hash_of(tmp_path, rest) != hash_of(tmp_path, rest | {key: changed})


BUDGET = {"tokens": 1000, "window_seconds": 3600, "scope": "shop"}

GOOD: list[tuple[str, Any]] = [
    ("concurrency", 0),
    ("concurrency", 1000),
    ("job_concurrency", 0),
    ("ready_limit", 1),
    ("reconcile_seconds", 1),
    ("timeout_seconds", 2**31 - 1),
    ("kept_executions", 1),
    ("kept_finished_days", 0),
    ("retry_delays_seconds", []),
    ("retry_delays_seconds", [300, 600, 900]),
    ("causal_depth_limit", 1),
    ("causal_rate_limit", 1),
    ("usage_budgets", [BUDGET]),
]


@pytest.mark.parametrize(("key", "value"), GOOD)
def test_settings_at_their_bounds_are_taken(key: str, value: Any) -> None:
    assert found(config(scope(), settings={key: value})) == []


def test_a_budget_holds_for_one_scope_or_for_all() -> None:
    all_of_them = {key: BUDGET[key] for key in ("tokens", "window_seconds")}
    settings = {"usage_budgets": [BUDGET, all_of_them]}
    assert accepted(config(scope(), settings=settings)).settings.usage_budgets == (
        UsageBudget(tokens=1000, window_seconds=3600, scope="shop"),
        UsageBudget(tokens=1000, window_seconds=3600),
    )


WRONG: list[tuple[str, Any, str]] = [
    ("concurrency", -1, "concurrency"),
    ("concurrency", 1001, "concurrency"),
    ("job_concurrency", -1, "job_concurrency"),
    ("ready_limit", 0, "ready_limit"),
    ("reconcile_seconds", 0, "reconcile_seconds"),
    ("timeout_seconds", 0, "timeout_seconds"),
    ("timeout_seconds", 2**31, "timeout_seconds"),
    ("kept_executions", 0, "kept_executions"),
    ("kept_finished_days", -1, "kept_finished_days"),
    ("retry_delays_seconds", [300, 0], "retry_delays_seconds/1"),
    ("retry_delays_seconds", 300, "retry_delays_seconds"),
    ("causal_depth_limit", 0, "causal_depth_limit"),
    ("causal_depth_limit", -1, "causal_depth_limit"),
    ("causal_rate_limit", 0, "causal_rate_limit"),
    ("causal_rate_limit", -1, "causal_rate_limit"),
    ("usage_budgets", [BUDGET | {"tokens": 0}], "usage_budgets/0/tokens"),
    ("usage_budgets", [BUDGET | {"scope": "nope"}], "usage_budgets/0/scope"),
    ("usage_budgets", [{"tokens": 5}], "usage_budgets/0/window_seconds"),
    ("timeout_seconds", "3600", "timeout_seconds"),
    ("timeout_seconds", 1.5, "timeout_seconds"),
    ("timeout_seconds", True, "timeout_seconds"),
    ("timeout_seconds", None, "timeout_seconds"),
]


@pytest.mark.req("B-SET-16", "B-SET-18")
@pytest.mark.parametrize(("key", "value", "place"), WRONG)
def test_settings_beyond_their_bounds_are_refused(
    key: str, value: Any, place: str
) -> None:
    assert [at for at, _ in found(config(scope(), settings={key: value}))] == [
        f"settings/{place}"
    ]


@pytest.mark.req("B-SET-16", "B-SET-18")
def test_all_wrong_settings_are_told_at_once(tmp_path: Path) -> None:
    settings: dict[str, Any] = {key: value for key, value, _ in WRONG}
    places = {
        f"settings/{place}" for key, value, place in WRONG if settings[key] is value
    }
    told_places = {at for at, _ in told(tmp_path, config(scope(), settings=settings))}
    assert told_places == places


def test_a_setting_that_is_misspelt_is_told_with_the_right_word(
    tmp_path: Path,
) -> None:
    value = config(scope(), settings={"concurency": CANARY})
    status, answer, _ = asked(tmp_path, value)
    assert status == 1
    (problem,) = answer["problems"]
    assert (problem["path"], problem["code"]) == (
        "settings/concurency",
        "unknown_field",
    )
    assert "'concurrency'" in problem["remedy"]
