"""The units and the agent that ship, and those that are written for a person."""

from __future__ import annotations

import plistlib
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conduck_service.base.jsonio import JsonValue
from conduck_service.daemon.daemon import ENDING_LIMIT, SHUTDOWN_GRACE
from conduck_service.service.engines import Found, search_path
from conduck_service.service.launch_agent import agent
from conduck_service.service.names import LABEL
from conduck_service.service.unit import Grant, own_unit, run_as_drop_in
from tests.service.fakes import account
from tests.support.service import PROGRAM, variables

ROOT = Path(__file__).parents[2]
SYSTEM = ROOT / "systemd/conduck.service"
OWN = ROOT / "systemd/conduck.user.service"
AGENT = ROOT / "launchd" / f"{LABEL}.plist"
MOST_EXPOSED = 3.0

req = pytest.mark.req
with_analyze = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze"
)
NOTHING = Found({}, {})


def keys(text: str) -> dict[str, list[str]]:
    """Return what a unit sets, in order."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line and line[0] not in "#[":
            name, _equals, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


def analyze(
    *words: str, folder: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["systemd-analyze", *words],
        env=variables() | {"HOME": str(folder), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def installed(folder: Path, text: str, drop_in: str = "") -> Path:
    """Write a unit whose program is there, as systemd would find it."""
    unit = folder / "conduck.service"
    unit.write_text(text.replace("/usr/bin/open-conduit", PROGRAM[0]), "utf-8")
    if drop_in:
        (folder / "conduck.service.d").mkdir()
        (folder / "conduck.service.d/10-run-as.conf").write_text(drop_in, "utf-8")
    return unit


@req("P-04")
@with_analyze
def test_the_systems_unit_is_a_good_one(tmp_path: Path) -> None:
    unit = installed(tmp_path, SYSTEM.read_text("utf-8"))
    done = analyze("verify", "--man=no", str(unit), folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


@with_analyze
def test_a_persons_own_unit_is_a_good_one(tmp_path: Path) -> None:
    unit = installed(tmp_path, own_unit([PROGRAM[0], "serve"], {"PATH": "/bin"}))
    runtime = {"XDG_RUNTIME_DIR": str(tmp_path)}
    words = ("verify", "--user", "--man=no", str(unit))
    done = analyze(*words, folder=tmp_path, **runtime)
    # It looks at the units of other programs too, which are not our business.
    ours = [line for line in done.stdout.splitlines() if "conduck.service" in line]
    assert (done.returncode, ours) == (0, [])


@with_analyze
@pytest.mark.parametrize(
    ("drop_in", "most"),
    [
        ("", MOST_EXPOSED),
        (run_as_drop_in(account(Path("/home/alice")), Grant(path="/usr/bin")), 3.2),
    ],
    ids=["as it is", "run as a person"],
)
def test_little_of_the_machine_is_open_to_it(
    tmp_path: Path, drop_in: str, most: float
) -> None:
    text = SYSTEM.read_text("utf-8")
    if drop_in:
        text = text.replace("\n[Install]", f"\n{drop_in}\n[Install]")
    unit = installed(tmp_path, text)
    limit = f"--threshold={most * 10:.0f}"
    words = ("security", "--offline=yes", limit, "--no-pager", str(unit))
    done = analyze(*words, folder=tmp_path)
    assert done.returncode == 0, done.stdout[-200:]
    tighter = analyze(
        *("security", "--offline=yes", "--threshold=5", "--no-pager", str(unit)),
        folder=tmp_path,
    )
    assert tighter.returncode  # the control: it does compare


@req("P-19", "P-24", "P-25", "P-26")
def test_what_the_systems_unit_says() -> None:
    found = keys(SYSTEM.read_text("utf-8"))
    assert found["WantedBy"] == ["multi-user.target"]
    assert found["User"] == ["conduck"]
    # Not the group itself: what an engine makes elsewhere is not for the group.
    assert found["SupplementaryGroups"] == ["conduck"]
    assert "Group" not in found
    assert found["UMask"] == ["0007"]
    assert found["StateDirectoryMode"] == ["0700"]
    assert found["Type"] == ["notify"]
    assert found["KillMode"] == ["mixed"]
    assert "CONDUCK_FILES_DIR=/srv/conduck" in found["Environment"]
    # What a Node program and a sandbox inside of an engine do not survive.
    for broken in (
        *("MemoryDenyWriteExecute", "ProcSubset", "RestrictNamespaces"),
        *("RestrictSUIDSGID", "PrivateUsers"),
    ):
        assert broken not in found
    assert "AF_NETLINK" in found["RestrictAddressFamilies"][0]


@pytest.mark.parametrize(
    "text",
    [SYSTEM.read_text("utf-8"), own_unit(["/p", "serve"], {"PATH": "/bin"})],
    ids=["system", "own"],
)
def test_systemd_waits_longer_than_a_stop_takes(text: str) -> None:
    found = keys(text)
    assert int(found["TimeoutStopSec"][0]) >= SHUTDOWN_GRACE + ENDING_LIMIT
    assert found["RestartPreventExitStatus"] == ["78"]
    assert found["Restart"] == ["on-failure"]
    assert found["KillMode"] == ["mixed"]
    assert found["Type"] == ["notify"]
    assert found["NotifyAccess"] == ["main"]
    assert int(found["WatchdogSec"][0]) > 0


def test_the_samples_are_what_is_written() -> None:
    path = search_path(Path("/home/you"), NOTHING)
    argv = ["/home/you/.local/bin/open-conduit", "serve"]
    assert OWN.read_text("utf-8") == own_unit(argv, {"PATH": path})
    home = Path("/Users/you")
    path = search_path(home, NOTHING, is_mac=True)
    argv = ["/opt/homebrew/bin/open-conduit", "serve"]
    assert AGENT.read_bytes() == agent(argv, {"PATH": path}, home)


def test_a_units_words_are_taken_as_they_are() -> None:
    path = "/home/x;y/$d/100%:/bin"
    text = own_unit(['/a b/%h/$HOME/open"conduit', "serve"], {"X": "1", "PATH": path})
    found = keys(text)
    assert found["ExecStart"] == ['"/a b/%%h/$$HOME/open\\"conduit" serve']
    assert found["Environment"][-1] == '"PATH=/home/x;y/$d/100%%:/bin"'
    assert found["UMask"] == ["0077"]


def test_what_the_drop_in_of_a_person_says() -> None:
    grant = Grant(path="/n/bin:/bin", folders=["/data/a b", "/data/c"], gpu=True)
    text = run_as_drop_in(account(Path("/home/alice")), grant)
    assert keys(text) == {
        "User": ["alice"],
        "RequiresMountsFor": ["/home/alice"],
        "StateDirectory": [""],
        "ProtectHome": ["no"],
        "ReadWritePaths": ["/home/alice", '"-/data/a b"', "-/data/c"],
        "Environment": ["PATH=/n/bin:/bin"],
        "PrivateDevices": ["no"],
    }
    text = run_as_drop_in(account(Path("/home/x"), name="SALES\\bob"), Grant(path="/b"))
    assert keys(text)["User"] == ["1234"]
    assert "PrivateDevices" not in text


@req("P-05", "P-22")
def test_every_key_of_the_agent() -> None:
    argv = ["/opt/homebrew/bin/open-conduit", "serve"]
    variables = {"CONDUCK_FILES_DIR": "/Volumes/shared", "PATH": "/p:/q"}
    text = agent(argv, variables, Path("/Users/you"))
    found: dict[str, Any] = plistlib.loads(text)
    log = "/Users/you/Library/Logs/conduck.log"
    expected: dict[str, JsonValue] = {
        "Label": "local.conduck",
        "ProgramArguments": ["/opt/homebrew/bin/open-conduit", "serve"],
        "EnvironmentVariables": {
            "CONDUCK_FILES_DIR": "/Volumes/shared",
            "LANG": "en_US.UTF-8",
            "PATH": "/p:/q",
        },
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 30,
        "ExitTimeOut": 60,
        "ProcessType": "Interactive",
        "Umask": 63,
        "WorkingDirectory": "/Users/you",
        "StandardOutPath": log,
        "StandardErrorPath": log,
        "SoftResourceLimits": {"NumberOfFiles": 4096},
    }
    assert found == expected  # no UserName, no LimitLoadToSessionType
    assert found["ExitTimeOut"] >= SHUTDOWN_GRACE + ENDING_LIMIT
    assert b"~" not in text
    assert b"$" not in text


@req("P-19")
@pytest.mark.skipif(shutil.which("systemctl") is None, reason="there is no systemctl")
def test_the_systems_unit_can_be_enabled(tmp_path: Path) -> None:
    folder = tmp_path / "usr/lib/systemd/system"
    folder.mkdir(parents=True)
    shutil.copy(SYSTEM, folder / "conduck.service")
    argv = ["systemctl", f"--root={tmp_path}", "enable", "conduck"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    wants = tmp_path / "etc/systemd/system/multi-user.target.wants"
    assert (wants / "conduck.service").is_symlink()
