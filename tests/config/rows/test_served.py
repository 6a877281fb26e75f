"""What the config says about scopes, kept by the real daemon and real engines."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.documents import document
from tests.support.sample_package import install, notes, sample_environment
from tests.support.service import (
    TOKEN,
    Service,
    Stub,
    binding,
    free_port,
    prepared,
    running,
    started,
    stub,
    user,
    wait_until,
)

WAITING: dict[str, Any] = {
    "start_within_seconds": 60,
    "queue_depth": 4,
    "deadline_seconds": 60,
}
"""Terms of a chat entry whose turns wait for their slot."""


def gated(root: Path, name: str = "stub") -> Stub:
    """Return an engine that answers once the file ``gate`` is there."""
    steps = (["wait_for", str(root / "gate")], ["print", "done"])
    return stub(root, *steps, name=name)


def open_gate(root: Path) -> None:
    (root / "gate").touch()


def child(name: str, engine: Stub, port: int, **chat: Any) -> dict[str, Any]:
    """Return a scope ``name`` in ``home`` that has an engine and a listener."""
    one = document(
        {"agent": binding(engine, serialize=False)},
        port,
        chat={"namespace": f"{name}_chat", "scope": name, **WAITING, **chat},
    )
    (made,) = one["scopes"]
    return dict(made) | {"id": name, "name": name.title(), "parent": "home"}


@dataclass(frozen=True, slots=True)
class Household:
    """A daemon with the scopes ``left`` and ``right`` in ``home``, and ``free``.

    Attributes:
        service: A client of each scope but ``home``.
        engine: The engine of each; that of ``free`` answers at once.
    """

    service: dict[str, Service]
    engine: dict[str, Stub]

    def await_work(self, count: int) -> None:
        """Wait until this much Work waits or runs, by what the log says."""
        left = self.service["left"]
        wait_until(lambda: left.log.count(" work_created ") >= count)

    def pass_by(self) -> None:
        """Have a turn of a scope without limits run from its start to its end."""
        assert self.service["free"].chat("Reply with exactly: free") == "free"

    def overlap(self) -> bool:
        """Say whether turns of both scopes were alive at one moment."""
        runs = [one for name in NAMES for one in self.engine[name].records]
        runs.sort(key=lambda record: record["started"])
        return any(
            first["ended"] > second["started"] for first, second in pairwise(runs)
        )


NAMES = ("left", "right")


@contextmanager
def household(
    root: Path,
    *,
    home: dict[str, Any],
    settings: dict[str, Any] | None = None,
    **chat: Any,
) -> Iterator[Household]:
    """Run a scope ``home`` with two in it, and one beside it.

    ``chat`` are more keys of the config of their listeners.
    """
    ports = {name: free_port() for name in (*NAMES, "free")}
    engines = {name: gated(root, name) for name in NAMES}
    engines["free"] = stub(root, ["obey"], name="free")
    above = {"id": "home", "name": "Home", "extensions": [], **home}
    others = [child(name, engines[name], ports[name], **chat) for name in ports]
    del others[-1]["parent"]
    config = {"version": 1, "settings": settings or {}, "scopes": [above, *others]}
    service = prepared(root, config, options=("--log-level", "debug"))
    service.port = ports["left"]
    with started(service):
        clients = {name: replace(service, port=port) for name, port in ports.items()}
        yield Household(clients, engines)


def hold(pool: ThreadPoolExecutor, service: Service) -> Future[requests.Response]:
    """Send a turn that lasts until the gate is open."""
    return pool.submit(service.turn, user("wait"))


def asked(engine: Stub) -> int:
    """Return how many runs of an engine there were."""
    return len(list(engine.folder.glob("*.json")))


@pytest.mark.req("B-SCOPE-07")
def test_scopes_share_the_turns_of_the_one_above(tmp_path: Path) -> None:
    home = {"limits": {"concurrency": 1}}
    with (
        household(tmp_path, home=home) as house,
        ThreadPoolExecutor(2) as pool,
    ):
        turns = [hold(pool, house.service["left"])]
        wait_until(lambda: asked(house.engine["left"]))
        turns.append(hold(pool, house.service["right"]))
        house.await_work(2)
        house.pass_by()
        assert asked(house.engine["right"]) == 0
        open_gate(tmp_path)
        assert [turn.result().status_code for turn in turns] == [200, 200]
        assert not house.overlap()


@pytest.mark.req("B-SCOPE-07")
def test_a_scope_without_a_limit_above_runs_beside_its_sibling(tmp_path: Path) -> None:
    with household(tmp_path, home={}) as house, ThreadPoolExecutor(2) as pool:
        turns = [hold(pool, house.service[name]) for name in NAMES]
        wait_until(lambda: all(asked(house.engine[name]) for name in NAMES))
        open_gate(tmp_path)
        assert [turn.result().status_code for turn in turns] == [200, 200]
        assert house.overlap()


@pytest.mark.req("B-SCOPE-07", "B-SET-04")
def test_the_setting_holds_for_all_scopes_together(tmp_path: Path) -> None:
    settings = {"concurrency": 1}
    with (
        household(
            tmp_path, home={}, settings=settings, start_within_seconds=1
        ) as house,
        ThreadPoolExecutor(1) as pool,
    ):
        first = hold(pool, house.service["left"])
        wait_until(lambda: asked(house.engine["left"]))
        for name in ("right", "left", "free"):
            response = house.service[name].turn(user("hello"))
            assert response.status_code == 503  # it could not start in time
        assert asked(house.engine["right"]) == asked(house.engine["free"]) == 0
        open_gate(tmp_path)
        assert first.result().status_code == 200
        house.pass_by()


@pytest.mark.req("B-SCOPE-08")
def test_scopes_share_the_ready_work_of_the_one_above(tmp_path: Path) -> None:
    home = {"limits": {"ready_limit": 1}}
    with (
        household(tmp_path, home=home) as house,
        ThreadPoolExecutor(1) as pool,
    ):
        first = hold(pool, house.service["left"])
        wait_until(lambda: asked(house.engine["left"]))
        second = house.service["right"].turn(user("hello"))
        assert second.status_code == 429
        assert second.json()["error"]["code"] == "overloaded"
        assert asked(house.engine["right"]) == 0
        house.pass_by()  # what is not in home has room
        open_gate(tmp_path)
        assert first.result().status_code == 200
        assert house.service["right"].chat("now") == "done"


@pytest.mark.req("B-SET-01")
def test_four_turns_run_at_once_without_a_word(tmp_path: Path) -> None:
    engine = gated(tmp_path)
    chat = WAITING | {"queue_depth": 8}
    with (
        running(tmp_path, engine=engine, chat=chat, serialize=False) as service,
        ThreadPoolExecutor(6) as pool,
    ):
        turns = [hold(pool, service) for _ in range(6)]
        wait_until(lambda: asked(engine) == 4)
        open_gate(tmp_path)
        assert [turn.result().status_code for turn in turns] == [200] * 6
    runs = sorted(engine.records, key=lambda record: record["started"])
    first_end = min(record["ended"] for record in runs)
    first_four = [record["started"] < first_end for record in runs]
    assert first_four == [True] * 4 + [False] * 2


@pytest.mark.req("B-SET-07")
def test_work_beyond_the_ready_limit_is_refused(tmp_path: Path) -> None:
    engine = gated(tmp_path)
    settings = {"ready_limit": 1}
    with (
        running(tmp_path, engine=engine, chat=WAITING, settings=settings) as service,
        ThreadPoolExecutor(1) as pool,
    ):
        first = hold(pool, service)
        wait_until(lambda: asked(engine))
        response = service.turn(user("hello"))
        assert response.status_code == 429
        assert response.json()["error"]["code"] == "overloaded"
        open_gate(tmp_path)
        assert first.result().status_code == 200
        assert asked(engine) == 1


@pytest.mark.req("B-SCOPE-04", "B-TURN-14")
def test_a_scope_below_a_disabled_one_is_busy(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["obey"])
    top = {"id": "top", "name": "Top", "enabled": False, "extensions": []}
    home = {"id": "home", "name": "Home", "parent": "top", "extensions": []}
    port, other = free_port(), free_port()
    below = child("left", engine, port)
    beside = child("right", engine, other)
    del beside["parent"]
    config = {"version": 1, "scopes": [top, home, below, beside]}
    with started(prepared(tmp_path, config)) as service:
        nobody = {"Authorization": "Bearer wrong"}
        assert service.models(headers=nobody).status_code == 401
        listed = service.models()  # B-TURN-14
        assert listed.status_code == 503
        assert listed.json()["error"]["code"] == "overloaded"
        response = service.turn(user("hello"))
        assert response.status_code == 503
        assert response.json()["error"]["code"] == "overloaded"
        assert asked(engine) == 0
        assert replace(service, port=other).chat("Reply with exactly: on") == "on"


@pytest.mark.req("B-SET-10")
def test_the_timeout_ends_an_execution(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["sleep", 600])
    settings = {"timeout_seconds": 1}
    with running(tmp_path, engine=engine, settings=settings) as service:
        response = service.turn(user("hello"))
        assert response.status_code == 504
        assert not _is_alive(engine.only["pid"])


# The row speaks of every executor; the others bring their half with them.
@pytest.mark.req("B-SET-23")
def test_the_timeout_of_a_binding_replaces_the_setting(tmp_path: Path) -> None:
    slow = stub(tmp_path, ["sleep", 600], name="slow")
    quick = stub(tmp_path, ["sleep", 2], ["print", "in time"], name="quick")
    bindings = {
        "slow": binding(slow, name="slow", timeout_seconds=1),
        "quick": binding(quick, name="quick", timeout_seconds=50),
    }
    settings = {"timeout_seconds": 3600}
    with running(tmp_path, bindings=bindings, settings=settings) as service:
        assert service.turn(user("hello"), model="slow").status_code == 504
        assert not _is_alive(slow.only["pid"])
    second = tmp_path / "second"
    second.mkdir()
    settings = {"timeout_seconds": 1}
    with running(second, bindings=bindings, settings=settings) as service:
        assert service.chat("hello", model="quick") == "in time"


def _is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


ANYTHING = """
from conduck_service.extension.handler import HandlerType
from conduck_service.extension.registry import Package
from conduck_service.extension.spec import Spec

PACKAGE = Package(
    name="anything",
    handlers=(
        HandlerType(name="anything", spec=Spec(dict, ()), matches=lambda *_: True),
    ),
)
"""
"""A package with a handler that takes every event."""


@pytest.mark.req("B-ROUTE-09")
@pytest.mark.parametrize("order", [("agent", "other"), ("other", "agent")])
def test_the_first_route_that_takes_an_event_has_it(
    order: tuple[str, str], tmp_path: Path
) -> None:
    environment = sample_environment(tmp_path) | install(tmp_path, "anything", ANYTHING)
    engines = {name: stub(tmp_path, ["print", name], name=name) for name in order}
    config = document(
        {"agent": binding(engines["agent"], name="agent")},
        free_port(),
        settings={"extensions": {"anything": {}}},
    )
    (home,) = config["scopes"]
    home["bindings"].append(binding(engines["other"], name="other"))
    other = {
        "name": "other",
        "handler": "anything",
        "binding": "other",
        "active_policy": "queue",
    }
    routes = {"agent": home["routes"][0], "other": other}
    home["routes"] = [routes[name] for name in order]
    with started(prepared(tmp_path, config, environment=environment)) as service:
        assert service.chat("hello") == order[0]
        assert asked(engines[order[1]]) == 0


@pytest.mark.req("B-EXT-09")
def test_an_inherited_entry_runs_in_its_own_scope_only(tmp_path: Path) -> None:
    environment = sample_environment(tmp_path)
    engine = stub(tmp_path, ["obey"])
    config = document(
        {"agent": binding(engine)},
        free_port(),
        settings={"extensions": {"sample": {}}},
    )
    door = {"namespace": "door", "scope": "home", "secret": "chat_token"}
    config["scopes"][0]["extensions"].append(
        {
            "name": "door",
            "type": "bell",
            "secret_names": ["chat_token"],
            "config": door,
        }
    )
    for name in ("left", "right"):
        below = {"id": name, "name": name, "parent": "home"}
        config["scopes"].append(below | {"extensions": []})
    with started(prepared(tmp_path, config, environment=environment)) as service:
        assert service.chat("Reply with exactly: one") == "one"
        bells = [item for item in notes(tmp_path) if item["what"] == "bell"]
        assert bells == [{"what": "bell", "entry": "door", "secret": TOKEN}]
