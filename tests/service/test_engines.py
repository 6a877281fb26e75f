"""Where a person's engines are: asked in shells that really start."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conduck_service.service.account import Account, account_named, own_account
from conduck_service.service.command import own_program
from conduck_service.service.engines import (
    Found,
    checked_path,
    find_in_login,
    find_own,
    search_path,
)
from conduck_service.service.programs import NOT_THERE, TOO_LONG, Ran, SystemPrograms
from conduck_service.service.refusal import RefusedError
from tests.service.fakes import FakePrograms, account
from tests.support.service import wait_until

PROGRAMS = SystemPrograms()


def program(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def person(home: Path, shell: str) -> Account:
    """Return the user of this process, in a home of the test's."""
    mine = own_account({"HOME": str(home)})
    return replace(mine, login_shell=shutil.which(shell) or shell)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_what_only_a_terminal_finds_is_found(tmp_path: Path) -> None:
    engine = program(tmp_path / ".nvm/v22/bin", "claude")
    node = program(tmp_path / ".nvm/v22/bin", "node")
    local = program(tmp_path / ".local/bin", "codex")
    moved = program(tmp_path / ".claude/local", "opencode")
    (tmp_path / ".bashrc").write_text(
        'case $- in *i*) ;; *) return;; esac\necho "welcome PATH=/nowhere"\n'
        f"export PATH={engine.parent}:$PATH\nalias claude=/nowhere/claude\n"
    )
    (tmp_path / ".bash_profile").write_text(". ~/.bashrc\n")
    found = find_in_login(person(tmp_path, "bash"), PROGRAMS)
    assert found.engines["claude"] == engine
    assert found.engines["codex"] == local
    assert found.engines["opencode"] == moved
    assert found.companions["node"] == node
    path = search_path(tmp_path, found).split(":")
    assert path[0] == str(local.parent)
    assert path[-3:] == ["/usr/local/bin", "/usr/bin", "/bin"]
    assert str(engine.parent) in path
    assert len(path) == len(set(path))


def test_a_login_that_is_no_shell_is_no_obstacle(tmp_path: Path) -> None:
    engine = program(tmp_path / ".local/bin", "claude")
    for shell in ("/bin/false", "/nowhere/shell"):
        found = find_in_login(person(tmp_path, shell), PROGRAMS)
        assert found.engines["claude"] == engine


def test_nobody_answers(tmp_path: Path) -> None:
    found = find_in_login(account(tmp_path), FakePrograms())
    assert found == Found({}, {})
    assert (
        search_path(Path("/h"), found) == "/h/.local/bin:/usr/local/bin:/usr/bin:/bin"
    )


def test_a_folder_that_no_path_can_hold_is_not_taken() -> None:
    answer = "/a:b/claude\nrelative/codex\n/bad\x1bfolder/opencode\n"
    programs = FakePrograms({"/bin/sh -c": Ran(0, answer)})
    found = find_in_login(account(Path("/h")), programs)
    assert found.engines == {}


def test_what_lies_on_ones_own_path(tmp_path: Path) -> None:
    engine = program(tmp_path / "bin", "codex")
    found = find_own(f"{tmp_path}/bin:/nowhere")
    assert found.engines == {"codex": engine}
    mac = search_path(Path("/Users/you"), found, is_mac=True).split(":")
    assert mac[:4] == [
        "/Users/you/.local/bin",
        str(engine.parent),
        "/opt/homebrew/bin",
        "/usr/local/bin",
    ]
    assert mac[-2:] == ["/usr/sbin", "/sbin"]


def test_a_path_that_is_given_is_absolute() -> None:
    assert checked_path("/a::/b c:") == "/a:/b c"
    for text in ("", ":", "/a:b", "/a\n:/b", "~/bin"):
        with pytest.raises(RefusedError, match="--path"):
            checked_path(text)


def test_the_program_is_found_again(tmp_path: Path) -> None:
    there = program(tmp_path / "bin", "open-conduit")
    env = {"PATH": str(there.parent)}
    assert own_program(str(there), "/py", env, tmp_path) == (str(there),)
    assert own_program("bin/open-conduit", "/py", env, tmp_path) == (str(there),)
    assert own_program("open-conduit", "/py", env, tmp_path) == (str(there),)
    module = ("/py", "-m", "conduck_service")
    assert own_program("conduck", "/py", env, tmp_path) == module
    assert own_program("/x/__main__.py", "/py", {}, tmp_path) == module


def test_a_program_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    script = f"sleep 1000 & echo $! > {told}; echo said; wait"
    ran = PROGRAMS.run(("sh", "-c", script), seconds=1.0)
    assert (ran.status, ran.output) == (TOO_LONG, "said\n")
    child = int(told.read_text())
    wait_until(lambda: not _runs(child))


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2][1] == "Z")


def test_a_helper_that_stays_holds_nobody_up() -> None:
    ran = PROGRAMS.run(("sh", "-c", "sleep 5 & echo done; echo bad >&2; exit 3"))
    assert (ran.status, ran.output, ran.error) == (3, "done\n", "bad\n")
    assert ran.last_line == "bad"


def test_a_program_that_is_not_there_is_no_crash() -> None:
    ran = PROGRAMS.run(("/nowhere/program",))
    assert ran.status == NOT_THERE
    assert ran.last_line == "No such file or directory"
    assert Ran(-signal.SIGKILL).last_line == "status -9"


def test_users_of_this_machine() -> None:
    me = pwd.getpwuid(os.geteuid())
    found = account_named(me.pw_name)
    assert found is not None
    assert (found.uid, found.home) == (me.pw_uid, Path(me.pw_dir))
    assert account_named("nobody-of-this-name") is None
    assert account_named("a\0b") is None


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_another_users_programs_run_as_that_user() -> None:
    nobody = account_named("nobody")
    assert nobody is not None
    ran = PROGRAMS.run(
        ("sh", "-c", "id -u; id -G; pwd; echo $HOME; tty || true"),
        account=nobody,
    )
    uid, groups, folder, home, terminal = ran.output.splitlines()
    assert int(uid) == nobody.uid
    assert "0" not in groups.split()
    assert folder == "/"
    assert home == str(nobody.home)
    assert terminal == "not a tty"
    assert sys.platform != "linux" or int(uid) != 0
