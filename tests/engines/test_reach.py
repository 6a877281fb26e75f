"""What chat text can reach through a real engine, and what it cannot."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conduck_service.executors.confinement.policy import what_is_in_force
from tests.engines.installed import EACH
from tests.engines.serving import Bench, serving
from tests.presets.recording import BY_NAME
from tests.support.lane import new_outbound
from tests.support.model_reply import Reply, ToolCall
from tests.support.service import user

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
req = pytest.mark.req

CANARY = "canary-27182818284"

FOLLOWING = ("opencode", "qwen")
"""Engines whose tools follow links, to their own login too; their notes say so."""


@pytest.fixture(params=EACH)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextmanager
def with_canaries(
    engine: str, root: Path, **config: Any
) -> Iterator[tuple[Bench, list[Path]]]:
    """Run the engine with files about that are none of its business."""
    person = root / "person"
    (person / ".ssh").mkdir(parents=True)
    neighbour = root / "neighbour"
    neighbour.mkdir()
    places = [person / ".ssh/id_ed25519", neighbour / "plan.txt"]
    for place in places:
        place.write_text(CANARY)
    with serving(engine, root, home=person, **config) as bench:
        secrets = root / "config/secrets.json"
        text = secrets.read_text("utf-8").replace("{", f'{{"canary": "{CANARY}", ', 1)
        secrets.write_text(text, "utf-8")
        (bench.service.state / "canary").write_text(CANARY)
        link = bench.service.folder / "link.txt"
        link.symlink_to(places[0])
        yield bench, [*places, secrets, bench.service.state / "canary", link]


def ask(bench: Bench, call: ToolCall) -> None:
    """Take a turn in which the model makes a call and then answers."""
    bench.model.play(Reply("I look.", calls=(call,)), Reply("I looked."))
    response = bench.service.turn(user("Look."))
    assert response.status_code in (200, 502), response.text
    assert len(bench.asked) > 1, "the engine did not come back with a result"


def skip_without_confinement(engine: str) -> None:
    found = what_is_in_force("auto")
    if BY_NAME[engine].own_sandbox is None and found.startswith("none"):
        pytest.skip(found)


@req("C-SEC-04", "C-SEC-07", "F-ROOT-14")
def test_tools_of_the_engine_reach_nothing_outside(engine: str, tmp_path: Path) -> None:
    skip_without_confinement(engine)
    with with_canaries(engine, tmp_path) as (bench, places):
        if not bench.has_tool("read"):
            pytest.skip("the engine has no tools")
        for place in places:
            ask(bench, bench.call("read", path=str(place)))
            assert CANARY.encode() not in bench.sent(), place
            if bench.has_tool("shell"):
                ask(bench, bench.call("shell", command=f"cat {place}"))
                assert CANARY.encode() not in bench.sent(), place
        for place in (tmp_path / "person/.bashrc", tmp_path / "neighbour/new.txt"):
            ask(bench, bench.call("write", path=str(place), content="seven"))
            assert not place.exists()


@req("C-SEC-04", "C-SEC-07")
@pytest.mark.parametrize("confine", ["auto", "off"])
def test_tools_of_the_engine_do_not_reach_its_login_or_key(
    engine: str, confine: str, tmp_path: Path
) -> None:
    preset = BY_NAME[engine]
    if not preset.holds_itself and confine == "off":
        pytest.skip("the engine has no bounds of its own")
    person = tmp_path / "person"
    logins = [person / part.path for part in preset.logins]
    for login in logins:
        login.parent.mkdir(parents=True, exist_ok=True)
        login.write_text(f'{{"canary": "{CANARY}"}}\n')
        login.chmod(0o600)
    with serving(engine, tmp_path, home=person, confine=confine) as bench:
        if not bench.has_tool("read"):
            pytest.skip("the engine has no tools")
        home = bench.service.folder / "home"
        home.symlink_to(person)
        ways = [home / part.path for part in preset.logins]
        if engine in FOLLOWING:
            ways.clear()
        for place in (*logins, *ways, Path("/proc/self/environ")):
            ask(bench, bench.call("read", path=str(place)))
            assert CANARY.encode() not in bench.sent(), place
            assert b"made-up" not in bench.sent(), place
        if bench.has_tool("write"):
            for place in (*logins, *ways):
                ask(bench, bench.call("write", path=str(place), content="seven"))
                assert CANARY in place.read_text(), place


@req("C-SEC-07")
def test_a_policy_of_reading_writes_nothing(engine: str, tmp_path: Path) -> None:
    if "read" not in BY_NAME[engine].policies:
        pytest.skip("the engine has no such policy")
    with serving(engine, tmp_path, policy="read") as bench:
        (bench.service.folder / "notes.txt").write_text(CANARY)
        target = bench.service.folder / "new.txt"
        ask(bench, bench.call("write", path=str(target), content="seven"))
        assert not target.exists()
        notes = str(bench.service.folder / "notes.txt")
        ask(bench, bench.call("read", path=notes))
        assert CANARY.encode() in bench.sent()


@req("C-SEC-04")
def test_references_in_the_text_reach_nothing_outside(
    engine: str, tmp_path: Path
) -> None:
    skip_without_confinement(engine)
    with with_canaries(engine, tmp_path) as (bench, places):
        for place in places:
            shown = os.path.relpath(place, bench.service.folder)
            text = f"@{place} @{shown} {{{{{place}}}}} !cat {place}"
            bench.model.play(Reply("pong"))
            assert bench.service.turn(user(text)).status_code in (200, 502)
            assert CANARY.encode() not in bench.sent(), place


def test_without_confinement_the_same_test_sees_the_canary(
    engine: str, tmp_path: Path
) -> None:
    """The control: the canary is where an engine that is not held finds it."""
    with with_canaries(engine, tmp_path, confine="off") as (bench, places):
        if not bench.has_tool("read"):
            pytest.skip("the engine has no tools")
        ask(bench, bench.call("read", path=str(places[0])))
        if BY_NAME[engine].holds_itself:
            assert CANARY.encode() not in bench.sent()
            # The same call with the same file within its reach, and it is seen.
            within = bench.service.folder / "canary.txt"
            within.write_bytes(places[0].read_bytes())
            ask(bench, bench.call("read", path=str(within)))
        assert CANARY.encode() in bench.sent()


@req("C-RESP-11")
def test_a_bare_tool_turn_is_asked_for_words(engine: str, tmp_path: Path) -> None:
    if not BY_NAME[engine].again:
        pytest.skip("the preset cannot ask again")
    with serving(engine, tmp_path) as bench:
        path = str(bench.service.folder / "seven.txt")
        call = bench.call("write", path=path, content="seven")
        bench.model.play(Reply("I write.", calls=(call,)), Reply(""), Reply("Done."))
        assert bench.service.chat("Write seven.") == "Done."
        assert Path(path).read_text() == "seven"
        assert b"Write seven." in bench.asked[-1].body


def test_a_second_turn_knows_nothing_of_the_first(engine: str, tmp_path: Path) -> None:
    with serving(engine, tmp_path) as bench:
        bench.service.chat(f"Keep in mind: {CANARY} {new_outbound()}")
        bench.model.play(Reply("pong"))
        bench.service.chat("What was it?")
        assert CANARY.encode() not in bench.sent()
        left = [
            path
            for folder in (
                tmp_path / "person",
                bench.service.state,
                bench.service.folder,
            )
            for path in folder.rglob("*")
            if path.is_file() and CANARY.encode() in path.read_bytes()
        ]
        assert left == []
