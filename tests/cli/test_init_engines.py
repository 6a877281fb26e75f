"""Engines that ``init`` finds and asks for, through the types that are registered."""

from __future__ import annotations

import itertools
import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from conduck_service.cli.init.engine import find_engines
from conduck_service.extension.executor import ExecutorType, Found
from conduck_service.extension.registry import Package, Registry
from tests.cli.household import engine, init, init_argv, init_variables
from tests.support.commands import run, tree
from tests.support.sample_package import install, sample_package
from tests.support.service import wait_until

SOURCE = """
import shutil
from pathlib import Path
from conduck_service.extension.executor import Capabilities, ExecutorType, Found
from conduck_service.extension.registry import Package

class Nothing:
    def capabilities(self, config):
        return Capabilities()
    def folder(self, config):
        return None
    def run(self, config, context):
        raise AssertionError("init runs no engine")

def look(environment):
    program = shutil.which("sage", path=environment["PATH"])
    if program is None:
        return None
    return Found(label="Sage 3", program=Path(program), config={"wise": True})

def fail(environment):
    raise KeyError("canary-value-4f2a")

PACKAGE = Package(name="sages", executors=(
    ExecutorType(name="sage", spec=None, executor=Nothing(), find=look),
    ExecutorType(name="unable", spec=None, executor=Nothing(), find=fail),
))
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def sages(tmp_path: Path) -> dict[str, str]:
    """Variables with a package installed and its engine on PATH."""
    tools = tmp_path / "tools"
    tools.mkdir()
    engine(tools, "sage")
    path = f"{tools}:{os.environ['PATH']}"
    return {**install(tmp_path, "sages", SOURCE), "PATH": path}


def value_of(home: Path) -> Any:
    return json.loads((home / ".config/open-conduit/config.json").read_text())


@pytest.mark.parametrize(
    "words", [(), ("--engine", "./agent.sh")], ids=["engine", "folder"]
)
def test_without_a_terminal_the_options_are_told(
    home: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    engine(tmp_path)
    done = init(home, *words, cwd=tmp_path)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "there is no terminal to ask on" in line
    assert "--yes, or --folder DIR and --engine PROGRAM" in line
    assert done.stdout.endswith("\n")
    assert tree(home) == {}


def test_an_engine_that_is_not_installed_is_told_by_its_program(home: Path) -> None:
    environment = {"PATH": "/usr/bin:/bin"}
    done = init(home, "--yes", "--engine", "claude_code", environment=environment)
    assert (done.returncode, done.stdout) == (2, "")
    told = " ".join(done.stderr.split())
    assert "Claude Code is not installed: its program claude is not on PATH" in told
    assert tree(home) == {}


@pytest.mark.parametrize("name", ["claude", "claude_code"])
def test_a_ready_made_engine_is_known_by_its_program_too(
    home: Path, tmp_path: Path, name: str
) -> None:
    program = engine(tmp_path, "claude")
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = init(home, "--yes", "--engine", name, environment=environment)
    assert done.returncode == 0, done.stderr
    (binding,) = value_of(home)["scopes"][0]["bindings"]
    assert binding["executor"] == "claude_code"
    assert binding["config"] == {"program": str(program)}


def test_arguments_of_a_ready_made_engine_are_kept_beside_its_own(
    home: Path, tmp_path: Path
) -> None:
    engine(tmp_path, "claude")
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    words = ("--yes", "--engine", "claude_code", "--", "--effort", "low")
    done = init(home, *words, environment=environment)
    assert done.returncode == 0, done.stderr
    (binding,) = value_of(home)["scopes"][0]["bindings"]
    assert binding["executor"] == "claude_code"
    assert binding["config"]["arguments"] == ["--effort", "low"]


def test_the_registry_is_asked_for_engines(tmp_path: Path) -> None:
    asked: list[Mapping[str, str]] = []
    plain = next(one for one in sample_package().executors if one.name == "plain")

    def executor(name: str, found: Found | None) -> ExecutorType:
        def find(environment: Mapping[str, str]) -> Found | None:
            asked.append(environment)
            return found

        return ExecutorType(
            name=name, spec=plain.spec, executor=plain.executor, find=find
        )

    there = Found(label="There", program=tmp_path / "there", config={"say": "x"})
    registry = Registry.of(
        Package(
            name="test",
            executors=(plain, executor("there", there), executor("not-there", None)),
        )
    )
    (one,) = find_engines(registry, {"PATH": "/x"})
    assert (one.executor, one.label, one.config) == ("there", "There", {"say": "x"})
    assert asked == [{"PATH": "/x"}] * 2


def test_a_scan_shows_and_writes_nothing(home: Path, sages: dict[str, str]) -> None:
    words = ("--scan", "--package", "sages")
    done = init(home, *words, environment=sages)
    assert done.returncode == 0
    assert "Sage 3" in done.stdout
    assert "executor unable could not look for its engine (KeyError)" in done.stderr
    assert "canary" not in done.stderr
    answer = json.loads(init(home, *words, "--json", environment=sages).stdout)
    (found,) = answer["engines"]
    assert (found["executor"], found["label"]) == ("sage", "Sage 3")
    assert found["program"].endswith("/tools/sage")
    assert tree(home) == {}


def test_no_package_is_looked_at_that_is_not_named(
    home: Path, sages: dict[str, str]
) -> None:
    done = init(home, "--scan", "--json", environment=sages)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"engines": []}
    assert "--engine PROGRAM" in init(home, "--scan").stdout


@pytest.mark.parametrize("named", [(), ("--engine", "sage")], ids=["only", "by name"])
def test_a_found_engine_is_set_up(
    home: Path, sages: dict[str, str], named: tuple[str, ...]
) -> None:
    done = init(home, "--yes", "--package", "sages", *named, environment=sages)
    assert done.returncode == 0, done.stderr
    value = value_of(home)
    assert value["settings"] == {"extensions": {"sages": {}}}
    (binding,) = value["scopes"][0]["bindings"]
    assert binding == {"name": "agent", "executor": "sage", "config": {"wise": True}}
    variables = {**sages, "HOME": str(home)}
    assert run("config", "check", environment=variables).returncode == 0


class _Terminal:
    """A program with a terminal of its own, as a person sees it."""

    def __init__(self, argv: list[str], cwd: Path, environment: dict[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            argv,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env=environment,
            start_new_session=True,
        )
        os.close(theirs)
        os.set_blocking(self._ours, False)
        self.seen = ""

    def expect(self, words: str) -> None:
        """Wait until these words have been printed since the last answer."""
        wait_until(lambda: words in self._read() or self.process.poll() is not None, 30)
        assert words in self._read(), self.seen

    def answer(self, text: str) -> None:
        """Type a line."""
        self.seen = ""
        os.write(self._ours, text.encode())

    def end(self) -> int:
        """Wait for the end and return the status."""
        wait_until(lambda: (self._read(), self.process.poll() is not None)[1], 30)
        self._read()
        return self.process.wait()

    def interrupt(self) -> int:
        """Press Ctrl-C until the program ends, and return the status.

        One that comes just before the program waits for a line is seen only after
        the line, in any program; and a new session has no terminal that sends it.
        """
        presses = itertools.count()

        def has_ended() -> bool:
            self._read()
            if self.process.poll() is None and next(presses) % 50 == 0:
                os.killpg(self.process.pid, signal.SIGINT)
            return self.process.poll() is not None

        wait_until(has_ended, 30)
        return self.process.wait()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._ours)

    def _read(self) -> str:
        try:
            while data := os.read(self._ours, 4096):
                self.seen += data.decode("utf-8", "replace").replace("\r\n", "\n")
        except OSError:
            pass  # nothing now, or nobody at the other end any more
        return self.seen


@pytest.fixture
def terminal(home: Path, tmp_path: Path) -> Iterator[_Terminal]:
    engine(tmp_path)
    opened = _Terminal(init_argv(), tmp_path, init_variables(home))
    yield opened
    opened.close()


@pytest.mark.req("B-CLI-01")
def test_a_person_is_asked_for_two_things(home: Path, terminal: _Terminal) -> None:
    terminal.expect("Program that answers")
    terminal.answer("./none.sh\n")
    terminal.expect("there is no such program")
    terminal.expect("Program that answers")
    terminal.answer("./agent.sh 'a b'\n")
    terminal.expect("[~/Conduck]")
    terminal.answer("~/Work\n")
    terminal.expect("Start the service")
    assert terminal.end() == 0
    (scope,) = value_of(home)["scopes"]
    assert scope["bindings"][0]["config"]["argv"][1:] == ["a b"]
    assert scope["extensions"][1]["config"]["root"] == str(home / "Work")


@pytest.mark.req("B-CLI-31")
@pytest.mark.parametrize("typed", ["\x03", "\x04"], ids=["Ctrl-C", "Ctrl-D"])
def test_breaking_off_leaves_nothing(
    home: Path, terminal: _Terminal, typed: str
) -> None:
    terminal.expect("Program that answers")
    terminal.answer("./agent.sh\n")
    terminal.expect("[~/Conduck]")
    if typed == "\x03":
        assert terminal.interrupt() != 0
    else:
        terminal.answer(typed)
        assert terminal.end() == 1
        assert "Aborted" in terminal.seen
    assert "Traceback" not in terminal.seen
    assert tree(home) == {}
