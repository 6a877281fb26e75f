"""C-SEC: chat text stays text, and everything has a bound."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conduck_service.executors.command_settings import COMMAND_SPEC
from tests.support import raw_http
from tests.support.commands import problems
from tests.support.documents import document
from tests.support.misbehaving import is_alive
from tests.support.service import (
    PROGRAM,
    Service,
    Stub,
    binding,
    free_port,
    prepared,
    running,
    stub,
    user,
    wait_until,
)

FLOOR = 52_428_800
SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"}

HOSTILE = (
    "$(touch {file})",
    "`touch {file}`",
    "; touch {file} ;",
    "| touch {file}",
    "&& touch {file} &",
    "' ; touch {file} ; '",
    '" ; touch {file} ; "',
    "\n touch {file} \n",
    "> {file}",
    "\\'; touch {file} #",
    "${{IFS}}$(IFS=_;cmd=touch_{file};$cmd)",
)
"""Texts that make a file as soon as any shell reads them."""

OPTIONS = ("--version", "-rf", "--", "-", "--help", "-c import os; os._exit(3)")


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Stub]:
    folder = tmp_path_factory.mktemp("engines")
    return {
        name: stub(folder, *steps, name=name)
        for name, steps in {
            "stdin": (["print", "done"],),
            "argument": (["print", "done"],),
            "held": (["wait_for", str(folder / "go")], ["print", "done"]),
            "flood": (["flood"],),
            "small": (["print", "done"],),
        }.items()
    }


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, engines: dict[str, Stub]
) -> Iterator[Service]:
    more: dict[str, dict[str, Any]] = {
        "argument": {"prompt": "argument"},
        "held": {"serialize": False},
        "flood": {"max_output_bytes": 1_000_000},
        "small": {"max_request_bytes": 2000},
    }
    bindings = {
        name: binding(engine, "two words", "$HOME", name=name, **more.get(name, {}))
        for name, engine in engines.items()
    }
    chat = {"default_model": "stdin"}
    with running(
        tmp_path_factory.mktemp("security"), bindings=bindings, chat=chat
    ) as service:
        yield service


def run_of(
    service: Service, engines: dict[str, Stub], text: str, model: str
) -> dict[str, Any]:
    """Run one good turn and return what the engine recorded of it."""
    before = len(engines[model].records)
    assert service.chat(text, model=model) == "done"
    (record,) = engines[model].records[before:]
    return record


def prompt_of(record: dict[str, Any], engine: Stub, model: str) -> str:
    """Return the prompt of a run, wherever the engine got it."""
    configured = [*engine.argv[3:], "two words", "$HOME"]
    if model == "stdin":
        assert record["argv"] == configured
        return str(record["stdin"])
    assert record["argv"][:-2] == configured
    assert record["argv"][-2] == "--"
    assert record["stdin"] == ""
    return str(record["argv"][-1])


@pytest.mark.req("C-SEC-01")
@pytest.mark.parametrize("model", ["stdin", "argument"])
def test_no_text_ever_meets_a_shell(
    service: Service, engines: dict[str, Stub], model: str, tmp_path: Path
) -> None:
    for number, hostile in enumerate(HOSTILE):
        target = tmp_path / f"made-{number}"
        text = hostile.format(file=target)
        record = run_of(service, engines, text, model)
        assert prompt_of(record, engines[model], model) == text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("C-SEC-02")
def test_the_engine_is_the_configured_argv_under_the_daemon(
    service: Service, engines: dict[str, Stub]
) -> None:
    engine = engines["held"]
    before = len(engine.records)
    turn = threading.Thread(target=service.chat, args=("x",), kwargs={"model": "held"})
    turn.start()
    wait_until(lambda: len(engine.records) > before)
    try:
        pid = engine.records[-1]["pid"]
        shown = subprocess.check_output(["ps", "-o", "args=", "-ww", "-p", str(pid)])
        wanted = " ".join([*engine.argv, "two words", "$HOME"])
        assert shown.decode().rstrip("\n") == wanted
        line = ancestors(pid)
        assert service.process.pid in line
        between = line[: line.index(service.process.pid)]
        assert not {name_of(item) for item in between} & SHELLS
    finally:
        (engine.folder.parent / "go").touch()
        turn.join(20)


def ancestors(pid: int) -> list[int]:
    """Return the parents of a process, nearest first."""
    found: list[int] = []
    while pid > 1:
        shown = subprocess.check_output(["ps", "-o", "ppid=", "-p", str(pid)])
        pid = int(shown)
        found.append(pid)
    return found


def name_of(pid: int) -> str:
    """Return the name of a process's program."""
    shown = subprocess.check_output(["ps", "-o", "comm=", "-p", str(pid)])
    return Path(shown.decode().strip()).name.lstrip("-")


@pytest.mark.req("C-SEC-03")
@pytest.mark.parametrize("model", ["stdin", "argument"])
def test_text_that_looks_like_an_option_is_prompt_text(
    service: Service, engines: dict[str, Stub], model: str
) -> None:
    for text in OPTIONS:
        record = run_of(service, engines, text, model)
        assert prompt_of(record, engines[model], model) == text


@pytest.mark.req("C-SEC-05")
@pytest.mark.parametrize("model", ["stdin", "argument"])
@pytest.mark.parametrize(
    "text",
    [
        "@notes.txt",
        "{{x}}",
        "see @/etc/hostname and {{file:notes.txt}} !include x",
        "@ notes\n@@notes {model} {image_dir} {answer_file}",
        "{model}",
        "\\@notes.txt \u200b@x",
    ],
)
def test_text_that_includes_files_elsewhere_arrives_unchanged(
    service: Service, engines: dict[str, Stub], text: str, model: str
) -> None:
    (service.folder / "notes.txt").write_text("the content of the notes")
    record = run_of(service, engines, text, model)
    assert prompt_of(record, engines[model], model) == text


# Becomes the leader of a session whose terminal is descriptor 0, and proves it.
ON_A_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.close(os.open("/dev/tty", os.O_RDWR))
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.req("C-SEC-09")
def test_an_engine_of_a_daemon_on_a_terminal_has_none(tmp_path: Path) -> None:
    # The stub reads its standard input to the end before it does anything.
    engine = stub(tmp_path, ["tty"])
    config = document({"agent": binding(engine)}, free_port())
    service = prepared(tmp_path, config)
    ours, theirs = os.openpty()
    options = ["--config", str(tmp_path / "config/config.json")]
    options += ["--data-dir", str(service.state)]
    words = [*PROGRAM, "serve", *options]
    with (tmp_path / "log").open("wb") as log:
        service.process = subprocess.Popen(
            [sys.executable, "-c", ON_A_TERMINAL, *words],
            stdin=theirs,
            stdout=log,
            stderr=log,
            env=service.environment,
        )
    try:
        wait_until(lambda: " ready " in service.log)
        assert service.chat("is anybody there?") == "no tty"
        assert engine.only["session"] != service.process.pid
    finally:
        service.stop()
        os.close(ours)
        os.close(theirs)


@pytest.mark.req("C-SEC-10")
def test_a_body_of_exactly_50_mib_is_answered(
    service: Service, engines: dict[str, Stub]
) -> None:
    body = json.dumps({"messages": [user("big")], "pad": ""}).encode()
    body = body[:-2] + b"x" * (FLOOR - len(body)) + body[-2:]
    assert len(body) == FLOOR
    before = len(engines["stdin"].records)
    response = service.post(body)
    assert response.status_code == 200, response.text
    assert engines["stdin"].records[before]["stdin"] == "big"


@pytest.mark.req("C-SEC-11")
@pytest.mark.parametrize("cap", [FLOOR - 1, 1, 0])
def test_a_cap_below_the_floor_is_refused(tmp_path: Path, cap: int) -> None:
    value = document(
        {"agent": binding(Stub(("true",), tmp_path))},
        free_port(),
        chat={"max_body_bytes": cap},
    )
    places = [item["path"] for item in problems(tmp_path, value)]
    assert "scopes/0/extensions/0/config/max_body_bytes" in places


@pytest.mark.req("C-SEC-11", "C-SEC-12")
def test_a_body_over_the_smallest_cap_is_refused_unread(tmp_path: Path) -> None:
    with running(
        tmp_path,
        engine=stub(tmp_path, ["echo"]),
        chat={"max_body_bytes": FLOOR},  # C-SEC-11: the floor itself is allowed
    ) as service:
        # C-SEC-12
        assert refused(service, FLOOR + 1) == 413
        assert refused(service, 10**15) == 413


def refused(service: Service, length: int) -> int:
    """Declare a body, send none of it, and return the status that comes at once."""
    data = raw_http.request(
        "POST",
        "/v1/chat/completions",
        token=service.token,
        headers=[("Content-Length", str(length))],
    )
    began = time.monotonic()
    with raw_http.connect(service.port) as sock:
        sock.sendall(data)
        head = raw_http.read_head(sock)
    assert time.monotonic() - began < 5
    return int(head.split(b" ")[1])


@pytest.mark.req("C-SEC-13")
def test_output_without_end_ends_the_turn(
    service: Service, engines: dict[str, Stub]
) -> None:
    response = service.turn(user("go"), model="flood", timeout=30)
    assert response.status_code == 502
    assert response.json()["error"]["code"] == "upstream_failure"
    pid = engines["flood"].records[-1]["pid"]
    assert not is_alive(pid)
    shown = {item.name for item in COMMAND_SPEC.fields if item.shown}
    assert "max_output_bytes" in shown


@pytest.mark.req("C-SEC-15")
def test_the_queue_has_an_end(tmp_path: Path) -> None:
    go = tmp_path / "go"
    engine = stub(tmp_path, ["wait_for", str(go)], ["print", "done"])
    statuses: list[int] = []
    with running(
        tmp_path, engine=engine, chat={"queue_depth": 2, "start_within_seconds": 60}
    ) as service:

        def send() -> None:
            statuses.append(service.turn(user("x")).status_code)

        turns = [threading.Thread(target=send) for _ in range(4)]
        turns[0].start()
        wait_until(lambda: len(engine.records) == 1)
        for turn in turns[1:]:
            turn.start()
        wait_until(lambda: statuses)  # two wait, whichever they are; one does not
        assert statuses == [429]
        assert len(engine.records) == 1
        go.touch()
        for turn in turns:
            turn.join(30)
    assert statuses == [429, 200, 200, 200]


@pytest.mark.req("C-SEC-16")
def test_no_engine_outlives_its_deadline_and_the_grace(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["ignore_term"], ["child", 60], ["sleep", 60])
    with running(
        tmp_path,
        engine=engine,
        chat={"deadline_seconds": 1},
        kill_grace_seconds=0.5,
    ) as service:
        began = time.monotonic()
        response = service.turn(user("x"))
        took = time.monotonic() - began
        assert response.status_code == 504
        assert 1 <= took < 10  # of the 60 seconds that the engine would take
        assert not is_alive(engine.only["pid"])
        assert not group_of(engine.only["group"])


def group_of(group: int) -> str:
    """Return the living processes of a group."""
    shown = subprocess.run(
        ["ps", "-A", "-o", "pgid=,stat="], capture_output=True, text=True, check=True
    )
    lines = (line.split() for line in shown.stdout.splitlines())
    return " ".join(
        words[1] for words in lines if words[0] == str(group) and words[1][0] != "Z"
    )


@pytest.mark.req("C-SEC-17")
def test_what_the_engine_would_not_survive_is_declined(
    service: Service, engines: dict[str, Stub]
) -> None:
    def body_of(size: int) -> bytes:
        text = json.dumps({"model": "small", "messages": [user("")]})
        return text.replace('""', '"' + "x" * (size - len(text)) + '"').encode()

    before = len(engines["small"].records)
    response = service.post(body_of(2001))
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "context_too_long"
    assert len(engines["small"].records) == before
    assert service.post(body_of(2000)).status_code == 200
    assert len(engines["small"].records) == before + 1


@pytest.mark.req("C-SEC-23")
def test_the_process_list_shows_no_text(tmp_path: Path) -> None:
    go = tmp_path / "go"
    engine = stub(tmp_path, ["wait_for", str(go)], ["print", "done"])
    with running(tmp_path, engine=engine) as service:
        turn = threading.Thread(target=service.chat, args=("canary-q7w2z8 text",))
        turn.start()
        wait_until(lambda: len(engine.records) == 1)
        shown = subprocess.check_output(["ps", "-A", "-ww", "-o", "args="])
        go.touch()
        turn.join(20)
    assert str(engine.folder).encode() in shown  # the engine is in the list
    assert b"canary-q7w2z8" not in shown
    assert engine.only["stdin"] == "canary-q7w2z8 text"
