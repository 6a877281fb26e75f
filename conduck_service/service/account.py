"""Users of this machine, as the service needs to know them."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user.

    Attributes:
        name: What the user is called.
        uid: Its number.
        gid: That of its primary group.
        home: Its home folder, absolute.
        login_shell: Its login shell.
    """

    name: str
    uid: int
    gid: int
    home: Path
    login_shell: str

    @property
    def environment(self) -> dict[str, str]:
        """What a login begins with."""
        return {
            "HOME": str(self.home),
            "LOGNAME": self.name,
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "SHELL": self.login_shell,
            "TERM": "dumb",
            "USER": self.name,
        }


def account_named(name: str) -> Account | None:
    """Return the user of that name, if there is one."""
    try:
        return _account(pwd.getpwnam(name))
    except (KeyError, ValueError):  # a name with a NUL in it
        return None


def own_account(environment: Mapping[str, str]) -> Account:
    """Return the user of this process, at home where its variables say."""
    uid = os.geteuid()
    home = Path(environment.get("HOME", ""))
    try:
        return replace(_account(pwd.getpwuid(uid)), home=home)
    except KeyError:  # a container may give out numbers without names
        return Account(
            name=str(uid), uid=uid, gid=os.getegid(), home=home, login_shell="/bin/sh"
        )


def _account(entry: pwd.struct_passwd) -> Account:
    return Account(
        name=entry.pw_name,
        uid=entry.pw_uid,
        gid=entry.pw_gid,
        home=Path(entry.pw_dir),
        login_shell=entry.pw_shell or "/bin/sh",
    )
