"""A person's own service under systemd, which here only notes what it is asked."""

from __future__ import annotations

import os
import pwd
import sys
from pathlib import Path

import pytest

from conduck_service.service.own import OwnService
from conduck_service.service.programs import Ran
from conduck_service.service.refusal import RefusedError
from conduck_service.service.user_unit import UserUnit
from tests.service.fakes import FakePrograms, account

INACTIVE = {
    "systemctl --quiet is-active": Ran(3),
    "systemctl --quiet is-enabled": Ran(1),
    "systemctl --user --quiet is-active": Ran(3),
}
LINGERS = {"loginctl": Ran(0, "Linger=yes\n")}
UNIT = "conduck.service"


def service(home: Path, programs: FakePrograms, **variables: str) -> OwnService:
    return UserUnit(account(home), {"HOME": str(home), **variables}, programs)


def written(home: Path) -> Path:
    return home / ".config/systemd/user" / UNIT


def test_it_is_written_enabled_and_started(tmp_path: Path) -> None:
    programs = FakePrograms({**INACTIVE, **LINGERS})
    own = service(tmp_path, programs)
    text = own.text(["/p/open-conduit", "serve"], {"PATH": "/bin"})
    assert own.install(text, start=True) == []
    assert own.file == written(tmp_path)
    assert own.file.read_text() == text
    assert own.file.stat().st_mode & 0o777 == 0o644
    told = [line for line in programs.asked if "--user" in line][-3:]
    assert told == [
        "systemctl --user daemon-reload",
        f"systemctl --user enable {UNIT}",
        f"systemctl --user restart {UNIT}",
    ]
    # As after su, which sets no such variable.
    runtimes = [env["XDG_RUNTIME_DIR"] for env in programs.environments if env]
    assert set(runtimes) == {"/run/user/1234"}


def test_it_is_written_again_and_not_started(tmp_path: Path) -> None:
    programs = FakePrograms({**INACTIVE, **LINGERS})
    own = service(tmp_path, programs)
    own.install(own.text(["/old", "serve"], {"PATH": "/bin"}), start=True)
    programs.asked.clear()
    own.install(own.text(["/new", "serve"], {"PATH": "/bin"}), start=False)
    assert "ExecStart=/new serve" in own.file.read_text()
    assert not [line for line in programs.asked if "start" in line]


def test_who_does_not_linger_is_told(tmp_path: Path) -> None:
    programs = FakePrograms({**INACTIVE, "loginctl": Ran(0, "Linger=no\n")})
    own = service(tmp_path, programs)
    (note,) = own.install(own.text(["/p", "serve"], {"PATH": "/bin"}), start=True)
    assert "enable-linger" in note


def test_the_config_folder_may_be_elsewhere(tmp_path: Path) -> None:
    base = tmp_path / "conf"
    own = service(tmp_path, FakePrograms(), XDG_CONFIG_HOME=str(base))
    assert own.file == base / "systemd/user" / UNIT
    own = service(tmp_path, FakePrograms(), XDG_CONFIG_HOME="relative")
    assert own.file == written(tmp_path)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"systemctl --quiet is-active": Ran(0)}, "run-as"),
        ({"systemctl --quiet is-enabled": Ran(0)}, "disable --now"),
        ({"systemctl --user --quiet is-active": Ran(0)}, "brew services stop"),
        (
            {"systemctl --user show": Ran(1, "", "Failed to connect to bus\n")},
            "Failed to connect to bus; log in",
        ),
        (
            {"systemctl --user show": Ran(127, "", "No such file or directory")},
            "No such file",
        ),
    ],
    ids=["it runs", "it is enabled", "brew", "no session", "no systemd"],
)
def test_there_is_one_way_at_a_time(
    tmp_path: Path, changed: dict[str, Ran], words: str
) -> None:
    programs = FakePrograms({**INACTIVE, **LINGERS, **changed})
    own = service(tmp_path, programs)
    with pytest.raises(RefusedError, match=words):
        own.install(own.text(["/p", "serve"], {"PATH": "/bin"}), start=True)
    assert not own.file.parent.exists()


def test_what_somebody_else_wrote_stays(tmp_path: Path) -> None:
    own = service(tmp_path, FakePrograms({**INACTIVE, **LINGERS}))
    own.file.parent.mkdir(parents=True)
    own.file.write_text("[Service]\n")
    with pytest.raises(RefusedError, match="somebody else"):
        own.install(own.text(["/p", "serve"], {"PATH": "/bin"}), start=True)
    with pytest.raises(RefusedError, match="somebody else"):
        own.uninstall()
    assert own.file.read_text() == "[Service]\n"
    own.file.unlink()
    own.file.mkdir()
    with pytest.raises(RefusedError, match="somebody else"):
        own.check()


def test_what_systemd_refuses_is_told(tmp_path: Path) -> None:
    refusal = Ran(1, "", "Job for conduck.service failed\n")
    programs = FakePrograms(
        {**INACTIVE, **LINGERS, "systemctl --user restart": refusal}
    )
    own = service(tmp_path, programs)
    with pytest.raises(RefusedError, match=r"failed; systemctl --user status"):
        own.install(own.text(["/p", "serve"], {"PATH": "/bin"}), start=True)


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    own = service(tmp_path, FakePrograms({**INACTIVE, **LINGERS}))
    (tmp_path / ".config").write_text("")
    with pytest.raises(RefusedError, match=r"conduck\.service"):
        own.install(own.text(["/p", "serve"], {"PATH": "/bin"}), start=True)
    (tmp_path / ".config").unlink()
    own.file.parent.mkdir(parents=True)
    own.file.symlink_to("/dev/null")
    with pytest.raises(RefusedError, match="somebody else"):
        own.install(own.text(["/p", "serve"], {"PATH": "/bin"}), start=True)


def test_nothing_of_it_stays(tmp_path: Path) -> None:
    programs = FakePrograms({**INACTIVE, **LINGERS})
    own = service(tmp_path, programs)
    assert own.uninstall() is False
    assert programs.asked == []
    own.install(own.text(["/p", "serve"], {"PATH": "/bin"}), start=True)
    programs.asked.clear()
    assert own.uninstall() is True
    assert not own.file.exists()
    assert programs.asked == [
        f"systemctl --user disable --now {UNIT}",
        "systemctl --user daemon-reload",
        f"systemctl --user reset-failed {UNIT}",
    ]


def shown(**told: str) -> Ran:
    return Ran(0, "".join(f"{name}={value}\n" for name, value in told.items()))


def test_how_it_goes(tmp_path: Path) -> None:
    own = shown(
        LoadState="loaded",
        ActiveState="active",
        UnitFileState="enabled",
        StatusText="serving at http://127.0.0.1:1=2",
        MainPID="99999912",
        FragmentPath="/h/unit",
        Result="success",
        ExecMainStatus="0",
    )
    failed = shown(
        LoadState="loaded",
        ActiveState="failed",
        UnitFileState="disabled",
        StatusText="the config cannot be used",
        MainPID="0",
        FragmentPath="/usr/lib/unit",
        User="alice",
        Result="exit-code",
        ExecMainStatus="78",
    )
    answers = {"systemctl --user show": own, "systemctl show": failed, **LINGERS}
    status = service(tmp_path, FakePrograms(answers)).status()
    mine, system = status.services
    assert (mine.whose, mine.state, mine.is_running) == ("own", "active", True)
    assert (mine.text, mine.pid) == ("serving at http://127.0.0.1:1=2", 99999912)
    assert mine.starts_itself
    assert (system.whose, system.user, system.is_running) == ("system", "alice", False)
    assert system.text == "the config cannot be used (exit-code, status 78)"
    assert status.notes == []
    answers["loginctl"] = Ran(1)
    status = service(tmp_path, FakePrograms(answers)).status()
    assert status.notes == ["your own service ends when you log out"]


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is for Linux")
def test_it_is_told_as_whom_it_runs_now_and_not_from_the_next_start_on(
    tmp_path: Path,
) -> None:
    told = {"ActiveState": "active", "LoadState": "loaded", "User": "nobody-yet"}
    running = shown(**told, MainPID=str(os.getpid()))
    answers = {"systemctl --user show": Ran(1), "systemctl show": running}
    (state,) = service(tmp_path, FakePrograms(answers)).status().services
    assert state.user == pwd.getpwuid(os.geteuid()).pw_name


def test_how_it_failed_is_told_when_it_said_nothing(tmp_path: Path) -> None:
    told = {"ActiveState": "failed", "LoadState": "loaded"}
    failed = shown(**told, Result="signal", ExecMainStatus="9")
    answers = {"systemctl --user show": failed, "systemctl show": Ran(127)}
    (state,) = service(tmp_path, FakePrograms(answers)).status().services
    assert state.text == "signal, status 9"
    failed = shown(**told, Result="exit-code", ExecMainStatus="203")
    answers["systemctl --user show"] = failed
    (state,) = service(tmp_path, FakePrograms(answers)).status().services
    assert state.text.startswith("its program is not there")
    assert state.text.endswith("(exit-code, status 203)")


def test_there_may_be_none(tmp_path: Path) -> None:
    answers = {"systemctl": shown(LoadState="not-found", ActiveState="inactive")}
    assert service(tmp_path, FakePrograms(answers)).status().services == []
