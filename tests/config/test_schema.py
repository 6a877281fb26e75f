"""The JSON Schema says what the decoder does, value by value."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from conduck_service.chat.route import CHAT_HANDLER
from conduck_service.chat.settings import CHAT_SPEC
from conduck_service.config import document, entries, scopes
from conduck_service.config.fields import Entries
from conduck_service.executors.command_settings import COMMAND_SPEC
from conduck_service.executors.http.connection import OPENAI_CONNECTION
from conduck_service.executors.http.settings import HTTP_SPEC
from conduck_service.extension import kinds
from conduck_service.extension.spec import Decoding, Field, Kind, Spec
from conduck_service.files.settings import FILES_SPEC
from tests.config.generated import ODD, mutated, object_of

SPECS: dict[str, Spec[Any]] = {
    "document": document.DOCUMENT,
    "fragment": document.FRAGMENT,
    "settings": document.SETTINGS,
    "connection": document.CONNECTION,
    "include": document.INCLUDE,
    "scope": scopes.SCOPE,
    "binding": entries.BINDING,
    "route": entries.ROUTE,
    "extension": entries.EXTENSION,
    "tombstone": entries.TOMBSTONE,
    "chat": CHAT_SPEC,
    "files": FILES_SPEC,
    "chat_handler": CHAT_HANDLER.spec,
    "command": COMMAND_SPEC,
    "http": HTTP_SPEC,
    "openai_http": OPENAI_CONNECTION.spec,
}

NOT_SAID = {
    "the regular expression cannot be compiled": "the dialect is Python's own",
}
"""Messages about one key alone that no schema can have, and why."""

QUICK = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

VALID = {name: object_of(spec) for name, spec in SPECS.items()}
MUTATED = {name: mutated(values) for name, values in VALID.items()}


def structural(spec: Spec[Any]) -> Spec[Any]:
    """Return a Spec without rules on several keys, which decodes lists at once."""
    fields = tuple(replace(item, kind=_structural(item.kind)) for item in spec.fields)
    return Spec(dict, fields)


def _structural(kind: Kind) -> Kind:
    match kind:
        case kinds.Object():
            return kinds.Object(structural(kind.spec))
        case kinds.ListOf():
            return replace(kind, item=_structural(kind.item))
        case kinds.MapOf():
            return replace(kind, value=_structural(kind.value))
        case Entries():
            item = kinds.Object(structural(kind.spec))
            return kinds.ListOf(item, non_empty=kind.non_empty)
        case _:
            return kind


def refused(spec: Spec[Any], value: Any) -> list[str]:
    into = Decoding(base=Path("/"))
    structural(spec).decode(value, (), into)
    return [str(item) for item in into.problems if item.message not in NOT_SAID]


@pytest.mark.req("B-SCHEMA-25")
@pytest.mark.parametrize("name", SPECS)
@QUICK
@given(data=st.data())
def test_what_a_spec_describes_is_taken_by_both(name: str, data: st.DataObject) -> None:
    value = data.draw(VALID[name])
    assert refused(SPECS[name], value) == []
    errors = Draft202012Validator(SPECS[name].schema()).iter_errors(value)
    assert [error.message for error in errors] == []


@pytest.mark.req("B-SCHEMA-25", "B-SCHEMA-03", "B-SCHEMA-09", "B-SCHEMA-10")
@pytest.mark.parametrize("name", SPECS)
@QUICK
@given(data=st.data())
def test_both_refuse_the_same_faults(name: str, data: st.DataObject) -> None:
    value = data.draw(MUTATED[name])
    validator = Draft202012Validator(SPECS[name].schema())
    assert validator.is_valid(value) == (refused(SPECS[name], value) == [])


@pytest.mark.req("B-SCHEMA-25")
@pytest.mark.parametrize("name", SPECS)
def test_both_say_the_same_of_odd_values_in_each_key(name: str) -> None:
    for item in fields_within(SPECS[name]):
        # One key alone: the others may well be missing.
        alone: Spec[Any] = Spec(dict, (item,))
        validator = Draft202012Validator(alone.schema())
        for odd in (*ODD, *([odd] for odd in ODD), *({"a": odd} for odd in ODD)):
            value = {item.name: odd}
            expected = refused(alone, value) == []
            assert validator.is_valid(value) == expected, (item.name, odd)


def fields_within(spec: Spec[Any]) -> Iterator[Field]:
    for item in spec.fields:
        yield item
        kind = getattr(item.kind, "item", getattr(item.kind, "value", item.kind))
        if isinstance(kind, kinds.Object):
            yield from fields_within(kind.spec)


def patterns(value: Any) -> Iterator[str]:
    match value:
        case dict():
            if isinstance(value.get("pattern"), str):
                yield value["pattern"]
            for item in value.values():
                yield from patterns(item)
        case list():
            for item in value:
                yield from patterns(item)


@pytest.mark.req("B-SCHEMA-25")
@pytest.mark.parametrize("name", SPECS)
def test_patterns_mean_the_same_in_ecma_262(name: str) -> None:
    for pattern in patterns(SPECS[name].schema()):
        # Classes that are wider for Python, places that it has on its own, and
        # groups that only one of the two knows.
        assert not re.search(r"\\[dDwWsSbBAZ]|\(\?[^:!=]|\\x|\\U", pattern), pattern


@pytest.mark.req("B-SET-25")
def test_the_settings_have_these_names() -> None:
    assert list(document.SETTINGS.schema()["properties"]) == [
        "concurrency",
        "job_concurrency",
        "ready_limit",
        "reconcile_seconds",
        "timeout_seconds",
        "kept_executions",
        "kept_finished_days",
        "retry_delays_seconds",
        "causal_depth_limit",
        "causal_rate_limit",
        "usage_budgets",
        "extensions",
    ]


@pytest.mark.parametrize("name", SPECS)
def test_a_default_in_the_schema_is_what_leaving_out_means(name: str) -> None:
    spec = SPECS[name]
    for key, schema in spec.schema()["properties"].items():
        if "default" not in schema:
            continue
        json.dumps(schema["default"], allow_nan=False)
        item = spec.by_name[key]
        into = Decoding(base=Path("/"))
        decoded = item.kind.decode(schema["default"], (), into)
        assert into.problems == []
        # Owners fill in what an object without keys stands for.
        if item.default is not None and decoded != item.default:
            assert item.default == {}
            assert not any(decoded.values())
