"""``init``: a config that works from one command, or nothing at all."""

from __future__ import annotations

import grp
import json
import os
import re
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.household import engine, init, init_argv, init_variables
from tests.secrets.keyrings import calls, fake_keyring, held
from tests.support.commands import run, tree
from tests.support.service import PROGRAM, wait_until

req = pytest.mark.req

SECRETS = ("chat_token", "files_password")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    return engine(tmp_path)


def config_of(home: Path) -> Path:
    return home / ".config/open-conduit/config.json"


def value_of(home: Path) -> Any:
    return json.loads(config_of(home).read_text("utf-8"))


def scope_of(home: Path) -> Any:
    (scope,) = value_of(home)["scopes"]
    return scope


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def lane_of(home: Path) -> Any:
    (entry,) = [
        entry["config"]
        for entry in scope_of(home)["extensions"]
        if entry["type"] == "conduck_files"
    ]
    return entry


@req("B-CLI-01", "B-PERM-01", "B-PERM-04", "B-SECRET-43", "B-SECRET-44")
def test_one_command_makes_a_config_that_is_valid(home: Path, agent: Path) -> None:
    done = init(home, "--yes", "--engine", str(agent), umask=0)
    assert (done.returncode, done.stderr) == (0, "")
    file = config_of(home)
    folder = file.parent
    assert (mode(folder), mode(file), mode(folder / "secrets.json")) == (
        0o700,
        0o600,
        0o600,
    )
    kept = json.loads((folder / "secrets.json").read_text())
    assert set(kept) == set(SECRETS)
    text = file.read_text()
    assert not [value for value in kept.values() if value in text + done.stdout]
    assert all(re.fullmatch("[A-Za-z0-9_-]{43}", value) for value in kept.values())
    assert scope_of(home)["secret_refs"] == {name: f"file:{name}" for name in SECRETS}
    assert str(folder / "secrets.json") in done.stdout
    assert mode(home / "Conduck") == 0o700
    # The service and a run by hand agree on the folder.
    assert (lane_of(home)["root"], lane_of(home)["mode"]) == (
        str(home / "Conduck"),
        "0700",
    )
    check = run("config", "check", environment={"HOME": str(home)})
    assert (check.returncode, check.stderr) == (0, "")
    assert "open-conduit serve" in done.stdout or "-m conduck_service serve" in (
        done.stdout
    )


@req("B-SECRET-43", "B-SECRET-44")
def test_a_keyring_is_preferred(home: Path, agent: Path, tmp_path: Path) -> None:
    environment = fake_keyring(tmp_path / "keyring")
    done = init(home, "--yes", "--engine", str(agent), environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert scope_of(home)["secret_refs"] == {
        name: f"keyring:{name}" for name in SECRETS
    }
    kept = held(tmp_path / "keyring")
    assert set(kept) == {f"open-conduit/{name}" for name in SECRETS}
    assert not (config_of(home).parent / "secrets.json").exists()
    assert "in the keyring" in done.stdout
    assert not [value for value in kept.values() if value in done.stdout]


@pytest.fixture
def served(home: Path, agent: Path, tmp_path: Path) -> Iterator[str]:
    """Set up and serve as a newcomer does; yield what ``init`` said."""
    done = init(home, "--yes", "--engine", "./agent.sh", "--", "a b", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*PROGRAM, "serve"],
            env=init_variables(home),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            umask=0,
        )
    try:
        wait_until(lambda: b" ready " in log.read_bytes() or process.poll(), 20)
        yield done.stdout
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)
    assert process.returncode == 0, log.read_text()


@req("B-CLI-01", "B-PERM-02")
def test_a_newcomer_gets_an_answer_from_init_and_serve(
    served: str, home: Path, tmp_path: Path
) -> None:
    # The words that are printed are the test: they are run as they stand there.
    script = served.partition("in another terminal:")[2].partition("What the app")[0]
    done = subprocess.run(
        ["sh", "-euc", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        timeout=60,
    )
    answer = json.loads(done.stdout)
    assert answer["choices"][0]["message"]["content"] == "pong a b"
    assert mode(home / ".local/state/open-conduit") == 0o700


@req("B-CLI-31", "B-CLI-25", "B-CLI-30")
def test_a_second_init_changes_nothing(home: Path, agent: Path) -> None:
    assert init(home, "--yes", "--engine", str(agent)).returncode == 0
    before = tree(home)
    done = init(home, "--yes", "--engine", str(agent))
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is a config already" in done.stderr
    assert tree(home) == before


@req("B-CLI-31")
@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_that_is_there_is_not_overwritten(
    home: Path, agent: Path, tmp_path: Path, name: str
) -> None:
    folder = config_of(home).parent
    folder.mkdir(parents=True, mode=0o700)
    (folder / "secrets.json").write_text(json.dumps({name: "kept", "other": "too"}))
    (folder / "secrets.json").chmod(0o600)
    before = tree(home)
    done = init(home, "--yes", "--engine", str(agent))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{name} is kept already (file:{name})" in done.stderr
    assert tree(home) == before
    ring = fake_keyring(tmp_path / "ring", **{name: "kept"})
    other = tmp_path / "other" / "config.json"
    done = init(
        home, "--yes", "--engine", str(agent), "--config", str(other), environment=ring
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert f"(keyring:{name})" in done.stderr
    assert not other.parent.exists()
    assert held(tmp_path / "ring") == {f"open-conduit/{name}": "kept"}


@pytest.mark.parametrize("link", [False, True], ids=["folder", "dangling link"])
def test_whatever_stands_in_the_config_s_place_stays(
    home: Path, agent: Path, link: bool
) -> None:
    file = config_of(home)
    file.parent.mkdir(parents=True, mode=0o700)
    if link:
        file.symlink_to("nowhere")
    else:
        file.mkdir()
    done = init(home, "--yes", "--engine", str(agent))
    assert (done.returncode, done.stdout) == (1, "")
    assert [entry.name for entry in file.parent.iterdir()] == ["config.json"]


@req("B-CLI-25")
@pytest.mark.parametrize(
    ("program", "hint"),
    [
        ("./none.sh", "there is no such program"),
        ("none-of-this-name", "on PATH"),
        ("plain.sh", "write ./plain.sh"),
        ("./plain.sh", "chmod +x"),
        ("./", "it is not a program"),
        ("./bare.sh", "#!/bin/sh"),
        ("", "on PATH"),
    ],
)
def test_an_engine_that_cannot_be_started_is_named(
    home: Path, tmp_path: Path, program: str, hint: str
) -> None:
    (tmp_path / "plain.sh").write_text("#!/bin/sh\n")
    (tmp_path / "bare.sh").write_text("echo pong\n")
    (tmp_path / "bare.sh").chmod(0o755)
    done = init(home, "--yes", "--engine", program, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert hint in " ".join(done.stderr.split())
    assert tree(home) == {}


def test_an_engine_is_found_on_the_path(home: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    program = engine(tools, "My Agent.2")
    path = f"{tools}:{os.environ['PATH']}"
    done = init(
        home,
        "--yes",
        "--engine",
        "My Agent.2",
        "--",
        "--flag",
        "a b",
        environment={"PATH": path},
    )
    assert (done.returncode, done.stderr) == (0, "")
    (binding,) = scope_of(home)["bindings"]
    assert binding == {
        "name": "agent",
        "executor": "command",
        "config": {"argv": [str(program), "--flag", "a b"]},
    }


def test_arguments_need_an_engine(home: Path) -> None:
    assert init(home, "--yes", "--", "x").returncode == 2
    assert init(home, "--yes").returncode == 2
    assert tree(home) == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be root")
def test_root_is_told_both_ways(home: Path, agent: Path) -> None:
    done = run("init", "--yes", "--engine", str(agent), environment={"HOME": str(home)})
    assert (done.returncode, done.stdout) == (1, "")
    assert "open-conduit service run-as NAME" in done.stderr
    assert "sudo -u conduck -H open-conduit init" in done.stderr
    assert tree(home) == {}


@req("B-CLI-31")
@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--folder", "~"), "the home folder"),
        (("--folder", "none/folder"), "the folder above it is not there"),
        (("--folder", "agent.sh"), "no folder"),
        (("--folder", "/proc/conduck"), "/proc/conduck"),
        (("--folder", "home/.config/open-conduit/x"), "one in the other"),
        (("--shared-group", "no-such-group-x"), "no such group"),
        (("--chat-port", "9000", "--files-port", "9000"), "a port each"),
        (("--package", "nobody"), "no package of this name"),
    ],
)
def test_what_cannot_be_set_up_leaves_nothing(
    home: Path, agent: Path, tmp_path: Path, words: tuple[str, ...], hint: str
) -> None:
    before = tree(tmp_path)
    done = init(home, "--yes", "--engine", str(agent), *words, cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert hint in " ".join(done.stderr.split())
    after = tree(tmp_path)
    assert {name: item[2] for name, item in after.items()} == {
        name: item[2] for name, item in before.items()
    }


def test_a_store_that_fails_leaves_nothing(home: Path, agent: Path) -> None:
    folder = config_of(home).parent
    folder.mkdir(parents=True, mode=0o700)
    (folder / "secrets.json").write_text("{}")
    (folder / "secrets.json").chmod(0o644)
    before = tree(home)
    done = init(home, "--yes", "--engine", str(agent))
    assert (done.returncode, done.stdout) == (1, "")
    assert "secrets.json" in done.stderr
    assert set(tree(home)) == set(before)


def test_an_open_config_folder_is_not_used(home: Path, agent: Path) -> None:
    folder = config_of(home).parent
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    done = init(home, "--yes", "--engine", str(agent))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"chmod 700 {folder}" in done.stderr
    assert list(folder.iterdir()) == []
    assert not (home / "Conduck").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_is_broken_off_half_way_leaves_nothing(
    home: Path, agent: Path, tmp_path: Path, number: int
) -> None:
    # The keyring never answers, so that there is a half-way to be found.
    ring = tmp_path / "ring"
    environment = fake_keyring(ring, fault="locked")
    process = subprocess.Popen(
        init_argv("--yes", "--engine", str(agent)),
        env=init_variables(home, environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=home,
    )
    wait_until(lambda: calls(ring) or process.poll() is not None, 20)
    process.send_signal(number)
    output, _ = process.communicate(timeout=50)
    assert process.returncode != 0
    assert b"Traceback" not in output
    assert tree(home) == {}


def test_taken_ports_are_noticed(home: Path, agent: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        words = ("--yes", "--engine", str(agent), "--chat-port", str(port))
        done = init(home, *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"port {port} is taken" in done.stderr
        assert tree(home) == {}


def test_the_next_free_pair_is_taken(home: Path, agent: Path) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 8481))
            taken.listen()
        except OSError:
            pass  # it is taken by somebody else, which is as good
        done = init(home, "--yes", "--engine", str(agent))
    assert done.returncode == 0
    assert "take their place" in done.stderr
    chat, files = (entry["config"]["port"] for entry in scope_of(home)["extensions"])
    assert chat > 8481
    assert files == chat + 1


def test_a_folder_that_is_there_is_kept_and_judged(home: Path, agent: Path) -> None:
    folder = home / "work"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "mine.txt").write_text("mine")
    done = init(home, "--yes", "--engine", str(agent), "--folder", str(folder))
    assert done.returncode == 0
    assert mode(folder) == 0o755
    assert (folder / "mine.txt").read_text() == "mine"
    assert "warning" in done.stderr
    assert "chmod" in done.stderr


def test_a_shared_folder_gets_its_group_and_mode(home: Path, agent: Path) -> None:
    # In a user namespace the one group is the user's own.
    number = os.getegid() if os.geteuid() else 1000
    words = ("--yes", "--engine", str(agent), "--shared-group", str(number))
    try:
        grp.getgrgid(number)
    except KeyError:
        pytest.skip("the group of this user has no name")
    done = init(home, *words)
    assert done.returncode == 0, done.stderr
    assert mode(home / "Conduck") == 0o2770
    assert (home / "Conduck").stat().st_gid == os.getegid()
    assert lane_of(home)["mode"] == "2770"
