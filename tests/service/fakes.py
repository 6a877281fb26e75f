"""A person, and a systemd or launchd that only notes what it is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conduck_service.service.account import Account
from conduck_service.service.programs import SECONDS, Programs, Ran

Answer = Callable[[tuple[str, ...]], Ran]


def account(home: Path, *, name: str = "alice", uid: int = 1234) -> Account:
    return Account(name=name, uid=uid, gid=uid, home=home, login_shell="/bin/sh")


@dataclass
class FakePrograms:
    """Answers by the beginning of what is asked; what it does not know goes well.

    Attributes:
        answers: Beginnings of command lines with what comes of them.
        asked: All that was asked, in order.
        environments: The variables of each.
    """

    answers: dict[str, Ran] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    environments: list[Mapping[str, str] | None] = field(default_factory=list)

    def run(
        self,
        argv: Sequence[str],
        *,
        account: Account | None = None,
        environment: Mapping[str, str] | None = None,
        seconds: float = SECONDS,
    ) -> Ran:
        del account, seconds
        line = " ".join(argv)
        self.asked.append(line)
        self.environments.append(environment)
        for beginning, ran in self.answers.items():
            if line.startswith(beginning):
                return ran
        return Ran(0)


_: Programs = FakePrograms()
