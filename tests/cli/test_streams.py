"""What commands do with streams that fail, with faults, and how much they load."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conduck_service.cli.output import report_fault
from tests.cli.household import household
from tests.support.commands import run
from tests.support.service import PROGRAM, variables

req = pytest.mark.req
BIN = Path(sys.executable).parent

HEAVY = ("cheroot", "falcon", "keyring", "requests", "rich", "wsgidav")
"""What ``--version`` has no need of."""


def test_a_reader_that_goes_away_is_no_fault(tmp_path: Path) -> None:
    home = household(tmp_path)
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*PROGRAM, "config", "show", "--config", str(home.file)],
        env=variables(),
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(writer)
    assert done.stderr == b""


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_fault(tmp_path: Path, closed: str) -> None:
    home = household(tmp_path)
    for command in ("path", "get version", "check", "show"):
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {command} {closed}', "sh", *PROGRAM, "config"],
            env=variables({"OPEN_CONDUIT_CONFIG": str(home.file)}),
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, b""), command


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_told_in_a_line() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*PROGRAM, "config", "path"],
            env=variables(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert done.returncode == 1
    assert done.stderr == b"open-conduit: No space left on device\n"


def test_a_fault_of_the_program_is_told_without_its_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    try:
        run("x", environment={}, cwd=Path("/none"))
    except OSError as error:
        report_fault(type(error), error, error.__traceback__)
    try:
        int("canary-value")
    except ValueError as error:
        report_fault(type(error), error, error.__traceback__)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("open-conduit: No such file or directory\n")
    assert "a fault of the program (ValueError)" in printed.err
    assert "canary-value" not in printed.err


@req("B-NAME-01", "B-CLI-25")
@pytest.mark.parametrize("name", ["open-conduit", "conduck"])
def test_the_version_loads_little(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", str(BIN / name), "--version"],
        env=variables(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0
    loaded = set(re.findall(r"\| +([\w.]+)$", done.stderr, re.MULTILINE))
    ours = {one for one in loaded if one.startswith("conduck_service")}
    assert ours == {
        "conduck_service",
        "conduck_service.base",
        "conduck_service.base.jsonio",
        "conduck_service.cli",
        "conduck_service.cli.main",
        "conduck_service.cli.output",
    }
    assert loaded.isdisjoint(HEAVY)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_serves_both_names(shell: str) -> None:
    done = run("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    for program in ("open-conduit", "conduck"):
        variable = f"_{program.upper().replace('-', '_')}_COMPLETE={shell}_complete"
        assert variable in done.stdout
    assert run("completion", "tcsh").returncode == 2


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("open-conduit in", "init"),
        ("open-conduit config in", "include"),
        ("open-conduit config include re", "remove"),
        ("open-conduit init --sc", "--scan"),
    ],
)
def test_bash_completes_commands_and_options(line: str, wanted: str) -> None:
    script = (
        'eval "$(open-conduit completion bash)"; COMP_WORDS=($1);'
        " COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _open_conduit_completion open-conduit;"
        ' printf "%s\\n" "${COMPREPLY[@]}"'
    )
    try:
        done = subprocess.run(
            ["bash", "-c", script, "bash", line],
            env=variables({"PATH": f"{BIN}:{os.environ['PATH']}"}),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    except FileNotFoundError:
        pytest.skip("there is no bash")
    assert done.stdout.split() == [wanted], done.stderr
