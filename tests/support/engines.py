"""Several stub engines behind one real daemon, each an advertised model.

with serving(root, {"plain": engine(["obey"]), "dumb": engine()}) as them:
    run = them.run("plain", user("Reply with exactly: pong"))
    assert run.answer == "pong" and len(run.records) == 1
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import requests

from tests.support.service import Service, Stub, binding, running, stub


@dataclass(frozen=True, slots=True)
class Engine:
    """What a stub does, more arguments of it, and more keys of its binding."""

    steps: tuple[list[Any], ...]
    arguments: tuple[str, ...]
    config: dict[str, Any]


def engine(*steps: list[Any], arguments: tuple[str, ...] = (), **config: Any) -> Engine:
    """Return an engine; turns of it may overlap unless ``config`` says more."""
    return Engine(steps, arguments, {"serialize": False, **config})


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def strict(text: str) -> Any:
    """Return the value of a JSON text; NaN and Infinity are errors."""
    return json.loads(text, parse_constant=_refuse)


def are_unrelated(first: str, second: str) -> bool:
    """Say whether two ids agree in their ends no more than chance would have it."""
    pairs = zip(first[-20:], second[-20:], strict=True)
    return sum(one == other for one, other in pairs) < 8


@dataclass(frozen=True, slots=True)
class Run:
    """One request, its response, and the engine's records that it added."""

    response: requests.Response
    records: list[dict[str, Any]]

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.response.status_code

    @property
    def body(self) -> Any:
        """The body, read strictly."""
        return strict(self.response.text)

    @property
    def code(self) -> str | None:
        """The code of an error, which must have the shape of one."""
        error = self.body["error"]
        assert error["message"] and error["type"]
        code: str | None = error.get("code")
        return code

    @property
    def choice(self) -> dict[str, Any]:
        """The one choice of a good turn."""
        assert self.status == 200, (self.status, self.response.text)
        (choice,) = self.body["choices"]
        assert isinstance(choice, dict)
        return choice

    @property
    def answer(self) -> str:
        """The answer of a good turn."""
        content = self.choice["message"]["content"]
        assert isinstance(content, str)
        return content

    @property
    def record(self) -> dict[str, Any]:
        """The record of the one engine run of a good turn."""
        assert self.status == 200, (self.status, self.response.text)
        (record,) = self.records
        return record

    @property
    def prompt(self) -> str:
        """What the engine of a good turn read on standard input."""
        prompt = self.record["stdin"]
        assert isinstance(prompt, str)
        return prompt


@dataclass(frozen=True, slots=True)
class Engines:
    """A running daemon and the stubs that it serves, by advertised id."""

    service: Service
    stubs: Mapping[str, Stub]

    def run(self, model: str, *messages: dict[str, Any], **extra: Any) -> Run:
        """Send a conversation to a model; ``extra`` are more keys of the body."""
        before = len(self.stubs[model].records)
        response = self.service.turn(*messages, model=model, **extra)
        return Run(response, self.stubs[model].records[before:])


@contextmanager
def serving(
    root: Path, engines: Mapping[str, Engine], **options: Any
) -> Iterator[Engines]:
    """Run a daemon that serves these engines; ``options`` as of ``running``."""
    stubs = {name: stub(root, *item.steps, name=name) for name, item in engines.items()}
    bindings = {
        name: binding(stubs[name], *item.arguments, name=name, **item.config)
        for name, item in engines.items()
    }
    with running(root, bindings=bindings, **options) as service:
        yield Engines(service, stubs)
