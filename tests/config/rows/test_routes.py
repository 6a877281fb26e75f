"""Routes: their handler, their binding and what they do with active Work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conduck_service.domain.scope import ActivePolicy, Fallback
from tests.config.rows.lab import (
    CANARY,
    accepted,
    asked,
    binding,
    config,
    found,
    route,
    scope,
    told,
)


def with_routes(*routes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return config(scope(routes=list(routes), **{"bindings": [binding()], **more}))


def without(key: str) -> dict[str, Any]:
    value = route()
    del value[key]
    return value


@pytest.mark.req("B-ROUTE-01")
def test_a_handler_has_to_be_registered(tmp_path: Path) -> None:
    value = with_routes(route(handler="nope"), without("handler") | {"name": "b"})
    _, answer, _ = asked(tmp_path, value)
    assert [(item["path"], item["code"]) for item in answer["problems"]] == [
        ("scopes/0/routes/0/handler", "unregistered"),
        ("scopes/0/routes/1/handler", "missing_field"),
    ]
    for name in ("chat", "needs_inject", "sees_grants"):
        assert name in answer["problems"][0]["remedy"]


@pytest.mark.req("B-ROUTE-03")
def test_the_binding_of_a_route_is_in_force_in_its_scope(tmp_path: Path) -> None:
    value = config(
        scope(bindings=[binding()], routes=[route(), route("b", binding="clerc")]),
        scope("sibling", bindings=[binding("else")], routes=[route()]),
        scope("child", parent="shop", routes=[route("c"), route("d", binding="own")]),
        scope(
            "grandchild",
            parent="child",
            bindings=[binding("own")],
            routes=[route("e", binding="own"), route("f", binding="else")],
        ),
    )
    assert told(tmp_path, value) == [
        ("scopes/0/routes/1/binding", "unknown_reference"),
        ("scopes/1/routes/0/binding", "unknown_reference"),
        ("scopes/2/routes/1/binding", "unknown_reference"),
        ("scopes/3/routes/1/binding", "unknown_reference"),
    ]
    _, answer, _ = asked(tmp_path, value)
    assert "'clerk'" in answer["problems"][0]["remedy"]


FALLBACKS = ("unsupported_fallback", "error_fallback")


@pytest.mark.req("B-ROUTE-04", "B-ROUTE-06")
@pytest.mark.parametrize("key", FALLBACKS)
def test_a_fallback_is_queue_or_drop(key: str, tmp_path: Path) -> None:
    for word in ("queue", "drop"):
        (shop,) = accepted(with_routes(route(**{key: word}))).scopes
        assert getattr(shop.routes[0], key) is Fallback(word)
    (shop,) = accepted(with_routes(route())).scopes
    assert getattr(shop.routes[0], key) is None
    wrong: list[Any] = [
        "inject",
        "interrupt",
        "coalesce",
        "all",
        "b",
        "Queue",
        "",
        None,
        7,
        [],
        {},
    ]
    value = with_routes(
        *(route("abcdefghijk"[at], **{key: word}) for at, word in enumerate(wrong))
    )
    problems = told(tmp_path, value)
    assert [at for at, _ in problems] == [
        f"scopes/0/routes/{at}/{key}" for at in range(len(wrong))
    ]


@pytest.mark.req("B-ROUTE-05", "B-ROUTE-06")
def test_a_policy_is_one_of_four_words(tmp_path: Path) -> None:
    for policy in ActivePolicy:
        (shop,) = accepted(with_routes(route(active_policy=policy.value))).scopes
        assert shop.routes[0].active_policy is policy
    wrong = ["coalesce", "b", "all", "clerk", "", None, {"route": "a"}]
    value = with_routes(
        *(route("abcdefg"[at], active_policy=word) for at, word in enumerate(wrong))
    )
    status, answer, _ = asked(tmp_path, value)
    assert status == 1
    assert [item["path"] for item in answer["problems"]] == [
        f"scopes/0/routes/{at}/active_policy" for at in range(len(wrong))
    ]
    assert "drop, inject, interrupt, queue" in answer["problems"][0]["remedy"]


@pytest.mark.req("B-ROUTE-07")
@pytest.mark.parametrize("policy", [policy.value for policy in ActivePolicy])
def test_no_route_does_without_a_binding(policy: str, tmp_path: Path) -> None:
    value = with_routes(without("binding") | {"active_policy": policy})
    assert told(tmp_path, value) == [("scopes/0/routes/0/binding", "missing_field")]
    assert found(with_routes(route(active_policy=policy, binding="nope"))) == [
        ("scopes/0/routes/0/binding", "unknown_reference")
    ]


@pytest.mark.req("B-ROUTE-08")
@pytest.mark.parametrize("handler", ["chat", "sees_grants"])
def test_a_handler_checks_its_config(handler: str, tmp_path: Path) -> None:
    value = with_routes(route(handler=handler, config={"key": CANARY}))
    _, answer, _ = asked(tmp_path, value)
    (problem,) = answer["problems"]
    assert problem["path"] == "scopes/0/routes/0/config/key"
    assert problem["code"] == "invalid_config"
    good = {"models": ["agent"]} if handler == "chat" else {"allowed": ["more"]}
    assert told(tmp_path, with_routes(route(handler=handler, config=good))) == []


@pytest.mark.req("B-ROUTE-10")
def test_what_a_handler_requires_its_binding_requires_too(tmp_path: Path) -> None:
    ready = binding("ready", requires={"inject": True})
    value = with_routes(
        route(handler="needs_inject"),
        route("b", handler="needs_inject", binding="ready"),
        bindings=[binding(), ready],
    )
    assert told(tmp_path, value) == [
        ("scopes/0/routes/0/binding", "unsupported_capability")
    ]
    _, answer, _ = asked(tmp_path, value)
    assert "requires.inject" in answer["problems"][0]["remedy"]


@pytest.mark.req("B-ROUTE-10")
def test_a_binding_below_may_not_lose_what_a_route_above_needs(tmp_path: Path) -> None:
    value = config(
        scope(
            bindings=[binding(requires={"inject": True})],
            routes=[route(handler="needs_inject")],
        ),
        scope("corner", parent="shop", bindings=[binding()]),
    )
    assert told(tmp_path, value) == [
        ("scopes/1/bindings/0/requires", "unsupported_capability")
    ]


@pytest.mark.parametrize("policy", ["inject", "interrupt"])
@pytest.mark.parametrize("fallback", [None, "queue", "drop"])
def test_a_policy_that_the_executor_cannot_do_needs_a_fallback(
    policy: str, fallback: str | None
) -> None:
    more = {"unsupported_fallback": fallback} if fallback else {}
    routes = [route(active_policy=policy, **more)]
    able = with_routes(*routes, bindings=[binding()])
    plain = with_routes(*routes, bindings=[binding(executor="plain")])
    refused = [("scopes/0/routes/0/active_policy", "unsupported_capability")]
    assert found(able) == []
    assert found(plain) == ([] if fallback else refused)


@pytest.mark.req("B-SCHEMA-14")
def test_a_route_needs_four_keys_only(tmp_path: Path) -> None:
    assert told(tmp_path, with_routes({})) == [
        (f"scopes/0/routes/0/{key}", "missing_field")
        for key in ("active_policy", "binding", "handler", "name")
    ]
    assert told(tmp_path, with_routes(route())) == []
