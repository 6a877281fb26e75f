"""The package for Debian: built twice, looked into, and run out of its folder.

What needs root (install, upgrade, remove, purge) is shown in roots, tests/roots.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from bundle.tree import tracked
from conduck_service import __version__
from tests.support.service import free_port, wait_until
from tests.support.trace import ROOT

TOOLS = ("dh", "dh_python3", "dpkg-deb")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not all(map(shutil.which, TOOLS)), reason="debhelper or dh-python is missing"
    ),
]
NAME = f"conduck_{__version__}_all.deb"


@pytest.fixture(scope="module")
def deb() -> Path:
    subprocess.run([ROOT / "scripts/deb"], check=True)
    return ROOT / "build" / NAME


@pytest.fixture(scope="module")
def unpacked(deb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the package, in a folder where launchers find their libraries."""
    root = tmp_path_factory.mktemp("root")
    subprocess.run(["dpkg-deb", "--extract", deb, root], check=True)
    lib = root / "usr/lib/conduck/lib"
    for program in ("usr/bin/open-conduit", "usr/lib/conduck/bin/os"):
        text = (root / program).read_text(encoding="utf-8")
        assert text.startswith("#!/usr/bin/python3 -I\n")
        text = text.replace("/usr/bin/python3", sys.executable, 1)
        text = text.replace("/usr/lib/conduck/lib", str(lib))
        (root / program).write_text(text, encoding="utf-8")
    return root


def listed(deb: Path) -> dict[str, str]:
    """Return mode and owner of every file."""
    words = ["dpkg-deb", "--contents", str(deb)]
    run = subprocess.run(words, check=True, capture_output=True, text=True)
    rows = [line.split(maxsplit=5) for line in run.stdout.splitlines()]
    return {row[5].split(" ")[0].lstrip("."): f"{row[0]} {row[1]}" for row in rows}


@pytest.mark.req("P-03")
def test_the_package_puts_its_files_where_they_belong(deb: Path) -> None:
    files = listed(deb)
    assert files["/usr/bin/open-conduit"] == "-rwxr-xr-x root/root"
    assert files["/usr/lib/conduck/bin/os"] == "-rwxr-xr-x root/root"
    for path in (
        "/usr/bin/conduck",
        "/usr/lib/systemd/system/conduck.service",
        "/usr/lib/sysusers.d/conduck.conf",
        "/usr/lib/tmpfiles.d/conduck.conf",
        "/usr/share/bash-completion/completions/open-conduit",
        "/usr/share/fish/vendor_completions.d/open-conduit.fish",
        "/usr/share/zsh/vendor-completions/_open-conduit",
        "/usr/share/man/man1/open-conduit.1.gz",
        "/usr/share/man/man1/conduck.1.gz",
    ):
        assert path in files
    tops = {path.split("/")[1] for path in files} - {""}
    assert tops == {"usr"}  # no conffile, and nothing in the folders that people use
    assert not [path for path in files if re.search(r"\.so\b|__pycache__", path)]
    assert not [path for path in files if "/dist-packages/" in path]


def test_two_builds_have_the_same_bytes(deb: Path, tmp_path: Path) -> None:
    other = tmp_path / "a folder elsewhere"
    for path in tracked("."):
        (other / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, other / path)
    subprocess.run(["git", "init", "--quiet", other], check=True)
    (other / ".venv").symlink_to(Path(sys.executable).parents[1])
    before = deb.read_bytes()
    words = ["sh", "-c", "umask 077; exec scripts/deb"]
    different = {"TZ": "Asia/Tokyo", "HOME": str(tmp_path), "LC_ALL": "C"}
    subprocess.run(words, cwd=other, check=True, env={**os.environ, **different})
    assert (other / "build" / NAME).read_bytes() == before


@pytest.mark.skipif(not shutil.which("lintian"), reason="lintian is not installed")
def test_lintian_finds_nothing(deb: Path) -> None:
    words = ["lintian", "--allow-root", "--fail-on", "error,warning", str(deb)]
    run = subprocess.run(words, check=False, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "")


@pytest.fixture
def demo(unpacked: Path, tmp_path: Path) -> Iterator[str]:
    """The demo of the package, without anything that this checkout has installed."""
    port = free_port()
    ports = ["--chat-port", str(port), "--files-port", str(free_port())]
    log = tmp_path / "log"
    with log.open("wb") as errors:
        run = subprocess.Popen(
            [unpacked / "usr/bin/open-conduit", "demo", "--dir", "demo", *ports],
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": "/x"},
            cwd=tmp_path,
        )
    wait_until(lambda: b"ready" in log.read_bytes(), 30)
    yield f"http://127.0.0.1:{port}/v1"
    run.send_signal(signal.SIGINT)
    assert run.wait(30) == 0


@pytest.mark.req("B-NAME-02")
def test_the_package_answers_a_turn_and_gives_engines_the_toolbelt(
    demo: str, unpacked: Path, tmp_path: Path
) -> None:
    text = (tmp_path / "demo/config/secrets.json").read_text(encoding="utf-8")
    found = re.search(r'"chat_token": "(\w+)"', text)
    assert found
    answer = requests.post(
        f"{demo}/chat/completions",
        json={"messages": [{"role": "user", "content": "Reply with exactly: pong"}]},
        headers={"Authorization": f"Bearer {found[1]}"},
        timeout=30,
    )
    assert answer.json()["choices"][0]["message"]["content"] == "pong"
    folder = unpacked / "usr/lib/conduck"
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from conduck_service.executors.environment import toolbelt_folder; "
        "print(toolbelt_folder())"
    )
    words = [sys.executable, "-I", "-c", code, str(folder / "lib")]
    assert subprocess.check_output(words, text=True) == f"{folder / 'bin'}\n"
    told = subprocess.check_output([folder / "bin/os", "--version"], text=True)
    assert told == f"os {__version__}\n"
