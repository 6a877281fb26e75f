"""GET /v1/models: a list that is there at once, whatever else goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.answers import assert_error, assert_json
from tests.support.checking import CHAT, check_config
from tests.support.documents import document
from tests.support.service import (
    TOKEN,
    Service,
    Stub,
    binding,
    running,
    stub,
    user,
    wait_until,
)

req = pytest.mark.req

IDS = ("zeta", "alpha", "m/2")


@dataclass(frozen=True, slots=True)
class Desk:
    """A service with three models, each with an engine of its own."""

    service: Service
    engines: dict[str, Stub]

    def runs(self) -> dict[str, int]:
        """Return how often each engine was run."""
        return {name: len(engine.records) for name, engine in self.engines.items()}


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    root = tmp_path_factory.mktemp("models")
    engines = {
        model: stub(root, ["print", f"I am {model}"], name=f"stub{index}")
        for index, model in enumerate(IDS)
    }
    bindings = {
        model: binding(engine, name=f"engine{index}")
        for index, (model, engine) in enumerate(engines.items())
    }
    with running(root, bindings=bindings, chat={"default_model": "alpha"}) as service:
        yield Desk(service, engines)


@pytest.fixture
def desk(running_desk: Desk) -> Desk:
    for engine in running_desk.engines.values():
        engine.clear()
    return running_desk


@req("C-MODELS-01")
@req("C-MODELS-02")
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": f"Bearer {TOKEN[:-1]}x"},
        {"Authorization": f"Bearer x{TOKEN[1:]}"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": f"Bearer {TOKEN}x"},
    ],
)
def test_without_the_token_there_is_no_list(
    desk: Desk, headers: dict[str, str]
) -> None:
    assert_error(desk.service.models(headers=headers), 401)


@req("C-MODELS-03", "C-MODELS-04", "C-MODELS-05")
def test_the_list_is_the_configured_one(desk: Desk) -> None:
    response = desk.service.models()
    assert response.status_code == 200  # C-MODELS-03
    body = assert_json(response)  # C-MODELS-03: its type is application/json
    assert isinstance(body["data"], list)  # C-MODELS-04
    entries = [{"id": model, "object": "model"} for model in IDS]
    assert body == {"object": "list", "data": entries}  # C-MODELS-05


@req("C-MODELS-06")
def test_every_listed_id_runs_its_own_engine(desk: Desk) -> None:
    for entry in desk.service.models().json()["data"]:
        desk_runs = desk.runs()
        answer = desk.service.chat("hello", model=entry["id"])
        assert answer == f"I am {entry['id']}"
        assert desk.runs() == desk_runs | {entry["id"]: 1}


def test_an_id_without_a_route_is_refused(tmp_path: Path) -> None:
    # The half of C-MODELS-07 that there is without an apply.
    engine = {"agent": binding(stub(tmp_path))}
    models = [{"id": "agent"}, {"id": "ghost"}]
    verdict = check_config(tmp_path, document(engine, 8480, chat={"models": models}))
    assert verdict.status == 1
    assert verdict.errors == {f"{CHAT}/models/1": "invalid_config"}


@req("C-MODELS-12")
@req("C-MODELS-13")
def test_the_list_is_there_at_once_while_slots_and_queue_are_full(
    tmp_path: Path,
) -> None:
    go = tmp_path / "go"
    engine = stub(tmp_path, ["wait_for", str(go)], ["print", "done"])
    chat = {"queue_depth": 2, "start_within_seconds": 60}
    config: dict[str, Any] = {"serialize": False, "settings": {"concurrency": 2}}
    with (
        running(tmp_path, engine, chat=chat, **config) as service,
        ThreadPoolExecutor(6) as pool,
    ):
        try:
            turns = [pool.submit(service.turn, user("hello")) for _ in range(6)]
            # Two run and two wait as soon as the other two are refused.
            wait_until(lambda: sum(turn.done() for turn in turns) == 2, 30)
            wait_until(lambda: len(engine.records) == 2, 30)
            for _ in range(5):
                began = time.monotonic()
                assert service.models().status_code == 200
                assert time.monotonic() - began < 1
            assert len(engine.records) == 2
        finally:
            go.touch()
        statuses = [turn.result(30).status_code for turn in turns]
        assert sorted(statuses) == [200, 200, 200, 200, 429, 429]


@req("C-MODELS-14")
def test_the_list_starts_nothing(desk: Desk) -> None:
    for _ in range(3):
        assert desk.service.models().status_code == 200
    assert desk.runs() == dict.fromkeys(IDS, 0)


@req("C-MODELS-14")
def test_the_list_needs_no_engine_that_could_be_started(tmp_path: Path) -> None:
    bindings = {"agent": binding(Stub((str(tmp_path / "missing"),), tmp_path))}
    with running(tmp_path, bindings=bindings) as service:
        assert service.models().status_code == 200
        assert_error(service.turn(user("hello")), 502, "upstream_failure")


@req("C-MODELS-15")
@pytest.mark.parametrize(
    "accept",
    ["text/event-stream", "text/html", "image/png", "application/xml;q=1", "", "junk"],
)
def test_the_list_is_json_whatever_is_asked_for(desk: Desk, accept: str) -> None:
    response = desk.service.models(headers=desk.service.headers | {"Accept": accept})
    assert response.status_code == 200
    assert [entry["id"] for entry in assert_json(response)["data"]] == list(IDS)


@req("C-MODELS-16")
def test_models_stand_in_order_and_the_default_serves_the_rest(desk: Desk) -> None:
    listed = [entry["id"] for entry in desk.service.models().json()["data"]]
    assert listed == list(IDS)
    assert desk.service.chat("hello") == "I am alpha"
    assert desk.runs() == {"zeta": 0, "alpha": 1, "m/2": 0}


@req("C-MODELS-16")
def test_without_default_model_the_first_entry_is_the_default(tmp_path: Path) -> None:
    bindings = {
        name: binding(stub(tmp_path, ["print", name], name=name), name=name)
        for name in ("second", "first")
    }
    with running(tmp_path, bindings=bindings) as service:
        assert service.chat("hello") == "second"
        listed = requests.get(
            f"{service.url}/v1/models", headers=service.headers, timeout=30
        ).json()["data"]
        assert [entry["id"] for entry in listed] == ["second", "first"]


@req("C-MODELS-17")
def test_at_least_one_model_is_configured(tmp_path: Path) -> None:
    engine = {"agent": binding(stub(tmp_path))}
    verdict = check_config(tmp_path, document(engine, 8480, chat={"models": []}))
    assert verdict.status == 1
    assert verdict.errors == {f"{CHAT}/models": "invalid_config"}
