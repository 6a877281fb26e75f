from __future__ import annotations

import json
from typing import Any

import pytest

from conduck_service.domain.scope import Document
from tests.config.build import (
    accept,
    binding,
    chat,
    check,
    document,
    refuse,
    route,
    scope,
)

CANARY = "canary-7f3a"


def text_of(value: Any) -> str:
    return "\n".join(map(str, check(value)[1]))


def remedy_of(value: Any) -> str:
    (problem,) = check(value)[1]
    return problem.remedy


def five_faults() -> dict[str, Any]:
    return document(
        scope(
            bindings=[binding(executor="nope"), binding("other", bad=1)],
            routes=[route(binding="coderr")],
            extensions=[chat(port="x")],
        ),
        settings={"concurrency": -1},
    )


@pytest.mark.req("B-DIAG-02")
def test_an_unknown_key_suggests_the_nearest_one() -> None:
    assert "'bindings'" in remedy_of(document(scope(bindngs=[])))


@pytest.mark.req("B-DIAG-03")
def test_an_unknown_key_like_no_other_lists_them_all() -> None:
    remedy = remedy_of(document(scope(zzz=1)))
    for key in (
        "id",
        "name",
        "enabled",
        "bindings",
        "routes",
        "extensions",
        "secret_refs",
        "limits",
    ):
        assert key in remedy


@pytest.mark.req("B-DIAG-05", "B-BIND-01")
def test_an_unregistered_executor_is_refused_and_lists_the_registered() -> None:
    value = document(scope(bindings=[binding(executor="nope")]))
    assert refuse(value) == [  # B-BIND-01
        ("scopes/0/bindings/0/executor", "unregistered")
    ]
    assert "broken_check, broken_spec, engine" in remedy_of(value)  # B-DIAG-05


@pytest.mark.req("B-DIAG-07")
def test_an_unregistered_handler_lists_the_registered() -> None:
    value = document(scope(bindings=[binding()], routes=[route(handler="nope")]))
    assert refuse(value) == [("scopes/0/routes/0/handler", "unregistered")]
    assert remedy_of(value).endswith(": chat")


def test_an_unregistered_extension_type_lists_the_registered() -> None:
    value = document(scope(extensions=[{"name": "a", "type": "conduck_chad"}]))
    assert refuse(value) == [("scopes/0/extensions/0/type", "unregistered")]
    assert remedy_of(value).endswith(": conduck_chat, lane, quiet")


@pytest.mark.req("B-DIAG-12")
def test_all_independent_faults_are_found_at_once() -> None:
    assert refuse(five_faults()) == [
        ("scopes/0/bindings/0/executor", "unregistered"),
        ("scopes/0/bindings/1/bad", "unknown_field"),
        ("scopes/0/extensions/0/config/port", "invalid_config"),
        ("scopes/0/routes/0/binding", "unknown_reference"),
        ("settings/concurrency", "invalid_config"),
    ]


@pytest.mark.req("B-DIAG-13")
def test_the_order_does_not_depend_on_the_order_of_keys() -> None:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return [turned(item) for item in value] if isinstance(value, list) else value

    first = check(json.dumps(five_faults()))[1]
    assert check(json.dumps(five_faults()))[1] == first
    assert check(json.dumps(turned(five_faults())))[1] == first


@pytest.mark.req("B-DIAG-14")
def test_no_value_is_repeated() -> None:
    values: list[Any] = [
        document() | {"version": CANARY},
        document(settings={"concurrency": CANARY}),
        document(scope(CANARY.upper())),
        document(scope(enabled=CANARY, bindings=CANARY, limits=CANARY, zzz=CANARY)),
        document(
            scope(
                bindings=[
                    binding(
                        executor=CANARY,
                        secret_names=[CANARY, f"A{CANARY}"],
                        pass_env=[CANARY, f"OS_{CANARY}"],
                    ),
                    binding("b", config={"argv": CANARY, "images": CANARY}),
                ],
                routes=[
                    route(binding=CANARY),
                    route("b", handler=CANARY, active_policy=CANARY),
                ],
                extensions=[chat(namespace=f"{CANARY}.", port=CANARY)],
            )
        ),
        document(scope(CANARY), scope(CANARY)),
        document(scope(bindings=[binding(CANARY), binding(CANARY)])),
        document(scope(extensions=[chat("a"), chat("b", namespace=CANARY)])),
        json.dumps(document()).replace("1", CANARY),
    ]
    for value in values:
        said = text_of(value)
        assert said
        assert "canary" not in said.lower()


@pytest.mark.req("B-DIAG-15")
@pytest.mark.parametrize(
    "text",
    [
        f"cmd:{CANARY}",
        f"cmd:nosuchprogram {CANARY}",
        f"keyring:../{CANARY}",
        f"file:/{CANARY}",
        f"env:1{CANARY}",
        f"vault:{CANARY}",
        CANARY,
    ],
)
def test_no_text_of_a_secret_reference_is_repeated(text: str) -> None:
    value = document(scope(secret_refs={"key": text}, zzz=1))
    is_command = text.startswith("cmd:")
    assert refuse(value) == [
        (
            "scopes/0/secret_refs/key",
            "program_not_found" if is_command else "invalid_secret_ref",
        ),
        ("scopes/0/zzz", "unknown_field"),
    ]
    assert "canary" not in text_of(value)


@pytest.mark.req("B-DIAG-17", "B-SCHEMA-05")
def test_what_an_owner_refuses_has_one_code_and_a_place_in_its_config() -> None:
    entry = binding(config={"images": "canary", "argvv": []})
    value = document(scope(bindings=[entry], extensions=[chat(zzz=1)]))
    assert refuse(value) == [
        ("scopes/0/bindings/0/config/argvv", "invalid_config"),
        ("scopes/0/bindings/0/config/images", "invalid_config"),  # B-DIAG-17
        ("scopes/0/extensions/0/config/zzz", "invalid_config"),  # B-SCHEMA-05
    ]
    assert "did you mean 'argv'?" in text_of(value)
    assert "canary" not in text_of(value)


@pytest.mark.req("B-DIAG-18")
def test_an_owner_that_raises_is_one_problem_and_no_traceback() -> None:
    for name, place in (("broken_check", ""), ("broken_spec", "/config")):
        value = document(scope(bindings=[binding(executor=name)]))
        assert refuse(value) == [(f"scopes/0/bindings/0{place}", "invalid_config")]
        assert "KeyError" in text_of(value)
        assert "canary" not in text_of(value)


@pytest.mark.req("B-SCHEMA-04")
def test_the_core_takes_any_object_as_config_of_an_unknown_owner() -> None:
    value = document(scope(bindings=[binding(executor="nope", config={"a": {"b": 1}})]))
    assert refuse(value) == [("scopes/0/bindings/0/executor", "unregistered")]


def test_owners_check_entries_within_their_scope() -> None:
    value = document(
        scope("clean"),
        scope(
            bindings=[binding(config={"secret_env": {"KEY": "key"}})],
            routes=[route()],
            extensions=[chat(wants_images=True)],
        ),
    )
    assert refuse(value) == [
        ("scopes/1/bindings/0/config/secret_env/KEY", "unknown_reference"),
        ("scopes/1/extensions/0/config/wants_images", "unsupported_capability"),
    ]


def test_owners_are_not_asked_about_a_scope_with_other_faults() -> None:
    bad = [binding(config={"secret_env": {"KEY": "key"}})]
    value = document(
        scope(zzz=1, bindings=bad),
        scope("second", bindings=bad, routes=[route(binding="gone")]),
        scope("third", bindings=bad),
    )
    assert refuse(value) == [
        ("scopes/0/zzz", "unknown_field"),
        ("scopes/1/routes/0/binding", "unknown_reference"),
        ("scopes/2/bindings/0/config/secret_env/KEY", "unknown_reference"),
    ]


def test_names_are_unique_within_their_list() -> None:
    quiet = {"name": "a", "type": "quiet"}
    value = document(
        scope("one", bindings=[binding(), binding(), binding()]),
        scope("two", bindings=[binding()], routes=[route(), route()]),
        scope("one", extensions=[quiet, quiet]),
    )
    assert refuse(value) == [
        ("scopes/0/bindings/1/name", "duplicate_name"),
        ("scopes/0/bindings/2/name", "duplicate_name"),
        ("scopes/1/routes/1/name", "duplicate_name"),
        ("scopes/2/extensions/1/name", "duplicate_name"),
        ("scopes/2/id", "duplicate_name"),
    ]


def test_no_two_entries_share_a_namespace_or_a_port() -> None:
    value = document(
        scope("one", extensions=[chat("a", namespace="x", port=1)]),
        scope(
            "two",
            extensions=[
                chat("b", namespace="x", port=2),
                chat("c", namespace="y", port=1),
                {"name": "q", "type": "quiet"},
                {"name": "r", "type": "quiet"},
            ],
        ),
    )
    assert refuse(value) == [
        ("scopes/1/extensions/0/config/namespace", "duplicate_name"),
        ("scopes/1/extensions/1/config/port", "duplicate_name"),
    ]


@pytest.mark.req("B-BIND-11")
def test_a_route_leads_to_a_binding_of_its_scope() -> None:
    value = document(
        scope("one", bindings=[binding()]),
        scope("two", bindings=[binding("codes")], routes=[route()]),
        scope("three", routes=[route()]),
    )
    assert refuse(value) == [
        ("scopes/1/routes/0/binding", "unknown_reference"),
        ("scopes/2/routes/0/binding", "unknown_reference"),
    ]
    assert "did you mean 'codes'?" in text_of(value)


def test_a_route_to_a_faulty_binding_is_no_fault_of_the_route() -> None:
    value = document(scope(bindings=[binding(zzz=1)], routes=[route()]))
    assert refuse(value) == [("scopes/0/bindings/0/zzz", "unknown_field")]


@pytest.mark.req("B-BIND-07")
def test_secret_names_are_secrets_of_the_scope() -> None:
    value = document(
        scope("one", secret_refs={"key": "env:KEY"}),
        scope(
            "two",
            bindings=[binding(secret_names=["token", "tokem", "key"])],
            extensions=[{"name": "q", "type": "quiet", "secret_names": ["key"]}],
            secret_refs={"token": "env:TOKEN"},
        ),
    )
    assert refuse(value) == [
        ("scopes/1/bindings/0/secret_names/1", "unknown_reference"),
        ("scopes/1/bindings/0/secret_names/2", "unknown_reference"),
        ("scopes/1/extensions/0/secret_names/0", "unknown_reference"),
    ]
    assert "did you mean 'token'?" in text_of(value)


@pytest.mark.parametrize("name", ["engine_token", "api_token", "token", "zzz"])
def test_no_other_secret_is_offered_for_an_unknown_one(name: str) -> None:
    refs = {"chat_token": "file:chat_token"}
    value = document(scope(bindings=[binding(secret_names=[name])], secret_refs=refs))
    assert remedy_of(value) == (
        "add it to secret_refs of the scope, as keyring:NAME or file:NAME"
    )


def test_a_mistyped_secret_is_told_with_both_ways_out() -> None:
    refs = {"chat_token": "file:chat_token"}
    entry = binding(secret_names=["chat_tokn"])
    remedy = remedy_of(document(scope(bindings=[entry], secret_refs=refs)))
    assert "did you mean 'chat_token'?" in remedy
    assert "secret_refs" in remedy


def test_reserved_and_secret_variables_are_not_passed_on() -> None:
    names = ["OS_TOKEN", "OPEN_CONDUIT_CONFIG", "ENGINE_KEY", "OSLO", "HTTPS_PROXY"]
    value = document(
        scope("one", bindings=[binding(pass_env=names)]),
        scope("two", secret_refs={"key": "env:ENGINE_KEY", "bad": "env:1"}),
    )
    assert refuse(value) == [
        ("scopes/0/bindings/0/pass_env/0", "pass_env_reserved"),
        ("scopes/0/bindings/0/pass_env/1", "pass_env_reserved"),
        ("scopes/0/bindings/0/pass_env/2", "pass_env_secret"),
        ("scopes/1/secret_refs/bad", "invalid_secret_ref"),
    ]


def test_secrets_are_not_resolved_by_a_check() -> None:
    made = accept(
        document(scope(secret_refs={"a": "env:NOT_SET", "b": "file:not_there"}))
    )
    assert isinstance(made, Document)
    assert "NOT_SET" not in repr(made)


@pytest.mark.parametrize("value", [["up"], {"id": "up"}, 7, True])
def test_a_connection_of_a_wrong_type_is_one_fault_wherever_it_is_inherited(
    value: object,
) -> None:
    top = scope("top", bindings=[binding(connection=value)])
    below = scope("below", parent="top", authorization={"connections": []})
    assert refuse(document(top, below)) == [
        ("scopes/0/bindings/0/connection", "invalid_type")
    ]


@pytest.mark.parametrize(
    ("key", "step"),
    [("a/b", "a~1b"), ("a~b", "a~0b"), ("a\nb", "a\\nb"), ("\x1b[31m", "\\x1b[31m")],
)
def test_a_place_is_one_line_whatever_a_key_is(key: str, step: str) -> None:
    assert refuse(document({**scope(), key: 1})) == [
        (f"scopes/0/{step}", "unknown_field")
    ]


def test_an_empty_config_of_a_grant_changes_nothing() -> None:
    made = accept(
        document(scope(bindings=[binding(grants=[{"name": "more", "config": {}}])]))
    )
    assert made.scopes[0].bindings[0].grants[0].config is None


def test_what_is_switched_off_owns_no_namespace() -> None:
    off = scope("off", enabled=False, extensions=[chat()])
    on = scope("on", extensions=[chat(port=8490)])
    accept(document(off, on))
    taken = scope("on", extensions=[chat(namespace="other")])
    assert refuse(document(off, taken)) == [
        ("scopes/1/extensions/0/config/port", "duplicate_name")
    ]
