"""What a scope inherits: nearest whole entries in stable slots (B-INHERIT)."""

from __future__ import annotations

import pytest

from tests.config.composed.desk import (
    Desk,
    bell,
    binding,
    document,
    gone,
    names,
    route,
    scope,
)


@pytest.mark.req("B-INHERIT-01")
def test_the_nearest_binding_of_a_name_is_in_force(desk: Desk) -> None:
    bindings = [binding("coder", "able"), binding("other", "plain")]
    able = document(
        scope("home", bindings=bindings),
        scope("work", "home", bindings=[binding("coder", "picky")]),
        scope("desk", "work", bindings=[binding("coder", "hooked")]),
    )
    made = {item.id: item for item in desk.accept(able).scopes}
    executors = {
        name: [(item.name, item.executor) for item in found.bindings]
        for name, found in made.items()
    }
    assert executors == {
        "home": [("coder", "able"), ("other", "plain")],
        "work": [("coder", "picky"), ("other", "plain")],
        "desk": [("coder", "hooked"), ("other", "plain")],
    }
    # The inherited route meets the child's own executor, which cannot inject.
    home = scope("home", bindings=bindings, routes=[route(active_policy="inject")])
    plain = document(home, scope("work", "home", bindings=[binding("coder", "plain")]))
    assert desk.fail(plain) == [
        ("scopes/1/bindings/0/executor", "unsupported_capability")
    ]


@pytest.mark.req("B-INHERIT-02", "B-INHERIT-03", "B-INHERIT-04")
def test_routes_keep_their_slots_from_the_root_to_the_leaf(desk: Desk) -> None:
    value = document(
        scope(
            "home",
            bindings=[binding("coder"), binding("writer")],
            routes=[route("a"), route("b")],
        ),
        scope("work", "home", routes=[route("c"), route("a", "writer")]),
        scope("desk", "work", routes=[route("d"), route("c", "writer")]),
    )
    desk.pass_(value)
    asked = [
        (item["route"], item["binding"])
        for item in desk.notes
        if item["what"] == "grants"
    ]
    assert asked[:2] == [("a", "coder"), ("b", "coder")]
    work = [("a", "writer"), ("b", "coder"), ("c", "coder")]
    assert asked[2:5] == work  # B-INHERIT-02, B-INHERIT-03
    assert asked[5:] == [*work[:2], ("c", "writer"), ("d", "coder")]  # B-INHERIT-04
    routes = {item.id: names(item.routes) for item in desk.accept(value).scopes}
    assert routes == {"home": list("ab"), "work": list("abc"), "desk": list("abcd")}


@pytest.mark.req("B-INHERIT-03")
def test_a_route_is_replaced_as_a_whole(desk: Desk) -> None:
    above = route("a", unsupported_fallback="drop", config={"allowed": ["x"]})
    value = document(
        scope("home", bindings=[binding()], routes=[above, route("b")]),
        scope("work", "home", routes=[route("a")]),
    )
    first, second = desk.scope_of(value, "work").routes
    assert (first.name, second.name) == ("a", "b")
    assert first.unsupported_fallback is None
    assert first.config.allowed is None


@pytest.mark.req("B-INHERIT-05", "B-INHERIT-07")
def test_an_extension_entry_is_replaced_as_a_whole(desk: Desk) -> None:
    refs = {"key": "file:key", "other": "file:other"}
    above = bell("door", "home", secret_names=["key", "other"])
    value = document(
        scope("home", secret_refs=refs, extensions=[above]),
        scope("work", "home", extensions=[bell("door", "work")]),
    )
    (entry,) = desk.scope_of(value, "work").extensions
    assert entry.secret_names == ("key",)
    assert entry.config.namespace == "work_door"
    # Nothing is filled up from above: neither the secret names nor the config.
    bare = {"name": "door", "type": "bell", "config": {"scope": "work"}}
    value["scopes"][1]["extensions"] = [bare]
    assert desk.fail(value) == [
        ("scopes/1/extensions/0/config/namespace", "invalid_config"),
        ("scopes/1/extensions/0/config/secret", "invalid_config"),
    ]
    bare["config"] |= {"namespace": "work_door", "secret": "other"}  # type: ignore[operator]
    assert desk.fail(value) == [
        ("scopes/1/extensions/0/config/secret", "unknown_reference")
    ]


@pytest.mark.req("B-INHERIT-07")
def test_nothing_in_a_config_is_merged(desk: Desk) -> None:
    above = binding(
        config={"say": "hello", "env": {"ONE": "1", "TWO": "2"}},
        requires={"inject": True},
        operations=["work.list"],
        secret_names=["key"],
        timeout_seconds=5,
        pass_env=["TZ"],
    )
    value = document(
        scope(
            "home",
            bindings=[above],
            secret_refs={"key": "file:key"},
            authorization={"operations": ["@work"]},
        ),
        scope("work", "home", bindings=[binding(config={"env": {"TWO": "3"}})]),
    )
    own = desk.scope_of(value, "work").binding("coder")
    assert own.config.env == {"TWO": "3"}
    assert own.config.say == ""
    assert own.requires == own.operations == frozenset()
    assert own.secret_names == ()
    assert (own.timeout_seconds, own.pass_env) == (None, ())
    # A key that only the parent's nested object has is missing in the child's.
    value["scopes"][0]["bindings"][0]["resource"] = {
        "provider": "shelf",
        "config": {"path": "/shelf"},
    }
    value["scopes"][1]["bindings"][0]["resource"] = {"provider": "shelf"}
    assert desk.fail(value) == [
        ("scopes/1/bindings/0/resource/config/path", "invalid_config")
    ]


@pytest.mark.req("B-INHERIT-06", "B-INHERIT-07")
def test_secret_references_are_replaced_by_name(desk: Desk) -> None:
    value = document(
        scope("home", secret_refs={"key": "file:a", "other": "file:b"}),
        scope("work", "home", secret_refs={"key": "env:C"}),
        scope("desk", "work", secret_refs={"more": "file:d"}),
    )
    desk.pass_(value)
    refs = {item.id: dict(item.secret_refs) for item in desk.accept(value).scopes}
    work = {"key": "env:C", "other": "file:b"}
    assert refs["home"] == {"key": "file:a", "other": "file:b"}
    assert refs["work"] == work
    assert refs["desk"] == {**work, "more": "file:d"}


NARROWED = {
    "operations": (
        binding(operations=["work.list"]),
        {"operations": ["work.create"]},
    ),
    "operations of a grant": (
        binding(grants=[{"name": "more", "operations": ["work.list"]}]),
        {"operations": []},
    ),
    "connections": (binding(connection="account"), {"connections": []}),
}


@pytest.mark.req("B-INHERIT-08")
@pytest.mark.parametrize("case", NARROWED)
def test_an_inherited_binding_is_checked_where_it_is_inherited(
    case: str, desk: Desk
) -> None:
    entry, narrower = NARROWED[case]
    key = case.partition(" ")[0]
    wide = {"operations": ["@work"], "connections": ["account"]}
    value = document(
        scope("home", bindings=[entry], authorization=wide),
        scope("calm", "home"),
        scope("work", "home", authorization=narrower),
        scope("desk", "work"),
        connections=[{"id": "account", "type": "account"}],
    )
    narrowed = (f"scopes/2/authorization/{key}", "not_authorized")
    said = desk.fail(value) if case == "connections" else desk.refuse(value)
    assert said == [narrowed]  # once, and not in the scope below again
    value["scopes"][2]["bindings"] = [gone("coder")]
    desk.accept(value)
    value["scopes"][2]["bindings"] = [binding()]
    desk.accept(value)


@pytest.mark.req("B-INHERIT-08")
def test_owners_check_what_is_inherited_too(desk: Desk) -> None:
    offers = binding(grants=[{"name": "more"}])
    value = document(
        scope("home", bindings=[binding()], routes=[route(config={"allowed": []})]),
        scope("work", "home", bindings=[offers]),
        scope("desk", "work"),
    )
    assert desk.fail(value) == [("scopes/1", "invalid_config")]
    _, rows = desk.run(value)
    assert "inherited entry 'all'" in rows[0]["message"]


@pytest.mark.req("B-INHERIT-09")
def test_a_scope_has_what_is_in_force_and_no_tombstones(desk: Desk) -> None:
    value = document(
        scope(
            "home",
            bindings=[binding("coder"), binding("writer")],
            routes=[route("a"), route("b", "writer")],
            secret_refs={"key": "file:key", "other": "file:other"},
            extensions=[bell("door", "home")],
        ),
        scope(
            "work",
            "home",
            bindings=[gone("writer")],
            routes=[gone("b")],
            secret_refs={"other": False},
        ),
    )
    made = desk.scope_of(value, "work")
    assert names(made.bindings) == ["coder"]
    assert names(made.routes) == ["a"]
    assert names(made.extensions) == ["door"]
    assert made.own_extensions == frozenset()
    assert made.secret_refs == {"key": "file:key"}
    assert "file:key" not in repr(made)
