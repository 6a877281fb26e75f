"""A person's own service as a unit of systemd for her logins."""

from __future__ import annotations

import pwd
from collections.abc import Mapping, Sequence
from pathlib import Path

from conduck_service.service.account import Account
from conduck_service.service.names import BREW_UNIT, UNIT
from conduck_service.service.own import (
    State,
    Status,
    answers_yes,
    must,
    remove,
    write,
)
from conduck_service.service.programs import Programs, Ran
from conduck_service.service.refusal import RefusedError
from conduck_service.service.unit import MARK, own_unit

_PROPERTIES = (
    "LoadState,ActiveState,UnitFileState,StatusText,MainPID,FragmentPath,User,Result,"
    "ExecMainStatus"
)
_STARTS = {"enabled", "enabled-runtime", "linked", "static"}
_RUNNING = {"active", "reloading"}
_HEAD = 4096
_MEANINGS = {
    "200": "the home folder of its user cannot be entered",
    "203": "its program is not there, or cannot be run: install it again, and then "
    "say service install or run-as anew",
    "217": "its user does not exist any more: say service run-as anew",
    "226": "a folder that it may write to is not there: make it, or say service "
    "run-as anew",
    "243": "a credential that a drop-in names is not there",
}
"""What systemd's own numbers mean for this unit, in words."""


class UserUnit:
    """The unit in a person's home, and what systemd says of it.

    Args:
        account: The person.
        environment: Variables of this process.
        programs: Asks systemd.
    """

    def __init__(
        self, account: Account, environment: Mapping[str, str], programs: Programs
    ) -> None:
        self._account = account
        self._programs = programs
        # Without a login of its own, as after su, the variable is not there.
        usual = {"XDG_RUNTIME_DIR": f"/run/user/{account.uid}"}
        self._environment = {**usual, **environment}
        given = Path(environment.get("XDG_CONFIG_HOME", ""))
        base = given if given.is_absolute() else account.home / ".config"
        self._file = base / "systemd/user" / UNIT

    @property
    def file(self) -> Path:
        """Where the unit is."""
        return self._file

    def text(self, argv: Sequence[str], variables: Mapping[str, str]) -> str:
        """Return the unit; see ``OwnService``."""
        return own_unit(argv, variables)

    def check(self) -> None:
        """Refuse what stands in the way; see ``OwnService``."""
        self._refuse_other_ways()
        if not self._is_ours():
            raise RefusedError(
                f"{self._file} is there and was written by somebody else",
                "move it away, or go on with it",
            )
        must(
            self._systemctl("show", "--property=Version"),
            "the systemd of your logins cannot be asked",
            "log in as this user rather than with su or sudo; on a server that is "
            f"never logged in to, loginctl enable-linger {self._account.name} as root "
            "starts it (Debian has both in libpam-systemd)",
        )

    def install(self, text: str, *, start: bool) -> list[str]:
        """Write the unit and start it; see ``OwnService``."""
        self.check()
        write(self._file, text.encode())
        self._tell("daemon-reload")
        if start:
            self._tell("enable", UNIT)
            # One that runs goes on with the old unit otherwise.
            self._tell("restart", UNIT)
        if self._lingers():
            return []
        return [
            "it ends when you log out, and starts when you log in: loginctl "
            "enable-linger (once) keeps it running"
        ]

    def uninstall(self) -> bool:
        """Stop the unit and remove it; see ``OwnService``."""
        if not self._file.exists():
            return False
        if not self._is_ours():
            raise RefusedError(
                f"{self._file} was written by somebody else",
                f"systemctl --user disable --now {UNIT} stops it; then remove it",
            )
        self._tell("disable", "--now", UNIT)
        remove(self._file)
        self._tell("daemon-reload")
        self._systemctl("reset-failed", UNIT)  # fails when nothing has failed
        return True

    def status(self) -> Status:
        """Return how both services go; see ``OwnService``."""
        own = _state("own", self._systemctl("show", UNIT, f"--property={_PROPERTIES}"))
        ran = self._programs.run(
            ("systemctl", "show", UNIT, f"--property={_PROPERTIES}")
        )
        system = _state("system", ran)
        notes = []
        if own is not None and not self._lingers():
            notes.append("your own service ends when you log out")
        return Status(
            services=[state for state in (own, system) if state is not None],
            notes=notes,
        )

    def _systemctl(self, *words: str) -> Ran:
        argv = ("systemctl", "--user", *words)
        return self._programs.run(argv, environment=self._environment)

    def _tell(self, *words: str) -> None:
        must(
            self._systemctl(*words),
            f"systemctl --user {' '.join(words)}",
            f"systemctl --user status {UNIT} says more",
        )

    def _lingers(self) -> bool:
        argv = ("loginctl", "show-user", self._account.name, "--property=Linger")
        return "Linger=yes" in self._programs.run(argv).output

    def _is_ours(self) -> bool:
        """Say whether the file may be written over; one that is missing may."""
        try:
            with self._file.open("rb") as file:
                return file.read(_HEAD).startswith(MARK.encode())
        except FileNotFoundError:
            return True
        except OSError:
            return False

    def _refuse_other_ways(self) -> None:
        ask = ("systemctl", "--quiet")
        if answers_yes(self._programs, *ask, "is-active", UNIT) or answers_yes(
            self._programs, *ask, "is-enabled", UNIT
        ):
            raise RefusedError(
                "the system's service is enabled or runs, and both would want the "
                "same ports",
                "go on with it (sudo open-conduit service run-as makes it yours), or "
                "first say sudo systemctl disable --now conduck",
            )
        if self._systemctl("--quiet", "is-active", BREW_UNIT).status == 0:
            raise RefusedError(
                "Homebrew runs the service already",
                "go on with that, or first say brew services stop conduck",
            )


def _state(whose: str, ran: Ran) -> State | None:
    """Return how a service goes, from what systemd tells; None if there is none."""
    pairs = (line.partition("=") for line in ran.output.splitlines())
    told = {name: value for name, _equals, value in pairs}
    if ran.status or told.get("LoadState", "not-found") == "not-found":
        return None
    active = told.get("ActiveState", "")
    text = told.get("StatusText", "")
    if active == "failed":
        text = _end(text, told)
    return State(
        whose=whose,
        manager="systemd",
        name=UNIT,
        file=told.get("FragmentPath", ""),
        starts_itself=told.get("UnitFileState", "") in _STARTS,
        state=active,
        is_running=active in _RUNNING,
        text=text,
        user=_runs_as(int(told.get("MainPID") or 0)) or told.get("User", ""),
        pid=int(told.get("MainPID") or 0),
    )


def _runs_as(pid: int) -> str:
    """Return whose a process is; the unit may name another from the next start on."""
    try:
        return pwd.getpwuid(Path(f"/proc/{pid}").stat().st_uid).pw_name if pid else ""
    except (OSError, KeyError):
        return ""


def _end(text: str, told: Mapping[str, str]) -> str:
    """Return how a service ended, with what it said itself, if anything."""
    status = told.get("ExecMainStatus", "")
    ended = f"{told.get('Result')}, status {status}"
    text = text or _MEANINGS.get(status, "")
    return f"{text} ({ended})" if text else ended
