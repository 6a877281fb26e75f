"""What a ``cmd:`` reference runs, and what becomes of it."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from pathlib import Path

import pytest

from conduck_service.base.redaction import Redactor
from conduck_service.secrets import command
from conduck_service.secrets.resolve import SecretError
from conduck_service.secrets.source import SecretCode
from conduck_service.secrets.vault import Vault
from tests.support.service import wait_until

DOCUMENTED = {"PATH", "HOME", "USER", "LOGNAME", "LANG"}
OF_THE_SHELL = {"PWD", "OLDPWD", "SHLVL", "_"}
DAEMON = {"HOME": "/home/ann", "OS_TOKEN": "t", "OS_ENDPOINT": "e", "API_KEY": "k"}


def value(folder: Path, text: str) -> str:
    vault = Vault(
        {"key": f"cmd:{text}"},
        folder=folder,
        environment=DAEMON,
        redactor=Redactor(),
    )
    return vault.resolve(["key"])["key"]


def code(folder: Path, text: str) -> SecretCode:
    with pytest.raises(SecretError) as caught:
        value(folder, text)
    assert "canary" not in f"{caught.value!r} {caught.value.__context__!r}"
    assert caught.value.remedy
    return caught.value.code


def is_alive(pid: int) -> bool:
    """Say whether a process runs; one that only waits to be reaped does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text().split()[2] == "Z")


@pytest.mark.req("B-SECRET-04", "B-SECRET-12")
def test_a_command_is_for_a_shell_of_the_daemons_account(tmp_path: Path) -> None:
    printed = value(tmp_path, 'a=b; echo "$0 $(id -u) $a" | tr b c').split()
    assert printed == ["/cin/sh", str(os.geteuid()), "c"]
    (tmp_path / "token").write_text("beside the config\n")
    assert value(tmp_path, "cat token") == "beside the config"


@pytest.mark.req("B-SECRET-15", "B-SECRET-16", "B-SECRET-17")
def test_a_command_sees_the_documented_variables_only(tmp_path: Path) -> None:
    lines = value(tmp_path, "env").splitlines()
    made = dict(line.split("=", 1) for line in lines)
    assert made.keys() - OF_THE_SHELL == DOCUMENTED  # B-SECRET-15, B-SECRET-17
    assert made["HOME"] == "/home/ann"
    assert made["PATH"].split(":") == [  # B-SECRET-16
        *("/usr/bin", "/bin", "/usr/sbin", "/sbin"),
        *("/opt/homebrew/bin", "/usr/local/bin", "/home/linuxbrew/.linuxbrew/bin"),
    ]


@pytest.mark.req("B-SECRET-13")
@pytest.mark.parametrize(
    "text",
    [
        "sleep 600",
        "trap '' TERM HUP INT; sleep 600; sleep 600",
        "exec >&-; sleep 600",
        "sleep 600 | cat",
    ],
)
def test_a_command_has_ten_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    assert command.SECONDS == 10
    monkeypatch.setattr(command, "SECONDS", 0.5)
    assert code(tmp_path, f"echo $$ > pid; {text}") is SecretCode.COMMAND_TIMEOUT
    group = int((tmp_path / "pid").read_text())
    wait_until(lambda: not group_lives(group))


@pytest.mark.req("B-SECRET-13")
@pytest.mark.skipif(shutil.which("setsid") is None, reason="there is no setsid here")
@pytest.mark.parametrize("ending", ["sleep 600", "yes"])
def test_what_is_in_a_session_of_its_own_is_ended_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(command, "SECONDS", 5)
    inner = "echo $$ > inner; sleep 600; :"
    wait = "until test -s inner; do sleep 0.05; done"
    with pytest.raises(SecretError):
        value(tmp_path, f"setsid sh -c '{inner}' & {wait}; {ending}")
    pid = int((tmp_path / "inner").read_text())
    wait_until(lambda: not is_alive(pid))
    wait_until(lambda: not group_lives(pid))


def group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


@pytest.mark.req("B-SECRET-14")
def test_a_command_may_print_64_kib(tmp_path: Path) -> None:
    print_x = "dd if=/dev/zero bs={} count=1 2>/dev/null | tr '\\0' x"
    assert value(tmp_path, print_x.format(65_536)) == "x" * 65_536
    found = code(tmp_path, print_x.format(65_537))
    assert found is SecretCode.OUTPUT_TOO_LARGE
    assert code(tmp_path, "yes canary") is SecretCode.OUTPUT_TOO_LARGE


@pytest.mark.req("B-SECRET-18")
@pytest.mark.parametrize("text", ["nosuch canary", "/nosuch/canary", "exec nosuch"])
def test_a_program_that_is_not_there_is_told_apart(tmp_path: Path, text: str) -> None:
    assert code(tmp_path, text) is SecretCode.COMMAND_NOT_FOUND
    assert not list(tmp_path.iterdir())


@pytest.mark.req("B-SECRET-23", "B-SECRET-24")
@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (r"v\n", "v"),
        (r"v\r\n", "v"),
        (r"v\n\n", "v\n"),
        (r"v\n\r\n", "v\n"),
        (r"v\r", "v\r"),
        ("v", "v"),
        (r"  v \n", "  v "),
        (r"\tv\n \n", "\tv\n "),
        ("t\u00f6k\u00e9n \u2713", "t\u00f6k\u00e9n \u2713"),
    ],
)
def test_one_line_break_is_taken_off(
    tmp_path: Path, printed: str, expected: str
) -> None:
    assert value(tmp_path, f"printf '{printed}'") == expected


@pytest.mark.req("B-SECRET-25")
@pytest.mark.parametrize("text", ["true", "echo", r"printf '\r\n'", "exec >&-"])
def test_nothing_is_no_value(tmp_path: Path, text: str) -> None:
    assert code(tmp_path, text) is SecretCode.EMPTY


@pytest.mark.req("B-SECRET-26", "B-SECRET-50")
@pytest.mark.parametrize(
    "text",
    [
        "echo canary; echo canary >&2; exit 3",
        "echo canary >&2; kill -9 $$",
        r"printf 'canary \377'",
        r"printf 'canary \0'",
        "if canary",
        "x" * 200_000 + "canary",
        "echo \ud800 canary",
    ],
)
def test_a_failure_tells_nothing_of_what_was_said(
    tmp_path: Path, text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert code(tmp_path, text) is SecretCode.COMMAND_FAILED
    assert capfd.readouterr() == ("", "")


def test_what_it_says_on_standard_error_is_no_part_of_the_value(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert value(tmp_path, "echo canary >&2; echo value") == "value"
    assert capfd.readouterr() == ("", "")


def test_a_grandchild_that_keeps_the_output_open_holds_nobody_up(
    tmp_path: Path,
) -> None:
    text = "sleep 600 & echo $! > pid; echo value"
    assert value(tmp_path, text) == "value"
    wait_until(lambda: not is_alive(int((tmp_path / "pid").read_text())))


def test_a_system_without_waitid_does_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "waitid")
    assert value(tmp_path, "echo value") == "value"
    assert value(tmp_path, "sleep 600 & echo value") == "value"
    assert code(tmp_path, "exit 3") is SecretCode.COMMAND_FAILED
    monkeypatch.setattr(command, "SECONDS", 0.2)
    assert code(tmp_path, "sleep 600") is SecretCode.COMMAND_TIMEOUT


def test_a_command_has_no_terminal_and_no_input(tmp_path: Path) -> None:
    assert value(tmp_path, "cat; (: < /dev/tty) 2>/dev/null || echo none") == "none"


def test_files_that_a_command_makes_are_private(tmp_path: Path) -> None:
    assert value(tmp_path, "umask; : > made").endswith("077")
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o600


def test_other_children_are_left_to_their_parents(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        signal.pause()
    try:
        os.kill(child, signal.SIGKILL)
        assert value(tmp_path, "echo value") == "value"
    finally:
        assert os.waitpid(child, 0)[0] == child


def test_many_threads_can_ask_at_once(tmp_path: Path) -> None:
    found: list[str] = []

    def ask(number: int) -> None:
        found.append(value(tmp_path, f"echo {number}"))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, found)) == list(range(16))


def test_a_command_that_cannot_start_is_told(tmp_path: Path) -> None:
    assert code(tmp_path / "gone", "echo canary") is SecretCode.COMMAND_FAILED
