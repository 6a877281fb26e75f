"""``open-conduit service`` as people call it, with a systemd that notes things."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.household import as_plain_user, init_variables
from tests.support.service import PROGRAM

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it is about systemd")

SYSTEMCTL = """#!/bin/sh
echo "$*" >> "$HOME/asked"
case "$*" in
"--user show --property=Version") exit "${SESSION:-0}" ;;
"--user show conduck.service"*) echo LoadState=loaded
  echo "ActiveState=${STATE:-active}"; echo StatusText=serving
  echo MainPID=99999907; echo UnitFileState=enabled ;;
"show conduck.service"*) echo LoadState=not-found ;;
*is-active*|*is-enabled*) exit "${SYSTEM:-3}" ;;
esac
"""
LOGINCTL = "#!/bin/sh\necho Linger=${LINGER:-yes}\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose person has a config, and programs of systemd."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    for name, text in (("systemctl", SYSTEMCTL), ("loginctl", LOGINCTL)):
        file = tmp_path / "bin" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    config = folder / ".config/open-conduit/config.json"
    config.parent.mkdir(parents=True)
    config.write_text("{}")
    return folder


def service(
    home: Path, *words: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    path = f"{home.parent}/bin:{os.environ['PATH']}"
    return subprocess.run(
        [*as_plain_user(), *PROGRAM, "service", *words],
        env=init_variables(home, {"PATH": path, **environment}),
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def asked(home: Path) -> list[str]:
    file = home / "asked"
    return file.read_text().splitlines() if file.exists() else []


def unit(home: Path) -> Path:
    return home / ".config/systemd/user/conduck.service"


def test_a_service_of_ones_own(home: Path) -> None:
    done = service(home, "install")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Written: {unit(home)}" in done.stdout
    assert "Note" not in done.stdout
    text = unit(home).read_text()
    assert f"ExecStart={PROGRAM[0]} -m conduck_service serve\n" in text
    assert f"PATH={home}/.local/bin:" in text
    assert asked(home)[-1] == "--user restart conduck.service"
    assert "CONDUCK_FILES_DIR" not in text
    again = service(
        *(home, "install", "--no-start", "--path", "/only"),
        LINGER="no",
        CONDUCK_FILES_DIR="/sr v",
    )
    assert (again.returncode, again.stderr) == (0, "")
    assert "Environment=PATH=/only\n" in unit(home).read_text()
    assert 'Environment="CONDUCK_FILES_DIR=/sr v"\n' in unit(home).read_text()
    assert "enable-linger" in again.stdout
    assert asked(home)[-1] == "--user daemon-reload"
    gone = service(home, "uninstall")
    assert (gone.returncode, gone.stderr) == (0, "")
    assert not unit(home).exists()
    assert (home / ".config/open-conduit/config.json").exists()
    assert service(home, "uninstall").returncode == 1


def test_places_that_are_not_the_usual_ones_are_written_down(home: Path) -> None:
    config = home / "my config.json"
    config.symlink_to(home / ".config/open-conduit/config.json")
    words = ("--config", str(config), "--data-dir", "state")
    done = service(home, "install", "--print", *words)
    assert (done.returncode, done.stderr) == (0, "")
    options = f'--config "{config}" --data-dir {home}/state'
    assert f"conduck_service serve {options}\n" in done.stdout
    assert not unit(home).exists()
    assert asked(home) == []
    done = service(home, "install", "--data-dir", "a\nb")
    assert done.returncode == 1
    assert "characters" in done.stderr


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"SYSTEM": "0"}, "the system's service is enabled or runs"),
        ({"SESSION": "1"}, "cannot be asked"),
        (
            {"OPEN_CONDUIT_CONFIG": "/nowhere/config.json"},
            "open-conduit init makes one",
        ),
        ({"HOME": "/nowhere"}, "HOME is not a folder of this user"),
    ],
)
def test_what_stands_in_the_way(
    home: Path, environment: dict[str, str], words: str
) -> None:
    done = service(home, "install", **environment)
    assert done.returncode == 1, done.stdout
    assert words in done.stderr
    assert not unit(home).exists()
    bad = service(home, "install", "--path", "relative")
    assert bad.returncode == 1
    assert "--path" in bad.stderr


def test_a_home_of_somebody_else_is_none(home: Path) -> None:
    other = home.parent / "other"
    other.mkdir()
    if os.geteuid() == 0:
        os.chown(other, 1234, 1234)
    else:
        other = Path("/")
    done = service(home, "install", HOME=str(other))
    assert done.returncode == 1
    assert "HOME is not a folder of this user" in done.stderr


def test_what_somebody_else_wrote_is_not_removed(home: Path) -> None:
    unit(home).parent.mkdir(parents=True)
    unit(home).write_text("[Service]\n")
    done = service(home, "uninstall")
    assert done.returncode == 1
    assert "somebody else" in done.stderr
    assert unit(home).exists()


def test_how_it_goes(home: Path) -> None:
    done = service(home, "status")
    assert (done.returncode, done.stderr) == (0, "")
    expected = "your own service (systemd): active, starts by itself, process 99999907"
    assert done.stdout.splitlines()[:2] == [expected, "  serving"]
    done = service(home, "status", "--json", STATE="failed", LINGER="no")
    assert (done.returncode, done.stderr) == (1, "")
    told: dict[str, Any] = json.loads(done.stdout)
    (one,) = told["services"]
    assert (one["whose"], one["state"], one["is_running"]) == ("own", "failed", False)
    assert told["notes"]


def test_there_is_none(home: Path) -> None:
    (home.parent / "bin/systemctl").write_text("#!/bin/sh\nexit 1\n")
    done = service(home, "status")
    assert done.returncode == 1
    assert "open-conduit service install" in done.stdout


def test_run_as_is_for_root(home: Path) -> None:
    done = service(home, "run-as", "daemon")
    assert (done.returncode, done.stdout) == (1, "")
    assert "sudo" in done.stderr
    assert service(home, "run-as").returncode == 2
    assert service(home, "run-as", "daemon", "--reset").returncode == 2


def by_root(*words: str, path: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, "service", *words],
        env=init_variables(Path("/nowhere"), {"PATH": path}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_systems_service_runs_as_a_person(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    usermod = tmp_path / "bin/usermod"
    usermod.write_text(f'#!/bin/sh\necho "$*" > {tmp_path}/joined\n')
    usermod.chmod(0o755)
    path = f"{tmp_path}/bin:{os.environ['PATH']}"
    root = ("--root", str(tmp_path))
    done = by_root("run-as", "daemon", *root, path=path)
    assert done.returncode == 1
    assert "no system service" in done.stderr
    folder = tmp_path / "usr/lib/systemd/system"
    folder.mkdir(parents=True)
    (folder / "conduck.service").touch()
    for name, words in (("root", "as root"), ("no-such-user", "no user of that name")):
        done = by_root("run-as", name, *root, path=path)
        assert (done.returncode, done.stdout) == (1, "")
        assert words in done.stderr
    assert by_root("install", path=path).returncode == 1  # and never root's own
    reset = by_root("run-as", "conduck", *root, path=path)
    assert (reset.returncode, reset.stderr) == (0, "")
    assert "already" in reset.stdout
