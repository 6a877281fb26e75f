"""``serve`` from the outside: what it says when it starts, and when it cannot."""

from __future__ import annotations

import copy
import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import run, written
from tests.support.documents import document
from tests.support.service import (
    PROGRAM,
    TOKEN,
    Stub,
    binding,
    free_port,
    prepared,
    running,
    started,
    stub,
    user,
    variables,
    wait_until,
)


def config_of(engine: Stub, port: int | None = None, **more: Any) -> dict[str, Any]:
    return document({"agent": binding(engine, **more)}, port or free_port())


def serve(config: Path, state: Path, *options: str) -> tuple[int, str]:
    """Run ``serve``, which must end by itself; return its status and words."""
    words = ("--config", str(config), "--data-dir", str(state), *options)
    done = run("serve", *words)
    assert done.stdout == ""
    return done.returncode, done.stderr


@contextmanager
def listening() -> Iterator[int]:
    """Have a port of 127.0.0.1 taken during the block."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port: int = taken.getsockname()[1]
        yield port


def test_the_ready_line_has_the_address_and_no_secret(tmp_path: Path) -> None:
    with running(tmp_path, engine=stub(tmp_path, ["obey"])) as service:
        (line,) = service.log.splitlines()
        assert line.endswith(f" info ready requests are accepted address={service.url}")
        assert TOKEN not in service.log


def test_starting_again_needs_nothing_but_the_same_words(tmp_path: Path) -> None:
    with running(tmp_path, engine=stub(tmp_path, ["obey"])) as service:
        for number in range(2):
            assert service.chat(f"Reply with exactly: {number}") == str(number)
            assert service.stop() == 0
            service.start()  # at once, on the same port


# The row's other half, a port lost by an apply, comes with the apply.
@pytest.mark.req("C-NET-10")
def test_a_taken_port_is_told_with_its_holder_and_the_remedy(tmp_path: Path) -> None:
    with listening() as port:
        config = written(tmp_path, config_of(Stub(("true",), tmp_path), port))
        status, words = serve(config, tmp_path / "state")
    assert status == 1
    assert f"port {port} on 127.0.0.1 is taken by " in words
    assert "set another port" in words
    assert "Traceback" not in words
    if sys.platform == "linux":
        name = Path("/proc/self/comm").read_text().strip()
        pid = Path("/proc/self").readlink()
        assert f"{name} (process {pid})" in words


def test_after_a_taken_port_the_state_is_free_again(tmp_path: Path) -> None:
    config = config_of(stub(tmp_path, ["obey"]))
    service = prepared(tmp_path, config)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", service.port))
        taken.listen()
        status, _ = serve(tmp_path / "config/config.json", service.state)
        assert status == 1
    with started(service):
        assert service.chat("Reply with exactly: free") == "free"


def test_of_two_entries_the_first_is_closed_when_the_second_cannot_open(
    tmp_path: Path,
) -> None:
    with listening() as port:
        value = config_of(Stub(("true",), tmp_path))
        first = value["scopes"][0]["extensions"][0]
        second = copy.deepcopy(first)
        second["name"] = "more"
        second["config"] |= {"namespace": "more_chat", "port": port}
        value["scopes"][0]["extensions"].append(second)
        status, words = serve(written(tmp_path, value), tmp_path / "state")
    assert status == 1
    assert f"port {port}" in words
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", first["config"]["port"])) != 0


def test_a_missing_engine_is_a_warning_and_costs_only_its_own_turns(
    tmp_path: Path,
) -> None:
    late = tmp_path / "late-engine"
    engine = stub(tmp_path, ["obey"])
    bindings = {
        "late": binding(Stub((str(late),), tmp_path), name="late"),
        "agent": binding(engine),
    }
    with running(tmp_path, bindings=bindings) as service:
        place = "scopes/0/bindings/0/config/argv/0: program_not_found"
        assert f"warning: {place}" in service.log
        assert str(late) not in service.log
        response = service.turn(user("x"), model="late")
        assert response.status_code == 502
        assert response.json()["error"]["code"] == "upstream_failure"
        assert service.chat("Reply with exactly: I am", model="agent") == "I am"
        # It may be installed later; nothing has to be restarted for it.
        late.write_text("#!/bin/sh\necho now it is here\n")
        late.chmod(0o700)
        assert service.chat("x", model="late") == "now it is here"


def test_everything_wrong_with_the_config_is_told_at_once(tmp_path: Path) -> None:
    value = config_of(Stub(("true",), tmp_path), cwd="../nowhere")
    value["settings"] = {"concurency": 3}
    value["scopes"][0]["extensions"][0]["config"]["queue_depth"] = -1
    value["scopes"][0]["bindings"][0]["config"]["argvv"] = 1
    config = written(tmp_path, value)
    status, words = serve(config, tmp_path / "state")
    assert status == 78
    for place in (
        "settings/concurency",
        "scopes/0/extensions/0/config/queue_depth",
        "scopes/0/bindings/0/config/argvv",
    ):
        assert f"{config}: {place}: " in words
    assert f"{config}: the config cannot be used" in words
    assert "Traceback" not in words


@pytest.mark.parametrize(
    ("name", "mode", "remedy"),
    [
        ("config/config.json", 0o644, "chmod 600"),
        ("config/config.json", 0o640, "chmod 600"),
        ("config", 0o755, "chmod 700"),
        ("state", 0o755, "chmod 700"),
    ],
)
def test_what_others_could_read_is_refused_with_the_remedy(
    tmp_path: Path, name: str, mode: int, remedy: str
) -> None:
    config = written(tmp_path, config_of(Stub(("true",), tmp_path)))
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    (tmp_path / name).chmod(mode)
    status, words = serve(config, state)
    assert status == 78
    assert f"{remedy} {tmp_path / name}" in words
    assert (tmp_path / name).stat().st_mode & 0o777 == mode  # nothing is repaired


def test_secrets_that_others_could_read_let_nobody_in(tmp_path: Path) -> None:
    config = config_of(stub(tmp_path, ["obey"]))
    service = prepared(tmp_path, config)
    (tmp_path / "config/secrets.json").chmod(0o644)
    with started(service):
        assert service.models().status_code == 401
        assert "chmod 600" in service.log
        assert TOKEN not in service.log


def test_a_state_directory_that_is_a_file_is_refused(tmp_path: Path) -> None:
    config = written(tmp_path, config_of(Stub(("true",), tmp_path)))
    (tmp_path / "state").write_text("mine")
    status, words = serve(config, tmp_path / "state")
    assert status == 78
    assert "it is not a folder" in words
    assert (tmp_path / "state").read_text() == "mine"


def test_a_missing_config_is_told_with_the_path(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir(mode=0o700)
    status, words = serve(tmp_path / "config/config.json", tmp_path / "state")
    assert status == 78
    assert str(tmp_path / "config/config.json") in words
    assert "Traceback" not in words


def test_without_a_home_and_a_path_it_says_what_to_give(tmp_path: Path) -> None:
    done = run("serve", environment={"HOME": ""}, cwd=tmp_path)
    assert done.returncode == 78
    assert "--config" in done.stderr


def test_the_variables_name_the_paths(tmp_path: Path) -> None:
    config = written(tmp_path, config_of(Stub(("true",), tmp_path)))
    (tmp_path / "state").write_text("in the way, so that it ends by itself")
    done = run(
        "serve",
        environment={
            "OPEN_CONDUIT_CONFIG": str(config),
            "OPEN_CONDUIT_DATA_DIR": str(tmp_path / "state"),
        },
    )
    assert done.returncode == 78
    assert str(tmp_path / "state") in done.stderr


@pytest.mark.parametrize("words", [("--nonsense",), ("--log-level", "all"), ("more",)])
def test_wrong_usage_is_status_2(words: tuple[str, ...]) -> None:
    done = run("serve", *words)
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: ")


@pytest.mark.parametrize(
    ("level", "shown"), [("debug", {"debug", "info"}), ("info", {"info"})]
)
def test_the_level_of_the_log_can_be_chosen(
    tmp_path: Path, level: str, shown: set[str]
) -> None:
    config = config_of(stub(tmp_path, ["obey"]))
    service = prepared(tmp_path, config, options=("--log-level", level))
    with started(service):
        service.chat("x")
        assert service.stop() == 0
    found = set(re.findall(r"^\S+Z (\w+) ", service.log, re.MULTILINE))
    assert found == shown


def test_at_the_level_of_errors_a_good_daemon_says_nothing(tmp_path: Path) -> None:
    config = written(tmp_path, config_of(stub(tmp_path, ["obey"])))
    port = json.loads(config.read_text())["scopes"][0]["extensions"][0]["config"]
    words = ["--config", str(config), "--data-dir", str(tmp_path / "state")]
    with subprocess.Popen(
        [*PROGRAM, "serve", *words, "--log-level", "error"],
        stderr=subprocess.PIPE,
        env=variables(),
    ) as process:
        wait_until(lambda: is_open(port["port"]))
        process.terminate()
        _, said = process.communicate(timeout=20)
    assert process.returncode == 0
    assert said == b""


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
