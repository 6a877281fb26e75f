"""How faults are told by the real program (B-DIAG)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.config.composed.desk import (
    CANARY,
    Desk,
    bell,
    binding,
    document,
    fragment,
    gone,
    route,
    scope,
)
from tests.secrets.keyrings import fake_keyring
from tests.support.commands import run, written
from tests.support.documents import document as chat_document
from tests.support.service import Stub, free_port, prepared, started
from tests.support.service import binding as command

FAULTS: dict[str, list[Any]] = {
    "shape": [
        [],
        {},
        document(),
        document(scope("home", zzz=CANARY)) | {"version": 2},
        document(scope("home", zzz=CANARY), scope("home"), scope(f"A{CANARY}")),
        document(scope("home", enabled=CANARY, limits=[CANARY], parent=None)),
        document(scope("home"), settings={"concurrency": CANARY, "zzz": CANARY}),
        document(scope("home"), includes=[{"path": "", "parent": CANARY}]),
    ],
    "graph": [
        document(scope("a", "b"), scope("b", "a"), scope("c", CANARY)),
        document(scope("a"), scope("b", "a", bindings=[gone(CANARY)])),
        document(scope("a", secret_refs={"key": False, "k": f"cmd:{CANARY}"})),
        document(scope("a", secret_refs={"key": CANARY, "other": f"nope:{CANARY}"})),
    ],
    "owners": [
        document(
            scope(
                "a",
                bindings=[
                    binding("a", CANARY),
                    binding("b", config={"say": [CANARY], "zzz": CANARY}),
                    binding("c", "refusing", resource={"provider": CANARY}),
                    binding("d", "picky", config={"loud": True, "quiet": True}),
                ],
                routes=[route("a", CANARY, handler=CANARY), route("b", "b", config=5)],
                extensions=[bell("a", "b", CANARY), bell("b", "a", type=CANARY)],
            ),
            connections=[
                {"id": "a", "type": CANARY},
                {
                    "id": "b",
                    "type": "account",
                    "secret_refs": {"slot": f"env:{CANARY}"},
                },
            ],
        ),
        document(scope("a", bindings=[binding("d", "picky", config={"loud": CANARY})])),
    ],
    "references": [
        document(
            scope(
                "a",
                bindings=[
                    binding(
                        "a",
                        connection=CANARY,
                        operations=[CANARY, f"@{CANARY}", "*"],
                        secret_names=[CANARY],
                        pass_env=[f"OS_{CANARY.upper()}", "OPEN_CONDUIT_X"],
                    ),
                ],
                authorization={"connections": [CANARY], "read_scopes": [CANARY]},
            )
        ),
        document(
            scope("a", limits={"concurrency": 1}),
            scope("b", "a", limits={"concurrency": 2}, authorization={"operations": 5}),
        ),
    ],
    "capabilities": [
        document(
            scope(
                "a",
                bindings=[
                    binding("a", "plain", requires={"park": True, "workspace": True}),
                    binding("b", "dialing"),
                ],
                routes=[
                    route("a", "a", active_policy="inject"),
                    route("b", "b", handler="needs_inject"),
                ],
            )
        ),
    ],
}
"""Documents with faults of each stage; every text in them may be the canary."""


@pytest.mark.req("B-DIAG-01")
@pytest.mark.parametrize("stage", FAULTS)
def test_every_diagnostic_names_its_remedy(stage: str, desk: Desk) -> None:
    for value in FAULTS[stage]:
        assert desk.refuse(value)  # looks at every remedy
    last = FAULTS[stage][-1]
    status, rows = desk.run(last)
    assert status == 1
    for row in rows:
        assert row["remedy"].strip(" .;")
        assert row["remedy"] != row["message"]


@pytest.mark.req("B-DIAG-01")
def test_a_fragment_has_remedies_too(desk: Desk) -> None:
    for data in (b"{", b"\xff", b"", fragment(scope("a", CANARY)), {"zzz": CANARY}):
        include = desk.include("a", data)
        assert desk.refuse(document(scope("home"), includes=[include]))


LISTS = {
    "extension": (
        {"extensions": [{"name": "a", "type": "nope"}]},
        "extensions/0/type",
        "bell, conduck_chat, conduck_files",
    ),
    "provider": (
        {"bindings": [binding(resource={"provider": "nope"})]},
        "bindings/0/resource/provider",
        "shelf",
    ),
}


@pytest.mark.req("B-DIAG-04", "B-DIAG-06")
@pytest.mark.parametrize("kind", LISTS)
def test_an_unregistered_type_lists_the_registered_ones(kind: str, desk: Desk) -> None:
    """B-DIAG-04: an extension's; B-DIAG-06: a resource provider."""
    more, place, known = LISTS[kind]
    status, rows = desk.run(document(scope("home", **more)))
    assert (status, len(rows)) == (1, 1)
    assert (rows[0]["path"], rows[0]["code"]) == (f"scopes/0/{place}", "unregistered")
    assert rows[0]["remedy"].endswith(f": {known}")


@pytest.mark.req("B-DIAG-04")
def test_an_unregistered_connection_type_lists_the_registered_ones(desk: Desk) -> None:
    value = document(scope("home"), connections=[{"id": "a", "type": "nope"}])
    status, rows = desk.run(value)
    assert (status, rows[0]["path"]) == (1, "connections/0/type")
    assert rows[0]["remedy"].endswith(": account, openai_http, other")


@pytest.mark.req("B-DIAG-09", "B-DIAG-11")
def test_the_fault_of_inject_is_told_word_by_word(desk: Desk) -> None:
    value = document(
        scope("home", bindings=[binding("job", "plain", requires={"inject": True})])
    )
    assert desk.fail(value)[0][0] == "scopes/0/bindings/0/requires/inject"  # B-DIAG-09
    file = written(desk.root, value)
    done = run("config", "check", str(file), environment=desk.environment)
    line = (
        "scopes/0/bindings/0/requires/inject: unsupported_capability: executor plain "
        "has no inject; select an inject executor or remove the requirement and set "
        "route unsupported_fallback=queue"
    )
    assert done.stderr == f"{file}: {line}\n"  # B-DIAG-11
    assert done.stdout == ""


@pytest.mark.req("B-DIAG-09")
def test_pointers_lead_to_the_fault(desk: Desk) -> None:
    for values in FAULTS.values():
        for value in values:
            for place, code in desk.refuse(value):
                where: Any = value
                steps = place.split("/") if place else []
                # What is missing is named where it should be.
                for step in steps[:-1] if code == "missing_field" else steps:
                    where = where[int(step) if isinstance(where, list) else step]


@pytest.mark.req("B-DIAG-16")
def test_what_a_keyring_says_is_not_told(desk: Desk) -> None:
    engine = command(Stub(("true",), desk.root))
    config = chat_document({"agent": engine}, free_port())
    refs = config["scopes"][0]["secret_refs"]
    refs["chat_token"] = "keyring:token"
    environment = fake_keyring(desk.root / "keyring", "broken")
    service = prepared(desk.root, config, environment=environment)
    file = desk.root / "config/config.json"
    done = run("config", "check", str(file), environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    with started(service):
        assert service.models().status_code == 401
    assert "keyring_unavailable" in service.log
    assert "canary" not in service.log
    assert "RuntimeError" not in service.log
