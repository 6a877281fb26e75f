"""Keys on the wrong level, and values that are missing or of the wrong shape."""

from __future__ import annotations

from typing import Any

import pytest

from tests.config.build import binding, chat, check, document, refuse, route, scope

CANARY = "canary-7f3a"


def text_of(value: Any) -> str:
    return "\n".join(map(str, check(value)[1]))


def remedy_of(value: Any) -> str:
    (problem,) = check(value)[1]
    return problem.remedy


@pytest.mark.parametrize("key", ["argv", "cwd", "images"])
def test_a_key_of_the_config_beside_it_is_told_to_go_in(key: str) -> None:
    value = document(scope(bindings=[binding(**{key: CANARY})]))
    assert refuse(value) == [(f"scopes/0/bindings/0/{key}", "unknown_field")]
    assert remedy_of(value) == "it belongs one level deeper, inside config"


@pytest.mark.parametrize("key", ["secret_names", "pass_env", "timeout_seconds"])
def test_a_key_of_the_entry_inside_its_config_is_told_to_go_out(key: str) -> None:
    value = document(scope(bindings=[binding(config={key: CANARY})]))
    assert refuse(value) == [(f"scopes/0/bindings/0/config/{key}", "invalid_config")]
    assert remedy_of(value) == "it belongs one level higher, beside config"


def test_routes_and_extensions_tell_the_level_of_a_key_too() -> None:
    entry = chat(secret_names=[])
    value = document(
        scope(bindings=[binding()], routes=[route(models=[])], extensions=[entry])
    )
    assert [(item.place, item.remedy) for item in check(value)[1]] == [
        (
            "scopes/0/extensions/0/config/secret_names",
            "it belongs one level higher, beside config",
        ),
        ("scopes/0/routes/0/models", "it belongs one level deeper, inside config"),
    ]


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (document(concurrency=4), "settings"),
        (document(scope(ready_limit=4)), "limits"),
        (document(scope(executor="engine")), "bindings"),
        (document(scope(secret_names=[])), "bindings or extensions"),
    ],
)
def test_a_key_of_an_object_further_in_is_told_to_go_there(
    value: Any, place: str
) -> None:
    assert remedy_of(value) == f"it belongs one level deeper; move it into {place}"


def test_a_missing_choice_lists_its_words() -> None:
    entry = route()
    del entry["active_policy"]
    remedy = remedy_of(document(scope(bindings=[binding()], routes=[entry])))
    assert remedy.endswith(" Write one of queue, inject, interrupt, drop.")


@pytest.mark.parametrize("place", ["argv", "pass_env"])
def test_a_text_in_the_place_of_a_list_of_texts_is_answered_with_an_example(
    place: str,
) -> None:
    wrong = {place: f"engine --flag {CANARY}"}
    entry = binding(config=wrong) if place == "argv" else binding(**wrong)
    value = document(scope(bindings=[entry]))
    assert remedy_of(value) == 'write a list, as in ["one", "two"]'
    assert CANARY not in text_of(value)


def test_a_text_in_the_place_of_other_things_gets_no_list() -> None:
    for value in (document(scope(bindings=CANARY)), document(settings=CANARY)):
        assert '"one"' not in text_of(value)
