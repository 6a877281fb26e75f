"""The JSON Schema of whole documents says what ``config check`` does."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator

from conduck_service.base.diagnostics import Level
from conduck_service.base.jsonio import JsonError, parse
from conduck_service.config.check import check_document
from conduck_service.config.schema import config_schema
from conduck_service.daemon.registry import build_registry
from conduck_service.extension import executor, handler, ingress
from conduck_service.extension.registry import Registry
from tests.config.documents import documents
from tests.config.generated import mutated
from tests.config.registry import REGISTRY as STRICT
from tests.config.test_golden import CASES
from tests.config.test_schema import fields_within
from tests.support import config_page
from tests.support.sample_package import sample_package


def rules_of(registry: Registry) -> Iterator[str]:
    """Yield the rules on several keys, which a schema has in words."""
    owners: tuple[Any, ...] = (
        *registry.connections.values(),
        *registry.executors.values(),
        *registry.handlers.values(),
        *registry.ingresses.values(),
        *registry.providers.values(),
    )
    for owner in owners:
        if owner.spec is not None:
            yield from owner.spec.rules
            for item in fields_within(owner.spec):
                yield from getattr(getattr(item.kind, "spec", None), "rules", ())


def without_checks(registry: Registry) -> Registry:
    """Return a registry whose owners judge their own configs alone."""
    return replace(
        registry,
        executors={
            name: replace(owner, check=executor.no_checks)
            for name, owner in registry.executors.items()
        },
        handlers={
            name: replace(owner, check=handler.no_checks)
            for name, owner in registry.handlers.items()
        },
        ingresses={
            name: replace(owner, check=ingress.no_checks, folder="")
            for name, owner in registry.ingresses.items()
        },
    )


REGISTRY = without_checks(build_registry({}).including(sample_package()))
SCHEMA = Draft202012Validator(config_schema(REGISTRY))

NOT_SAID = {
    "unknown_reference": "another entry has the name, or none",
    "unknown_tombstone": "depends on the scopes above",
    "scope_cycle": "depends on the scopes above",
    "not_authorized": "depends on the scopes above",
    "limit_exceeds_parent": "depends on the scopes above",
    "unsupported_capability": "depends on other entries",
    "pass_env_reserved": "a rule of the environment, not of shape",
    "pass_env_secret": "depends on the references",
    "unsafe_file": "depends on the machine",
    "two ": "names differ within a list",
    "the scope has a file lane already": "there is one of a kind",
    "the argument belongs to the preset": "options have many spellings",
    "executor ": "depends on the connections",
    "headers has one name twice": "names are compared without case",
    "another extension entry has this": "ports and namespaces differ",
    "there is no such operation here": "lists of operations have a grammar",
    "there is no such toolset here": "lists of operations have a grammar",
    "no package of this name is installed": "depends on the machine",
    "the regular expression cannot be compiled": "the dialect is Python's own",
    **{rule.rstrip("."): "is about several keys" for rule in rules_of(REGISTRY)},
}
"""Codes, or how messages begin, of what a schema does not know, and why."""

QUICK = settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def faults(text: str) -> list[str]:
    """Return what the check refuses, less what a schema cannot know."""
    checked = check_document(
        text, base=Path("/nowhere"), registry=REGISTRY, environment={}, state_dir=None
    )
    return [
        str(item)
        for item in checked.problems
        if item.level is Level.ERROR
        and item.code not in NOT_SAID
        and not item.message.startswith(tuple(NOT_SAID))
    ]


def as_text(value: Any) -> str:
    # What Python writes for a number that is too large for it.
    return json.dumps(value).replace("Infinity", "1e400")


@pytest.mark.req("B-SCHEMA-25")
def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(config_schema(REGISTRY))
    Draft202012Validator.check_schema(config_schema(STRICT))


@pytest.mark.req("B-SCHEMA-25")
@QUICK
@given(documents(REGISTRY))
def test_whole_documents_are_taken_by_both(value: Any) -> None:
    text = as_text(value)
    assert faults(text) == []
    assert [error.message for error in SCHEMA.iter_errors(parse(text))] == []


@pytest.mark.req("B-SCHEMA-25", "B-SCHEMA-03")
@QUICK
@given(mutated(documents(REGISTRY)))
def test_faults_of_whole_documents_are_seen_by_both(value: Any) -> None:
    text = as_text(value)
    assert SCHEMA.is_valid(parse(text)) == (faults(text) == [])


SHAPE = {
    "unknown_field",
    "missing_field",
    "invalid_type",
    "null_value",
    "invalid_identifier",
    "invalid_secret_ref",
    "unregistered",
}


@pytest.mark.req("B-SCHEMA-25")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden_cases_are_judged_alike(case: Path) -> None:
    try:
        value = parse((case / "config.json").read_text())
    except JsonError:
        return
    expected = json.loads((case / "expected.json").read_text())
    is_valid = Draft202012Validator(config_schema(STRICT)).is_valid(value)
    if not expected:
        assert is_valid
    if SHAPE & {item["code"] for item in expected}:
        assert not is_valid


EXTRA: dict[str, list[str | int]] = {
    "root": [],
    "settings": ["settings"],
    "connection": ["connections", 0],
    "scope": ["scopes", 0],
    "limits": ["scopes", 0, "limits"],
    "authorization": ["scopes", 0, "authorization"],
    "binding": ["scopes", 0, "bindings", 0],
    "grant": ["scopes", 0, "bindings", 0, "grants", 0],
    "resource": ["scopes", 0, "bindings", 0, "resource"],
    "route": ["scopes", 0, "routes", 0],
    "extension": ["scopes", 0, "extensions", 0],
    "include": ["includes", 0],
}


FULL: dict[str, Any] = {
    "version": 1,
    "settings": {},
    "connections": [{"id": "desk", "type": "account", "config": {"server": "a"}}],
    "includes": [{"path": "there", "parent": "home"}],
    "scopes": [
        {
            "id": "home",
            "name": "Home",
            "limits": {},
            "authorization": {"connections": ["desk"]},
            "bindings": [
                {
                    "name": "coder",
                    "executor": "able",
                    "requires": {"workspace": True},
                    "resource": {"provider": "shelf", "config": {"path": "a"}},
                    "grants": [{"name": "more"}],
                }
            ],
            "routes": [
                {
                    "name": "all",
                    "handler": "sees_grants",
                    "binding": "coder",
                    "active_policy": "queue",
                    "config": {"allowed": ["more"]},
                }
            ],
            "extensions": [
                {
                    "name": "bell",
                    "type": "bell",
                    "config": {
                        "namespace": "bells",
                        "scope": "home",
                        "secret": "ring",
                    },
                }
            ],
        }
    ],
}
"""A document with one of each object."""


@pytest.mark.req("B-SCHEMA-03", "B-SCHEMA-25")
@pytest.mark.parametrize("name", EXTRA)
def test_every_core_object_refuses_an_unknown_key(name: str) -> None:
    value = copy.deepcopy(FULL)
    assert SCHEMA.is_valid(value)
    found: Any = value
    for step in EXTRA[name]:
        found = found[step]
    found["zzz"] = 1
    place = "/".join(map(str, [*EXTRA[name], "zzz"]))
    assert not SCHEMA.is_valid(value)
    assert [item.split(": ")[:2] for item in faults(json.dumps(value))] == [
        [place, "unknown_field"]
    ]


FAULTS: dict[str, tuple[list[str | int], Any]] = {
    "no config where the owner needs one": (
        ["scopes", 0, "extensions", 0, "config"],
        ...,
    ),
    "a key of an owner": (["connections", 0, "config", "zzz"], 1),
    "a slot that the type has not": (
        ["connections", 0, "secret_refs"],
        {"zzz": "file:a"},
    ),
    "a value for a slot": (["connections", 0, "secret_refs"], {"token": "a"}),
    "an unknown type": (["connections", 0, "type"], "zzz"),
    "an unknown executor": (["scopes", 0, "bindings", 0, "executor"], "zzz"),
    "an unknown handler": (["scopes", 0, "routes", 0, "handler"], "zzz"),
    "an unknown extension": (["scopes", 0, "extensions", 0, "type"], "zzz"),
    "an unknown provider": (
        ["scopes", 0, "bindings", 0, "resource", "provider"],
        "zzz",
    ),
    "a key of a provider": (
        ["scopes", 0, "bindings", 0, "resource", "config", "zzz"],
        1,
    ),
    "a key of a grant's config": (
        ["scopes", 0, "bindings", 0, "grants", 0, "config"],
        {"zzz": 1},
    ),
    "a value of a grant's config": (
        ["scopes", 0, "bindings", 0, "grants", 0, "config"],
        {"images": 1},
    ),
    "a tombstone with more": (["scopes", 0, "bindings", 0, "disabled"], True),
    "a tombstone of nothing": (
        ["scopes", 0, "routes", 0],
        {"name": "all", "disabled": False},
    ),
    "a secret that is true": (["scopes", 0, "secret_refs"], {"a": True}),
    "no scopes": (["scopes"], []),
    "another version": (["version"], 2),
    "a version that is true": (["version"], True),
}


@pytest.mark.req("B-SCHEMA-25", "B-TOMB-09")
@pytest.mark.parametrize("name", FAULTS)
def test_both_refuse(name: str) -> None:
    (*steps, key), value = FAULTS[name]
    document = copy.deepcopy(FULL)
    found: Any = document
    for step in steps:
        found = found[step]
    if value is ...:
        del found[key]
    else:
        found[key] = value
    assert not SCHEMA.is_valid(document)
    assert faults(json.dumps(document))


@pytest.mark.req("B-SET-25", "B-BIND-12")
def test_the_schema_lists_types_settings_and_capabilities() -> None:
    parts = config_schema(REGISTRY)["$defs"]
    assert "able" in parts["binding"]["properties"]["executor"]["enum"]
    assert {"executor.able", "executor.able.grant", "provider.shelf"} <= parts.keys()
    assert {
        "connection.account",
        "handler.sees_grants",
        "extension.bell",
    } <= parts.keys()
    assert "executor.hooked" not in parts  # it takes any object
    requires = parts["binding"]["properties"]["requires"]["properties"]
    assert [*requires] == ["workspace", "inject", "interrupt", "park", "live", "image"]
    assert "concurrency" in parts["settings"]["properties"]


@pytest.mark.req("B-SCHEMA-25")
def test_the_shipped_schema_is_fresh() -> None:
    assert config_page.SCHEMA.read_text(encoding="utf-8") == config_page.schema()
