"""What is looked at, and in which order (B-VALID)."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tests.config.composed.desk import (
    CANARY,
    Desk,
    binding,
    document,
    home,
    route,
    scope,
)

SHELF = {"provider": "shelf", "config": {"path": "/shelf"}}
INJECT = {"requires": {"inject": True}}


def many_faults() -> dict[str, Any]:
    """Return a config with a fault for each stage, in scopes of their own."""
    return document(
        scope("home", bindings=[binding()], authorization={"operations": ["@work"]}),
        scope("shape", "home", enabled=CANARY, bindings=[binding("x", zzz=1)]),
        scope("graph", "nowhere"),
        scope("inherits", "home", bindings=[{"name": "zzz", "disabled": True}]),
        scope("owner", "home", bindings=[binding("x", config={"say": 1})]),
        scope("refers", "home", routes=[route(to="nobody")]),
        scope("ceiling", "home", authorization={"operations": ["tracker.file"]}),
        scope("able", "home", bindings=[binding("x", "plain", **INJECT)]),
        scope(
            "checks",
            "home",
            bindings=[binding("x", "picky", config={"loud": True, "quiet": True})],
        ),
    )


FAULTS = {
    "shape": {("bindings/0/zzz", "unknown_field"), ("enabled", "invalid_type")},
    "graph": {("parent", "unknown_reference")},
    "inherits": {("bindings/0/name", "unknown_tombstone")},
    "owner": {("bindings/0/config/say", "invalid_config")},
    "refers": {("routes/0/binding", "unknown_reference")},
    "ceiling": {("authorization/operations/0", "not_authorized")},
    "able": {("bindings/0/requires/inject", "unsupported_capability")},
    "checks": {("bindings/0/config/quiet", "invalid_config")},
}
"""What each scope of ``many_faults`` is told."""


def by_scope(value: Any, found: list[tuple[str, str]]) -> dict[str, set[Any]]:
    """Return diagnostics by the id of the scope that they are in."""
    told: dict[str, set[Any]] = {}
    for place, code in found:
        _, index, rest = place.split("/", 2)
        told.setdefault(value["scopes"][int(index)]["id"], set()).add((rest, code))
    return told


@pytest.mark.req("B-VALID-04")
def test_every_stage_reports_whatever_an_earlier_one_found(desk: Desk) -> None:
    value = many_faults()
    first = desk.fail(value)
    assert by_scope(value, first) == FAULTS
    assert desk.fail(value) == first
    # Unrelated parts may stand in any order: each scope is told the same.
    for turned in (
        [value["scopes"][0], *reversed(value["scopes"][1:])],
        list(reversed(value["scopes"])),
    ):
        again = {**value, "scopes": turned}
        assert by_scope(again, desk.refuse(again)) == FAULTS


@pytest.mark.req("B-VALID-04")
@pytest.mark.parametrize("stage", [name for name in FAULTS if name != "checks"])
def test_owners_check_last_and_only_where_nothing_else_is_wrong(
    stage: str, desk: Desk
) -> None:
    """A scope with a fault of any stage is not shown to owners, nor what is in it.

    What executors cannot do is told there all the same, and so is everything that is
    wrong in the scopes beside it.
    """
    value = many_faults()
    faulty = next(item for item in value["scopes"] if item["id"] == stage)
    bad = binding("bad", "picky", config={"loud": True, "quiet": True})
    faulty.setdefault("bindings", []).append(bad)
    faulty["bindings"].append(binding("lame", "plain", **INJECT))
    place = f"bindings/{len(faulty['bindings']) - 1}/requires/inject"
    below = scope("below", stage, bindings=[bad])
    value["scopes"] += [below, scope("beside", "home", bindings=[bad])]
    told = by_scope(value, desk.refuse(value))
    assert told.pop("beside") == {("bindings/0/config/quiet", "invalid_config")}
    assert "below" not in told
    if stage != "graph":  # what such a scope inherits is not known
        told[stage].remove((place, "unsupported_capability"))
    assert told == FAULTS


@pytest.mark.req("B-VALID-04")
def test_only_a_text_that_is_no_json_hides_all_the_rest(desk: Desk) -> None:
    value = many_faults()
    assert desk.refuse(json.dumps(value) + "}") == [("", "invalid_json")]
    later = [*desk.refuse(value), ("version", "invalid_config")]
    assert desk.refuse({**value, "version": 2}) == later


@pytest.mark.req("B-VALID-05")
def test_an_executor_checks_its_bindings(desk: Desk) -> None:
    value = home(binding("a", "picky", config={"loud": True, "quiet": True}))
    assert desk.fail(value) == [("scopes/0/bindings/0/config/quiet", "invalid_config")]
    _, rows = desk.run(value)
    assert rows[0]["message"] == "loud and quiet exclude each other"
    value["scopes"][0]["bindings"][0]["config"]["loud"] = False
    desk.accept(value)


@pytest.mark.req("B-VALID-07")
def test_operations_need_a_toolbelt(desk: Desk) -> None:
    ceiling = {"operations": ["@work"]}
    plain = binding("a", "plain", operations=["work.list"])
    grant = {"name": "more", "operations": ["work.list"]}
    offers = binding("b", "plain", grants=[grant])
    value = home(plain, offers, binding("c", "plain"), authorization=ceiling)
    assert desk.fail(value) == [
        ("scopes/0/bindings/0/operations", "unsupported_capability"),
        ("scopes/0/bindings/1/operations", "unsupported_capability"),
    ]
    for item in value["scopes"][0]["bindings"]:
        item["executor"] = "able"
    desk.accept(value)


@pytest.mark.req("B-VALID-08", "B-VALID-09")
@pytest.mark.parametrize("policy", ["inject", "interrupt"])
def test_a_route_asks_for_what_the_executor_can_do(policy: str, desk: Desk) -> None:
    value = home(
        binding("coder", "plain"),
        binding("able"),
        routes=[
            route("a", active_policy=policy),
            route("b", active_policy=policy, error_fallback="queue"),
            route("c", active_policy=policy, unsupported_fallback="queue"),
            route("d", active_policy=policy, unsupported_fallback="drop"),
            route("e", "able", active_policy=policy),
            route("f", active_policy="queue"),
            route("g", active_policy="drop"),
        ],
    )
    said = desk.fail(value) if policy == "inject" else desk.refuse(value)
    assert said == [  # B-VALID-08
        (f"scopes/0/routes/{index}/active_policy", "unsupported_capability")
        for index in (0, 1)
    ]
    del value["scopes"][0]["routes"][:2]
    if policy == "inject":
        desk.pass_(value)
    desk.accept(value)  # B-VALID-09


@pytest.mark.req("B-VALID-10")
def test_a_fallback_does_not_help_a_requirement(desk: Desk) -> None:
    falls_back = route(active_policy="inject", unsupported_fallback="queue")
    value = home(binding("coder", "plain", **INJECT), routes=[falls_back])
    assert desk.fail(value) == [
        ("scopes/0/bindings/0/requires/inject", "unsupported_capability")
    ]
    value["scopes"][0]["bindings"][0] = binding("coder", "plain")
    desk.accept(value)


@pytest.mark.req("B-VALID-11", "B-VALID-20")
def test_a_resource_has_a_provider_that_takes_its_config(desk: Desk) -> None:
    nobody = {"provider": "nobody", "config": {"path": 1}}
    wrong = {"provider": "shelf", "config": {"path": 1, "key": CANARY}}
    bindings = [binding("a", resource=nobody), binding("b", resource=wrong)]
    value = home(*bindings, binding("c", resource=SHELF))
    assert desk.fail(value) == [
        ("scopes/0/bindings/0/resource/provider", "unregistered"),  # B-VALID-11
        ("scopes/0/bindings/1/resource/config/key", "invalid_config"),  # B-VALID-20
        ("scopes/0/bindings/1/resource/config/path", "invalid_config"),
    ]


@pytest.mark.req("B-VALID-12", "B-VALID-13")
def test_a_workspace_needs_a_capability_and_a_resource(desk: Desk) -> None:
    wants = {"requires": {"workspace": True}}
    value = home(
        binding("a", **wants),
        binding("b", "plain", **wants, resource=SHELF),
        binding("c", "plain", **wants),
        binding("d", **wants, resource=SHELF),
        binding("e", resource=SHELF),
        binding("f", "plain"),
    )
    assert desk.fail(value) == [
        (f"scopes/0/bindings/{index}/requires/workspace", "unsupported_capability")
        for index in (0, 1, 2, 2)
    ]
    # Without the requirement nothing of it is asked for.
    del value["scopes"][0]["bindings"][:3]
    desk.accept(value)  # B-VALID-13


@pytest.mark.req("B-VALID-13")
def test_a_program_alone_is_enough(desk: Desk) -> None:
    shell = binding("job", "command", config={"argv": ["sh"], "cwd": "../folder"})
    value = {"version": 1, "scopes": [scope("home", bindings=[shell])]}
    desk.pass_(value)


@pytest.mark.req("B-VALID-14")
def test_operations_are_registered_and_within_the_ceiling(desk: Desk) -> None:
    value = home(
        binding("a", operations=["work.nope", "@nope"]),
        binding("b", operations=["work.list", "tracker.file"]),
        authorization={"operations": ["@work"]},
    )
    assert desk.fail(value) == [
        ("scopes/0/bindings/0/operations/0", "unregistered"),
        ("scopes/0/bindings/0/operations/1", "unregistered"),
        ("scopes/0/bindings/1/operations/1", "not_authorized"),
    ]
    # A root without a ceiling gives nothing.
    value = home(binding("b", operations=["work.list"]))
    assert desk.refuse(value) == [
        ("scopes/0/bindings/0/operations/0", "not_authorized")
    ]


@pytest.mark.req("B-VALID-15")
def test_connections_and_secrets_are_named(desk: Desk) -> None:
    value = home(
        binding("a", "dialing"),
        binding("b", "dialing", connection="server"),
        binding("c", "dialing", connection="account"),
        binding("d", "command", config={"argv": ["sh"], "cwd": "/"}),
        secret_refs={"key": "file:key"},
        authorization={"connections": ["account", "server"]},
    )
    value["connections"] = [
        {"id": "account", "type": "account"},
        {"id": "server", "type": "other"},
    ]
    config = value["scopes"][0]["bindings"][3]["config"]
    config["secret_env"] = {"KEY": "key"}
    del value["scopes"][0]["bindings"][:2]
    assert desk.fail(value) == [
        ("scopes/0/bindings/1/config/secret_env/KEY", "unknown_reference")
    ]
    value["scopes"][0]["bindings"] = [
        binding("a", "dialing"),
        binding("b", "dialing", connection="server"),
    ]
    assert desk.fail(value) == [
        ("scopes/0/bindings/0/connection", "missing_field"),
        ("scopes/0/bindings/1/connection", "invalid_config"),
    ]


@pytest.mark.req("B-VALID-16")
def test_no_secret_stands_in_the_config_of_an_owner(desk: Desk) -> None:
    chat = {
        "namespace": "chat",
        "scope": "home",
        "port": 8480,
        "token_secret": "key",
        "models": [{"id": "a"}],
        "token": CANARY,
        "api_key": f"env:{CANARY}",
    }
    entry = {
        "name": "chat",
        "type": "conduck_chat",
        "secret_names": ["key"],
        "config": chat,
    }
    place = "scopes/0/extensions/0/config"
    value = home(extensions=[entry], secret_refs={"key": "file:key"})
    assert desk.fail(value) == [
        (f"{place}/api_key", "invalid_config"),
        (f"{place}/token", "invalid_config"),
    ]
    # The value in the place of the name of a secret is no name.
    del chat["token"], chat["api_key"]
    chat["token_secret"] = f"{CANARY}.A"
    assert (f"{place}/token_secret", "invalid_config") in desk.refuse(value)


@pytest.mark.req("B-VALID-17")
def test_a_text_is_no_secret_for_what_it_begins_with(desk: Desk) -> None:
    texts = ["env:HOME", "file:key", "keyring:key", "cmd:touch ran", "secret:x"]
    value = home(
        *(binding(f"b{i}", config={"say": text}) for i, text in enumerate(texts)),
    )
    value["scopes"][0]["name"] = texts[0]
    desk.pass_(value)
    made = desk.scope_of(value, "home")
    assert [item.config.say for item in made.bindings] == texts
    assert made.name == texts[0]
    assert not (desk.root / "ran").exists()


@pytest.mark.req("B-VALID-18")
def test_config_is_checked_where_an_executor_checks_it(desk: Desk) -> None:
    config = {"anything": [1, {"goes": None}]}
    loose = home(binding("a", "hooked", config=config))
    desk.pass_(loose)
    assert desk.scope_of(loose, "home").binding("a").config == config
    strict = home(binding("a", "able", config=config))
    assert desk.fail(strict) == [
        ("scopes/0/bindings/0/config/anything", "invalid_config")
    ]


@pytest.mark.req("B-VALID-04")
def test_two_runs_over_shuffled_keys_say_the_same(desk: Desk) -> None:
    value = many_faults()
    first = desk.check(value).problems
    for keys in itertools.islice(itertools.permutations(value), 1, 4):
        assert desk.check({key: value[key] for key in keys}).problems == first
