"""A person's own service under launchd, of which there is none here."""

from __future__ import annotations

import plistlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conduck_service.service.own import OwnService
from conduck_service.service.programs import Ran
from conduck_service.service.refusal import RefusedError
from conduck_service.service.user_agent import UserAgent
from tests.service.fakes import FakePrograms, account

NAME = "gui/1234/local.conduck"
GONE = Ran(113, "", "Could not find service")
UNLOADED = {"launchctl print gui/1234/": GONE}
ARGV = ["/opt/homebrew/bin/open-conduit", "serve"]


def service(home: Path, programs: FakePrograms) -> OwnService:
    return UserAgent(account(home), programs, lambda _seconds: None)


class Ending(FakePrograms):
    """An agent that is loaded until it was asked about so often."""

    left = 3

    def run(self, argv: Sequence[str], **options: Any) -> Ran:
        ran = super().run(argv, **options)
        if list(argv) == ["launchctl", "print", NAME]:
            self.left -= 1
            return GONE if self.left < 0 else Ran(0)
        return ran


def test_it_is_written_and_loaded(tmp_path: Path) -> None:
    programs = FakePrograms(dict(UNLOADED))
    own = service(tmp_path, programs)
    (note,) = own.install(own.text(ARGV, {"PATH": "/bin"}), start=True)
    assert "log in at the screen" in note
    assert own.file == tmp_path / "Library/LaunchAgents/local.conduck.plist"
    assert plistlib.loads(own.file.read_bytes())["ProgramArguments"] == ARGV
    assert (tmp_path / "Library/Logs").is_dir()  # launchd makes no folder for it
    assert programs.asked[-2:] == [
        f"launchctl enable {NAME}",
        f"launchctl bootstrap gui/1234 {own.file}",
    ]


def test_one_that_runs_is_ended_before_the_next(tmp_path: Path) -> None:
    programs = Ending({"launchctl print gui/1234/homebrew": GONE})
    own = service(tmp_path, programs)
    own.install(own.text(ARGV, {"PATH": "/bin"}), start=True)
    out = programs.asked.index(f"launchctl bootout {NAME}")
    assert programs.asked.index(f"launchctl bootstrap gui/1234 {own.file}") > out
    assert programs.left < 0


def test_one_that_does_not_end_is_told(tmp_path: Path) -> None:
    programs = Ending({"launchctl print gui/1234/homebrew": GONE})
    programs.left = 1000
    own = service(tmp_path, programs)
    with pytest.raises(RefusedError, match="does not end"):
        own.install(own.text(ARGV, {"PATH": "/bin"}), start=True)
    assert not own.file.exists()


def test_it_is_only_written(tmp_path: Path) -> None:
    programs = FakePrograms(dict(UNLOADED))
    own = service(tmp_path, programs)
    own.install(own.text(ARGV, {"PATH": "/bin"}), start=False)
    assert own.file.exists()
    assert not [line for line in programs.asked if "bootstrap" in line]


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ({}, "Homebrew"),
        (
            {**UNLOADED, "launchctl print gui/1234": Ran(125, "", "no such domain")},
            "no such domain; log in",
        ),
        ({**UNLOADED, "launchctl bootstrap": Ran(5, "", "Input/output error")}, "Logs"),
    ],
    ids=["brew", "nobody at the screen", "launchd refuses"],
)
def test_what_stands_in_the_way(
    tmp_path: Path, answers: dict[str, Ran], words: str
) -> None:
    own = service(tmp_path, FakePrograms(answers))
    with pytest.raises(RefusedError, match=words):
        own.install(own.text(ARGV, {"PATH": "/bin"}), start=True)


def test_nothing_of_it_stays(tmp_path: Path) -> None:
    programs = FakePrograms(dict(UNLOADED))
    own = service(tmp_path, programs)
    assert own.uninstall() is False
    own.install(own.text(ARGV, {"PATH": "/bin"}), start=True)
    assert own.uninstall() is True
    assert not own.file.exists()


def test_how_it_goes(tmp_path: Path) -> None:
    own = service(tmp_path, FakePrograms(dict(UNLOADED)))
    assert own.status().services == []
    own.install(own.text(ARGV, {"PATH": "/bin"}), start=True)
    (state,) = own.status().services
    assert (state.state, state.is_running, state.pid) == ("not loaded", False, 0)
    told = f"{NAME} = {{\n\tstate = running\n\tpid = 77\n\tlast exit code = 1\n}}\n"
    programs = FakePrograms({f"launchctl print {NAME}": Ran(0, told)})
    (state,) = service(tmp_path, programs).status().services
    assert (state.whose, state.manager, state.pid) == ("own", "launchd", 77)
    assert (state.is_running, state.starts_itself) == (True, True)
    assert state.text == "last exit code 1"
