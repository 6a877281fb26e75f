"""Bindings: what they ask for, what they may have, and what they need not say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conduck_service.domain.scope import Grant
from conduck_service.extension.executor import FEATURES
from tests.config.rows.lab import (
    CANARY,
    WORD,
    accepted,
    asked,
    binding,
    changed,
    checked,
    config,
    found,
    scope,
    scopes_of,
    told,
)

SHELF = {"provider": "shelf", "config": {"path": "."}}


def with_bindings(*bindings: dict[str, Any], **more: Any) -> dict[str, Any]:
    return config(scope(bindings=list(bindings), secret_refs=WORD, **more))


def requiring(feature: str, executor: str = "able", **config_of: Any) -> dict[str, Any]:
    """Return a binding that requires a feature, with all that it needs besides."""
    needed = {"resource": SHELF} if feature == "workspace" else {}
    return binding(
        feature, executor=executor, requires={feature: True}, config=config_of, **needed
    )


@pytest.mark.req("B-BIND-04")
def test_what_is_required_the_executor_has_to_have(tmp_path: Path) -> None:
    plain = with_bindings(*(requiring(item, "plain") for item in FEATURES))
    assert told(tmp_path, plain) == [
        (f"scopes/0/bindings/{at}/requires/{feature}", "unsupported_capability")
        for at, feature in enumerate(FEATURES)
    ]
    _, answer, _ = asked(tmp_path, plain)
    by_place = {item["path"]: item["remedy"] for item in answer["problems"]}
    inject = by_place["scopes/0/bindings/1/requires/inject"]
    assert "inject executor" in inject
    assert "unsupported_fallback=queue" in inject


@pytest.mark.req("B-BIND-04")
def test_what_the_executor_has_can_be_required(tmp_path: Path) -> None:
    able = with_bindings(
        *(requiring(item, images=item == "image") for item in FEATURES)
    )
    assert told(tmp_path, able) == []
    (shop,) = accepted(able).scopes
    assert [item.requires for item in shop.bindings] == [{item} for item in FEATURES]


@pytest.mark.parametrize("feature", FEATURES)
def test_false_requires_nothing(feature: str) -> None:
    item = binding(executor="plain", requires={feature: False})
    assert found(with_bindings(item)) == []
    (shop,) = accepted(with_bindings(item)).scopes
    assert shop.bindings[0].requires == frozenset()


@pytest.mark.req("B-BIND-04")
@pytest.mark.parametrize("executor", ["command", "demo"])
def test_our_own_executors_take_no_input_while_they_run(
    executor: str, tmp_path: Path
) -> None:
    needed = {"argv": ["true"]} if executor == "command" else {}
    value = with_bindings(requiring("inject", executor, cwd=".", **needed))
    problems = [p for p in told(tmp_path, value) if p[1] == "unsupported_capability"]
    assert problems == [
        ("scopes/0/bindings/0/requires/inject", "unsupported_capability")
    ]


@pytest.mark.req("B-BIND-06")
def test_operations_of_a_binding_are_within_the_ceiling(tmp_path: Path) -> None:
    ceiling = {"operations": ["work.create", "tracker.file"]}
    value = with_bindings(
        binding(operations=["work.create", "work.list"]),
        binding("b", operations=["@work"]),
        binding("c", grants=[{"name": "more", "operations": ["work.cancel"]}]),
        binding("d", operations=["work.create", "tracker.file"]),
        binding("e", operations=["@work", "!work.list", "!work.cancel"]),
        binding("f", operations=["work.nope"]),
        authorization=ceiling,
    )
    assert told(tmp_path, value) == [
        ("scopes/0/bindings/0/operations/1", "not_authorized"),
        ("scopes/0/bindings/1/operations/0", "not_authorized"),
        ("scopes/0/bindings/2/grants/0/operations/0", "not_authorized"),
        ("scopes/0/bindings/5/operations/0", "unregistered"),
    ]


WRONG_RESOURCES: list[tuple[Any, str, str]] = [
    ({"provider": "nope"}, "resource/provider", "unregistered"),
    ({}, "resource/provider", "missing_field"),
    ([], "resource", "invalid_type"),
    (None, "resource", "null_value"),
    (SHELF | {"path": CANARY}, "resource/path", "unknown_field"),
    (
        {"provider": "shelf", "config": {"path": ".", "key": CANARY}},
        "resource/config/key",
        "invalid_config",
    ),
    ({"provider": "shelf"}, "resource/config/path", "invalid_config"),
    ({"provider": "shelf", "config": []}, "resource/config", "invalid_type"),
    (SHELF | {"pass_env": ["OS_TOKEN"]}, "resource/pass_env/0", "pass_env_reserved"),
]


@pytest.mark.req("B-BIND-08")
def test_a_resource_has_a_provider_that_checks_its_config(tmp_path: Path) -> None:
    value = with_bindings(
        *(
            binding(f"b{at}", resource=resource)
            for at, (resource, _, _) in enumerate(WRONG_RESOURCES)
        )
    )
    assert told(tmp_path, value) == [
        (f"scopes/0/bindings/{at}/{place}", code)
        for at, (_, place, code) in enumerate(WRONG_RESOURCES)
    ]
    good = with_bindings(binding(resource=SHELF | {"pass_env": ["SSH_AUTH_SOCK"]}))
    assert told(tmp_path, good) == []
    resource = accepted(good).scopes[0].bindings[0].resource
    assert resource is not None
    assert (resource.provider, resource.pass_env) == ("shelf", ("SSH_AUTH_SOCK",))
    assert resource.config.path == Path("/nowhere/config")
    assert not resource.config.read_only


@pytest.mark.req("B-BIND-09")
def test_a_binding_of_the_same_name_has_nothing_of_the_one_above(
    tmp_path: Path,
) -> None:
    above = binding(
        config={"say": "above", "loud": True, "env": {"A": "1"}},
        secret_names=["word"],
        timeout_seconds=5,
        requires={"park": True},
        operations=["work.list"],
        resource=SHELF,
        grants=[{"name": "more"}],
        pass_env=["HTTPS_PROXY"],
    )
    below = binding(config={"quiet": True})
    value = config(
        scope(
            bindings=[above], secret_refs=WORD, authorization={"operations": ["@work"]}
        ),
        scope("corner", parent="shop", bindings=[below]),
        scope("next", parent="shop"),
    )
    assert told(tmp_path, value) == []
    made = scopes_of(value)
    (alone,) = accepted(config(scope(bindings=[below]))).scopes
    assert made["corner"].bindings == alone.bindings
    assert made["next"].bindings == made["shop"].bindings
    assert not made["corner"].bindings[0].config.loud


@pytest.mark.req("B-BIND-09")
def test_what_the_one_above_has_is_still_missing_below(tmp_path: Path) -> None:
    above = {
        "name": "a",
        "executor": "command",
        "config": {"argv": ["true"], "cwd": "."},
    }
    below = {"name": "a", "executor": "command", "config": {"cwd": "."}}
    value = config(
        scope(bindings=[above]), scope("corner", parent="shop", bindings=[below])
    )
    (tmp_path / "config").mkdir(mode=0o700)
    assert ("scopes/1/bindings/0/config/argv", "invalid_config") in told(
        tmp_path, value
    )


GRANT = {
    "name": "more",
    "label": "May do more",
    "operations": ["work.list"],
    "config": {"loud": True},
}

WRONG_GRANTS: list[tuple[dict[str, Any], str, str]] = [
    ({"label": "x"}, "name", "missing_field"),
    (GRANT | {"name": "More"}, "name", "invalid_identifier"),
    (GRANT | {"label": 7}, "label", "invalid_type"),
    (GRANT | {"tools": CANARY}, "tools", "unknown_field"),
    (GRANT | {"secret_names": ["word"]}, "secret_names", "unknown_field"),
    (GRANT | {"operations": "work.list"}, "operations", "invalid_type"),
    (GRANT | {"config": []}, "config", "invalid_type"),
    (GRANT | {"config": {"shrill": CANARY}}, "config/shrill", "invalid_config"),
    (GRANT | {"config": {"loud": "yes"}}, "config/loud", "invalid_config"),
]


@pytest.mark.req("B-BIND-10")
def test_a_grant_has_a_name_a_label_operations_and_config(tmp_path: Path) -> None:
    ceiling = {"operations": ["@work"]}
    wrong = with_bindings(
        *(binding(f"b{at}", grants=[g]) for at, (g, _, _) in enumerate(WRONG_GRANTS)),
        authorization=ceiling,
    )
    assert told(tmp_path, wrong) == [
        (f"scopes/0/bindings/{at}/grants/0/{place}", code)
        for at, (_, place, code) in enumerate(WRONG_GRANTS)
    ]
    good = with_bindings(
        binding(config={"say": "hello"}, grants=[GRANT, {"name": "bare"}]),
        authorization=ceiling,
    )
    assert told(tmp_path, good) == []
    more, bare = accepted(good).scopes[0].bindings[0].grants
    assert (more.name, more.label) == ("more", "May do more")
    assert more.operations == {"work.list"}
    assert (more.config.say, more.config.loud) == ("hello", True)
    assert bare == Grant(name="bare")


@pytest.mark.req("B-SCHEMA-14")
def test_a_binding_needs_a_name_and_an_executor_only(tmp_path: Path) -> None:
    assert told(tmp_path, with_bindings(binding())) == []
    assert found(with_bindings({})) == [
        ("scopes/0/bindings/0/executor", "missing_field"),
        ("scopes/0/bindings/0/name", "missing_field"),
    ]
    normal = checked(with_bindings(binding())).normal
    assert isinstance(normal, dict)
    (made,) = normal["scopes"][0]["bindings"]
    assert "connection" not in made
    assert "resource" not in made
    assert "timeout_seconds" not in made


@pytest.mark.parametrize("seconds", [0, -1, 2**31, "5", True, 1.5])
def test_a_timeout_beyond_its_bounds_is_refused(seconds: Any) -> None:
    assert [at for at, _ in found(with_bindings(binding(timeout_seconds=seconds)))] == [
        "scopes/0/bindings/0/timeout_seconds"
    ]


@pytest.mark.parametrize("seconds", [1, 2**31 - 1])
def test_a_timeout_at_its_bounds_is_taken(seconds: int) -> None:
    value = with_bindings(binding(timeout_seconds=seconds))
    assert accepted(value).scopes[0].bindings[0].timeout_seconds == seconds


VARIABLES: list[tuple[str, str]] = [
    ("OS_TOKEN", "pass_env_reserved"),
    ("OS_", "pass_env_reserved"),
    ("OPEN_CONDUIT_CONFIG", "pass_env_reserved"),
    ("TRACKER_KEY", "pass_env_secret"),
    ("OTHER_KEY", "pass_env_secret"),
    ("1ST", "invalid_config"),
    ("A=B", "invalid_config"),
    ("", "invalid_config"),
]


PASSING = {
    "scopes/0/bindings/0": "B-ENV-10, B-ENV-11, B-ENV-12",
    "scopes/0/bindings/0/resource": "B-ENV-15",
    "settings/extensions/sample": "B-ENV-20",
}
"""What passes variables on, and the rows that say which."""


@pytest.mark.req("B-ENV-10", "B-ENV-11", "B-ENV-12", "B-ENV-15", "B-ENV-20")
def test_variables_that_are_reserved_or_secret_are_not_passed(tmp_path: Path) -> None:
    value = config(
        scope(bindings=[binding(resource=SHELF)]),
        scope("far", secret_refs={"other": "env:OTHER_KEY"}),
        connections=[
            {"id": "t", "type": "account", "secret_refs": {"token": "env:TRACKER_KEY"}}
        ],
    )
    for at in PASSING:
        value = changed(value, f"{at}/pass_env", [name for name, _ in VARIABLES])
    problems = told(tmp_path, value)
    for at, rows in PASSING.items():
        for index, (_, code) in enumerate(VARIABLES):
            assert (f"{at}/pass_env/{index}", code) in problems, rows
    assert len(problems) == len(PASSING) * len(VARIABLES)
    fine = ["HTTPS_PROXY", "OSTYPE", "OPEN", "_", "far_key"]
    for at in PASSING:
        value = changed(value, f"{at}/pass_env", fine)
    assert told(tmp_path, value) == []


@pytest.mark.req("B-BIND-13")
def test_operations_need_an_executor_that_can_call_them(tmp_path: Path) -> None:
    ceiling = {"operations": ["@work"]}
    grants = [{"name": "more", "operations": ["work.list"]}]
    value = with_bindings(
        binding(operations=["work.list"], executor="plain"),
        binding("b", grants=grants, executor="plain"),
        binding("c", operations=["work.list"], grants=grants),
        binding("d", executor="plain", grants=[{"name": "more"}]),
        authorization=ceiling,
    )
    assert told(tmp_path, value) == [
        (f"scopes/0/bindings/{at}/operations", "unsupported_capability")
        for at in (0, 1)
    ]
