"""An engine's files: nothing it does with them hurts the service or the answer."""

from __future__ import annotations

import itertools
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conduck_service.base.processes import (
    MARKER,
    Ended,
    Launch,
    Supervisor,
    start_supervisor,
)
from conduck_service.domain.conversation import Conversation, Message, Role
from conduck_service.domain.execution import FailureCode
from conduck_service.executors.answer_files import answer_size, read_answer
from conduck_service.executors.command import CommandExecutor
from conduck_service.executors.command_settings import CommandConfig
from conduck_service.executors.outputs import Output
from conduck_service.executors.streams import EngineFile
from conduck_service.extension.executor import (
    Completed,
    ExecutionContext,
    Failed,
    RunResult,
)

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="seals are Linux's")
INTO_FILE = Output(format="file")
CAP = 4096


@pytest.fixture(scope="module")
def supervisor() -> Iterator[Supervisor]:
    it = start_supervisor("instance_commandtest")
    yield it
    it.close()


class Turns:
    """Runs shell scripts as engines."""

    def __init__(self, supervisor: Supervisor, root: Path) -> None:
        self.supervisor = supervisor
        self.root = root
        self.prompt = "hi"
        self.interrupts: Iterator[FailureCode | None] = iter(())

    def run(self, script: str, **config: Any) -> RunResult:
        executor = CommandExecutor(self.supervisor, dict(os.environ))
        argv = ("/bin/sh", "-c", script, "sh", "{answer_file}")
        return executor.run(
            CommandConfig(argv=argv, **config),
            ExecutionContext(
                execution_id="execution_1",
                conversation=Conversation((Message(Role.USER, self.prompt),)),
                folder=self.root,
                scratch=lambda _folder: self.root,
                marker=(MARKER, f"instance_commandtest.{time.monotonic_ns()}"),
                interrupted=lambda: next(self.interrupts, None),
            ),
        )

    def answer(self, script: str, **config: Any) -> str:
        result = self.run(script, **config)
        assert isinstance(result, Completed), result
        return result.answer

    def failure(self, script: str, **config: Any) -> FailureCode:
        result = self.run(script, **config)
        assert isinstance(result, Failed), result
        return result.code


@pytest.fixture
def turns(supervisor: Supervisor, tmp_path: Path) -> Turns:
    return Turns(supervisor, tmp_path)


@ON_LINUX
@pytest.mark.parametrize(
    "script",
    [
        "set -e; echo one; echo two > /dev/stdout; echo three",
        "echo one; echo two > /dev/stdout",
        "echo one; cat > /dev/stdout || exit 1; echo three",
    ],
)
def test_what_was_printed_cannot_be_emptied_by_a_redirection(
    turns: Turns, script: str
) -> None:
    assert turns.failure(script) is FailureCode.EXIT


@ON_LINUX
def test_what_was_printed_is_in_the_answer_whatever_comes_after(turns: Turns) -> None:
    text = turns.answer("echo one; echo two > /dev/stdout; echo three")
    assert text == "one\nthree"


@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        ("echo one > /dev/stdout", "one"),
        ("cat > /dev/stdout; echo two; echo three >> /dev/stdout", "hitwo\nthree"),
        ("echo one | tee /dev/stderr", "one"),
        ("cat /dev/stdin", "hi"),
    ],
)
def test_files_can_be_opened_by_their_names(
    turns: Turns, script: str, wanted: str
) -> None:
    assert turns.answer(script) == wanted


@ON_LINUX
@pytest.mark.parametrize("script", ["head -c 99 /dev/zero >&0", "echo x > /dev/stdin"])
def test_the_input_never_changes(turns: Turns, script: str) -> None:
    assert turns.answer(f"{script} 2> /dev/null; cat /dev/stdin") == "hi"


SEALING = """
import fcntl, os, sys, time
size, seals, pause = map(int, sys.argv[1:])
os.write(1, b"x" * size)
for number in (1, 2):
    fcntl.fcntl(number, fcntl.F_ADD_SEALS, seals)
time.sleep(pause)
"""


@ON_LINUX
@pytest.mark.parametrize("seals", [1, 2, 4, 8, 16, 31])
def test_an_engine_cannot_hurt_us_with_seals(turns: Turns, seals: int) -> None:
    (turns.root / "sealing.py").write_text(SEALING, "ascii")
    script = f"{sys.executable} -I -S sealing.py"
    assert turns.answer(f"{script} 2 {seals} 0") == "xx"
    start = time.monotonic()
    code = turns.failure(
        f"{script} 5000 {seals} 60", max_output_bytes=CAP, kill_grace_seconds=9
    )
    assert code is FailureCode.OUTPUT_LIMIT
    assert time.monotonic() - start < 8


@ON_LINUX
def test_output_that_is_closed_for_writing_grows_no_more() -> None:
    with EngineFile.empty() as file:
        os.write(file.fileno(), b"abc")
        file.close_writing()
        file.close_writing()
        with pytest.raises(PermissionError):
            os.write(file.fileno(), b"d")
        assert file.content(2) == b"ab"
        assert file.content(9) == b"abc"


@pytest.mark.parametrize(
    "script",
    [
        'while :; do head -c 4096 /dev/zero >> "$1"; sleep 0.01; done',
        'trap "" TERM; head -c 9999 /dev/zero > "$1"; while :; do sleep 1; done',
        'ln -s /etc/passwd "$1.x"; truncate -s 1T "$1" && sleep 60',
    ],
)
def test_a_flood_in_the_answer_file_ends_the_engine(turns: Turns, script: str) -> None:
    start = time.monotonic()
    turns.interrupts = itertools.chain([None] * 200, [FailureCode.TIMEOUT])
    code = turns.failure(
        script, output=INTO_FILE, max_output_bytes=CAP, kill_grace_seconds=9
    )
    assert code is FailureCode.OUTPUT_LIMIT
    assert time.monotonic() - start < 8


@pytest.mark.parametrize(
    "script",
    [
        'echo no > "$1.x"; ln -s "$1.x" "$1"',
        'ln -s /dev/zero "$1"',
        'ln -s /dev/stdin "$1"',
        'ln -s "$1" "$1"',
        'mkfifo "$1"',
        'mkdir "$1"',
        'echo no > "$1.x"; mkdir "$1"; mv "$1.x" "$1"',
        "true",
    ],
)
def test_an_answer_file_is_a_file_and_nothing_else(turns: Turns, script: str) -> None:
    assert turns.failure(script, output=INTO_FILE) is FailureCode.NO_ANSWER


def test_a_link_has_no_size_as_an_answer(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    assert [answer_size(tmp_path / name) for name in ("file", "link", "no")] == [
        5,
        0,
        0,
    ]
    assert read_answer(tmp_path / "file", 3) == b"123"
    with pytest.raises(OSError, match="link"):
        read_answer(tmp_path / "link", 3)


def test_a_pipe_is_no_answer_even_with_something_in_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    pipe = os.open(tmp_path / "pipe", os.O_RDWR)
    try:
        os.write(pipe, b"no")
        with pytest.raises(OSError, match="regular"):
            read_answer(tmp_path / "pipe", 3)
    finally:
        os.close(pipe)


def test_a_prompt_with_nul_fits_in_no_argument(turns: Turns) -> None:
    turns.prompt = "a\0b"
    result = turns.run("echo ok", prompt="argument")
    assert result == Failed(FailureCode.CANNOT_START, "the prompt holds NUL")
    assert turns.answer("cat") == "a\0b"


class BrokenTree:
    """A tree that ends only when it is told to, and then takes its time."""

    def __init__(self, leftovers: int = 0) -> None:
        self.process = subprocess.Popen(["sleep", "60"])
        self.leftovers = leftovers
        self.looks = 0

    def wait(self, seconds: float) -> Ended | None:
        self.looks += 1
        status = self.process.poll()
        time.sleep(0 if status is not None else seconds)
        return None if status is None else Ended(0, self.leftovers)

    def end(self, _grace: float) -> None:
        self.process.send_signal(signal.SIGKILL)


class BrokenSupervisor:
    """Starts broken trees."""

    def __init__(self, leftovers: int = 0) -> None:
        self.trees: list[BrokenTree] = []
        self.leftovers = leftovers

    def start(self, launch: Launch) -> BrokenTree:
        os.write(launch.stdout, b"ok")
        self.trees.append(BrokenTree(self.leftovers))
        return self.trees[-1]

    def close(self) -> None:
        """Do nothing."""


def test_whatever_is_raised_the_tree_is_gone_first(tmp_path: Path) -> None:
    supervisor = BrokenSupervisor()
    turns = Turns(supervisor, tmp_path)

    def raising() -> Iterator[None]:
        yield None
        raise KeyError("defect")

    turns.interrupts = raising()
    with pytest.raises(KeyError):
        turns.run("")
    (tree,) = supervisor.trees
    assert tree.process.returncode == -signal.SIGKILL


def test_what_could_not_be_ended_is_told_to_the_operator(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for leftovers in (0, 3):
        turns = Turns(BrokenSupervisor(leftovers), tmp_path)
        turns.interrupts = iter([None, FailureCode.TIMEOUT])
        with caplog.at_level(logging.WARNING, "conduck_service"):
            assert turns.failure("") is FailureCode.TIMEOUT
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert (record.__dict__["action"], record.__dict__["count"]) == ("leftovers", 3)
