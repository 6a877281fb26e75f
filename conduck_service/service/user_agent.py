"""A person's own service as an agent of launchd. Not run on a Mac so far."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from conduck_service.service.account import Account
from conduck_service.service.launch_agent import agent, agent_file, log_file
from conduck_service.service.names import BREW_LABEL, LABEL
from conduck_service.service.own import State, Status, must, remove, write
from conduck_service.service.programs import Programs, Ran
from conduck_service.service.refusal import RefusedError

_TRIES = 20
"""An agent that was told to go is still there until its turns have ended."""

_PAUSE = 3.0


class UserAgent:
    """The agent in a person's home, and what launchd says of it.

    Args:
        account: The person.
        programs: Asks launchd.
        wait: Waits so many seconds.
    """

    def __init__(
        self, account: Account, programs: Programs, wait: Callable[[float], object]
    ) -> None:
        self._home = account.home
        self._domain = f"gui/{account.uid}"
        self._programs = programs
        self._wait = wait

    @property
    def file(self) -> Path:
        """Where the property list is."""
        return agent_file(self._home)

    def text(self, argv: Sequence[str], variables: Mapping[str, str]) -> str:
        """Return the property list; see ``OwnService``."""
        return agent(argv, variables, self._home).decode()

    def check(self) -> None:
        """Refuse what stands in the way; see ``OwnService``."""
        if self._print(BREW_LABEL).status == 0:
            raise RefusedError(
                "Homebrew runs the service already, and both would want the same ports",
                "go on with that, or first say brew services stop conduck",
            )
        must(
            self._launchctl("print", self._domain),
            "there is no session of this user at the screen",
            "log in there once; an agent starts with that login",
        )

    def install(self, text: str, *, start: bool) -> list[str]:
        """Write the agent and load it; see ``OwnService``."""
        self.check()
        self._unload()
        write(self.file, text.encode())
        log_file(self._home).parent.mkdir(parents=True, exist_ok=True)
        if start:
            # What was once disabled stays so until this is said.
            self._launchctl("enable", self._name)
            must(
                self._launchctl("bootstrap", self._domain, str(self.file)),
                "launchctl bootstrap",
                f"look into {log_file(self._home)}",
            )
        return ["it starts when you log in at the screen, not before"]

    def uninstall(self) -> bool:
        """Unload the agent and remove it; see ``OwnService``."""
        was_there = self.file.exists()
        was_loaded = self._unload()
        remove(self.file)
        return was_there or was_loaded

    def status(self) -> Status:
        """Return how it goes; see ``OwnService``."""
        ran = self._print(LABEL)
        is_loaded = ran.status == 0
        if not (is_loaded or self.file.exists()):
            return Status(services=[])
        told = dict(re.findall(r"^\s*([a-z ]+?) = (.*)$", ran.output, re.MULTILINE))
        state = told.get("state", "unknown") if is_loaded else "not loaded"
        ended = told.get("last exit code", "")
        pid = told.get("pid", "")
        one = State(
            whose="own",
            manager="launchd",
            name=LABEL,
            file=str(self.file),
            starts_itself=self.file.exists(),
            state=state,
            is_running=state == "running",
            text=f"last exit code {ended}" if ended else "",
            pid=int(pid) if pid.isdecimal() else 0,
        )
        return Status(services=[one])

    @property
    def _name(self) -> str:
        return f"{self._domain}/{LABEL}"

    def _unload(self) -> bool:
        """Stop the agent and wait for its end; say whether it was loaded."""
        if self._print(LABEL).status:
            return False
        self._launchctl("bootout", self._name)
        for _try in range(_TRIES):
            if self._print(LABEL).status:
                return True
            self._wait(_PAUSE)
        raise RefusedError(
            "the agent that runs does not end",
            f"launchctl kill KILL {self._name} ends it",
        )

    def _print(self, label: str) -> Ran:
        return self._launchctl("print", f"{self._domain}/{label}")

    def _launchctl(self, *words: str) -> Ran:
        return self._programs.run(("launchctl", *words))
