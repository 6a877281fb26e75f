"""What a new user does first: install the wheel, or make run in a clean clone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from conduck_service import __version__
from tests.support.service import free_port, wait_until
from tests.support.trace import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TREE = (
    "LICENSE",
    "Makefile",
    "README.md",
    "conduck_service",
    "pyproject.toml",
    "scripts",
)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project without anything that was built in it."""
    root = tmp_path_factory.mktemp("checkout")
    for name in TREE:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, root / name, ignore=ignored)
        else:
            shutil.copy(source, root / name)
    return root


@pytest.fixture(scope="module")
def wheel(checkout: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "."]
    subprocess.run(pip, cwd=checkout, check=True)
    (built,) = checkout.glob("*.whl")
    return built


def printed(*argv: str | Path) -> str:
    run = subprocess.run(argv, check=True, capture_output=True, text=True)
    return run.stdout.strip()


@pytest.mark.req("P-01", "P-02")
def test_the_wheel_installs_and_gives_the_commands(wheel: Path, tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    programs = venv / "bin"
    printed(sys.executable, "-m", "venv", venv)
    printed(programs / "pip", "install", "--quiet", wheel)
    for command in ("open-conduit", "conduck", "os"):  # P-01
        assert printed(programs / command, "--version").endswith(__version__)
    code = "import conduck_service; print(conduck_service.__file__)"
    imported = Path(printed(programs / "python", "-I", "-c", code))  # P-02
    assert imported.is_relative_to(venv)


def test_the_wheel_holds_the_package_and_nothing_around_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        "conduck_service"
    }


@pytest.fixture
def served(checkout: Path) -> Iterator[int]:
    """What ``make run`` does in a clean copy, on a free port."""
    port = free_port()
    printed("make", "-C", checkout, "setup")
    run = subprocess.Popen(
        ["scripts/run", "--chat-port", str(port)],
        cwd=checkout,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"HOME": str(checkout)},
    )
    yield port
    run.send_signal(signal.SIGINT)
    assert run.wait(30) == 0


def test_a_clean_copy_is_set_up_and_serves(served: int, checkout: Path) -> None:
    url = f"http://127.0.0.1:{served}/v1/models"

    def answers() -> bool:
        try:
            return requests.get(url, timeout=5).status_code == 401
        except requests.ConnectionError:
            return False

    wait_until(answers, 60)
    config = checkout / "conduck-demo/config/config.json"
    assert config.stat().st_mode & 0o777 == 0o600
