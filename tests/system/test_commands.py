"""The installed commands themselves, and that the tests' own rules hold."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from conduck_service import __version__
from conduck_service.cli import main as cli
from tests.support.commands import run
from tests.support.service import variables

BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[2]


def call(name: str, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run an installed command."""
    return subprocess.run(
        [str(BIN / name), *words],
        env=variables(more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.req("P-36")
@pytest.mark.parametrize("name", ["open-conduit", "conduck", "os"])
def test_the_version_is_printed(name: str) -> None:
    done = call(name, "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert __version__ in done.stdout.split()[-1]
    assert re.fullmatch(r"[\w-]+(, version)? \S+\n", done.stdout)


def test_the_module_is_the_same_command() -> None:
    assert run("--version").stdout == call("open-conduit", "--version").stdout
    assert (
        run("--help").stdout.splitlines()[2:]
        == (call("open-conduit", "--help").stdout.splitlines()[2:])
    )


def test_help_names_every_command() -> None:
    done = run("--help")
    assert done.returncode == 0
    for name in ("config", "demo", "serve"):
        assert re.search(rf"^  {name} ", done.stdout, re.MULTILINE)
        assert run(name, "--help").returncode == 0


def test_an_unknown_command_is_wrong_usage() -> None:
    done = run("sevre")
    assert done.returncode == 2
    assert "sevre" in done.stderr


@pytest.mark.parametrize("words", [(), ("event.list",), ("guidance",), ("--help",)])
def test_os_outside_an_execution_is_status_2(words: tuple[str, ...]) -> None:
    done = call("os", *words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "OS_ENDPOINT" in done.stderr
    assert done.stderr.count("\n") == 1


def test_os_with_an_endpoint_says_that_nothing_is_served() -> None:
    done = call("os", "event.list", OS_ENDPOINT="/nowhere")
    assert done.returncode == 1
    assert done.stdout == ""


def test_another_platform_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert "Linux and macOS only" in str(ended.value)  # a text is status 1


@pytest.mark.req("P-35")
def test_a_mark_that_nobody_registered_is_an_error(tmp_path: Path) -> None:
    options = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path)]
    options += ["-p", "no:cacheprovider", "--basetemp", str(tmp_path / "temp")]
    options += ["test_marked.py"]
    for mark, status in (('req("P-35")', 0), ('reqq("P-35")', 2)):
        file = tmp_path / "test_marked.py"
        file.write_text(
            f"import pytest\n\n@pytest.mark.{mark}\ndef test_nothing():\n    pass\n"
        )
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--strict-markers", *options],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            timeout=60,
        )
        assert done.returncode == status, done.stdout + done.stderr
    assert "'reqq' not found in `markers`" in done.stdout
