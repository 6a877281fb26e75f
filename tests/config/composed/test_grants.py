"""What a binding offers a Work on top, as far as a check can see it (B-GRANT)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.config.composed.desk import (
    CANARY,
    Desk,
    binding,
    document,
    route,
    scope,
)

GRANTS = "scopes/0/bindings/0/grants"


def offering(*grants: dict[str, Any], **more: Any) -> dict[str, Any]:
    entry = binding(**{"executor": "picky", **more}, grants=list(grants))
    ceiling = {"operations": ["work.create", "work.list"]}
    return document(scope("home", bindings=[entry], authorization=ceiling))


@pytest.mark.req("B-GRANT-03")
def test_operations_of_a_grant_are_within_the_ceiling(desk: Desk) -> None:
    fine = {"name": "fine", "operations": ["work.create"]}
    value = offering(fine, {"name": "more", "operations": ["work.list", "work.cancel"]})
    assert desk.fail(value) == [(f"{GRANTS}/1/operations/1", "not_authorized")]
    value = offering(fine, {"name": "more", "operations": ["@work"]})
    assert desk.refuse(value) == [(f"{GRANTS}/1/operations/0", "not_authorized")]
    value = offering(fine, {"name": "more", "operations": ["@work", "!work.cancel"]})
    desk.accept(value)
    value = offering(fine, {"name": "more", "operations": ["work.nope"]})
    assert desk.refuse(value) == [(f"{GRANTS}/1/operations/0", "unregistered")]
    # The binding's own operations do not come into it.
    desk.accept(offering(fine, operations=["work.list"]))


@pytest.mark.req("B-GRANT-04")
def test_the_config_of_a_grant_is_checked_with_that_grant_alone(desk: Desk) -> None:
    value = offering(
        {"name": "a", "config": {"say": 5}},
        {"name": "b", "config": {"says": CANARY}},
        {"name": "c", "config": {"loud": True}},
        {"name": "d", "config": {"quiet": True}},
    )
    # Loud and quiet exclude each other; each grant alone sets one of them.
    assert desk.fail(value) == [
        (f"{GRANTS}/0/config/say", "invalid_config"),
        (f"{GRANTS}/1/config/says", "invalid_config"),
    ]
    value = offering({"name": "c", "config": {"loud": True}}, config={"quiet": True})
    assert desk.fail(value) == [(f"{GRANTS}/0/config/quiet", "invalid_config")]


@pytest.mark.req("B-GRANT-04")
def test_owners_are_asked_about_each_grant_by_itself(desk: Desk) -> None:
    loud = {"name": "loud", "config": {"loud": True}}
    quiet = {"name": "quiet", "config": {"quiet": True}}
    desk.accept(offering(loud, quiet))
    both = {"name": "both", "config": {"loud": True, "quiet": True}}
    assert desk.refuse(offering(loud, both, quiet, {**both, "name": "again"})) == [
        (f"{GRANTS}/1/config/quiet", "invalid_config"),
        (f"{GRANTS}/3/config/quiet", "invalid_config"),
    ]
    # What the binding has wrong by itself is told once, at the binding.
    config = {"loud": True, "quiet": True}
    value = offering({"name": "calm", "config": {"say": "hello"}}, config=config)
    assert desk.refuse(value) == [
        ("scopes/0/bindings/0/config/quiet", "invalid_config")
    ]
    mended = {"name": "mended", "config": {"loud": False}}
    assert desk.refuse(offering(mended, config=config)) == [
        ("scopes/0/bindings/0/config/quiet", "invalid_config")
    ]


@pytest.mark.req("B-GRANT-04")
def test_a_grant_may_give_what_the_binding_itself_requires(desk: Desk) -> None:
    # The config of the binding alone has to be whole as well.
    grant = {"name": "more", "config": {"argv": ["true"], "cwd": "/"}}
    value = offering(grant, executor="command")
    assert ("scopes/0/bindings/0/config/argv", "invalid_config") in desk.refuse(value)


@pytest.mark.req("B-GRANT-11")
def test_a_grant_replaces_fields_at_the_top_only(desk: Desk) -> None:
    config = {"say": "hello", "images": True, "env": {"ONE": "1", "TWO": "2"}}
    value = offering(
        {"name": "more", "label": "More", "config": {"env": {"TWO": "3"}}},
        {"name": "none"},
        config=config,
    )
    desk.pass_(value)
    made = desk.scope_of(value, "home").binding("coder")
    first, second = made.grants
    assert (first.label, second.label) == ("More", "")
    assert (first.config.say, first.config.images) == ("hello", True)
    assert first.config.env == {"TWO": "3"}
    assert made.config.env == {"ONE": "1", "TWO": "2"}
    assert second.config is None
    # The rest of the binding's config comes in: it makes this grant a bad one.
    value = offering({"name": "more", "config": {"loud": True}}, config={"quiet": True})
    assert desk.fail(value) == [(f"{GRANTS}/0/config/quiet", "invalid_config")]


@pytest.mark.req("B-GRANT-10")
def test_the_check_of_a_route_sees_the_grants(desk: Desk) -> None:
    value = offering({"name": "shell"}, {"name": "more"})
    value["scopes"][0]["routes"] = [route(), route("other")]
    desk.pass_(value)
    seen = [item for item in desk.notes if item["what"] == "grants"]
    assert [item["names"] for item in seen] == [["shell", "more"]] * 2
    value["scopes"][0]["routes"] = [route(config={"allowed": ["shell"]})]
    assert desk.fail(value) == [("scopes/0/routes/0/binding", "invalid_config")]
    value["scopes"][0]["routes"][0]["config"]["allowed"].append("more")
    desk.accept(value)
