"""Which engine a request reaches, and what that engine is told of its model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.answers import answer_of, assert_error
from tests.support.service import (
    Service,
    Stub,
    assistant,
    binding,
    running,
    stub,
    user,
)

req = pytest.mark.req

GOOD = user("hello")
ENGINE_MODEL = "vendor/x-2"


@dataclass(frozen=True, slots=True)
class Desk:
    """A service with two advertised ids, each with an engine of its own."""

    service: Service
    desk: Stub
    lamp: Stub

    def runs(self) -> tuple[int, int]:
        """Return how often each engine was run."""
        return len(self.desk.records), len(self.lamp.records)


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    root = tmp_path_factory.mktemp("select")
    desk = stub(root, ["print", "from one"], name="one")
    lamp = stub(root, ["print", "from two"], name="two")
    option = ("--model", "{model}", "--quiet")
    bindings = {
        "desk": binding(desk, *option, name="engine_one", model=ENGINE_MODEL),
        "lamp": binding(lamp, *option, name="engine_two"),
    }
    with running(root, bindings=bindings) as service:
        yield Desk(service, desk, lamp)


@pytest.fixture
def both(running_desk: Desk) -> Desk:
    running_desk.desk.clear()
    running_desk.lamp.clear()
    return running_desk


def arguments(engine: Stub) -> list[str]:
    """Return what the one run was given behind the stub's own arguments."""
    given: list[str] = engine.only["argv"][3:]
    return given


@req("C-SELECT-01")
def test_a_request_without_model_runs_the_default(both: Desk) -> None:
    assert answer_of(both.service.turn(GOOD)) == "from one"
    assert both.runs() == (1, 0)


@req("C-SELECT-02")
def test_a_model_selects_its_own_engine_and_no_other(both: Desk) -> None:
    assert answer_of(both.service.turn(GOOD, model="lamp")) == "from two"
    assert both.runs() == (0, 1)
    assert answer_of(both.service.turn(GOOD, model="desk")) == "from one"
    assert both.runs() == (1, 1)


@req("C-SELECT-02")
def test_the_model_is_that_of_the_request_whatever_messages_say(both: Desk) -> None:
    history = [user("one") | {"model": "desk"}, assistant("two"), GOOD]
    assert answer_of(both.service.turn(*history, model="lamp")) == "from two"
    assert both.runs() == (0, 1)


@req("C-SELECT-03")
@req("C-SELECT-04")
@pytest.mark.parametrize(
    "model", ["nope", ENGINE_MODEL, "engine_one", "\ud800", "x" * 9999]
)
def test_an_unknown_model_is_400_and_never_404(both: Desk, model: str) -> None:
    response = both.service.turn(GOOD, model=model)
    message = assert_error(response, 400, "model_not_found")
    assert model not in message
    assert both.runs() == (0, 0)


@req("C-SELECT-09")
@pytest.mark.parametrize(
    "model", ["DESK", "Desk", "", " ", "desk ", " desk", "desk\n", "desk,lamp", "d"]
)
def test_an_id_is_matched_exactly(both: Desk, model: str) -> None:
    response = both.service.turn(GOOD, model=model)
    assert_error(response, 400, "model_not_found")
    assert both.runs() == (0, 0)


@req("C-SELECT-05")
@pytest.mark.parametrize("model", ["anything", "only", "ONLY", "", "\ud800"])
def test_with_one_id_the_model_does_not_matter(lone: Service, model: str) -> None:
    assert answer_of(lone.turn(GOOD, model=model)) == "fine"


@req("C-SELECT-05")
def test_with_one_id_a_model_still_has_to_be_a_string(lone: Service) -> None:
    assert_error(lone.turn(GOOD, model=5), 400)


@pytest.fixture(scope="module")
def lone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("lone")
    bindings = {"only": binding(stub(root, ["print", "fine"]))}
    with running(root, bindings=bindings) as service:
        yield service


@req("C-SELECT-06")
@req("C-SELECT-07")
@pytest.mark.parametrize("model", ["desk", None])
def test_the_engine_is_told_its_own_name_of_the_model(
    both: Desk, model: str | None
) -> None:
    assert answer_of(both.service.turn(GOOD, model=model)) == "from one"
    assert arguments(both.desk) == ["--model", ENGINE_MODEL, "--quiet"]
    record = both.desk.only
    told = [*record["argv"][3:], record["stdin"], *record["environment"].values()]
    assert "desk" not in told


@req("C-SELECT-08")
def test_without_an_engine_model_there_is_no_model_argument(both: Desk) -> None:
    assert answer_of(both.service.turn(GOOD, model="lamp")) == "from two"
    assert arguments(both.lamp) == ["--quiet"]


@req("C-SELECT-06")
@req("C-SELECT-08")
def test_the_option_may_stand_anywhere(tmp_path: Path) -> None:
    first = stub(tmp_path, ["print", "x"], name="first")
    last = stub(tmp_path, ["print", "x"], name="last")
    bindings = {
        "a": binding(first, "{model}", "--flag", name="first", model="m-1"),
        "b": binding(last, "--flag", "--model", "{model}", name="last"),
    }
    with running(tmp_path, bindings=bindings) as service:
        assert answer_of(service.turn(GOOD, model="a")) == "x"
        assert answer_of(service.turn(GOOD, model="b")) == "x"
    assert arguments(first) == ["m-1", "--flag"]
    assert arguments(last) == ["--flag"]
