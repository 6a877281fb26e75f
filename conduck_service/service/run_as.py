"""Lets the system's service run as a person, whose engines and logins it then has."""

from __future__ import annotations

import contextlib
import grp
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conduck_service.service.account import Account
from conduck_service.service.engines import (
    Found,
    check_folders,
    checked_path,
    find_in_login,
    search_path,
)
from conduck_service.service.names import UNIT, USER
from conduck_service.service.own import answers_yes, must, remove, write
from conduck_service.service.programs import Programs
from conduck_service.service.refusal import RefusedError
from conduck_service.service.unit import Grant, run_as_drop_in

DROP_IN = Path("etc/systemd/system") / f"{UNIT}.d" / "10-run-as.conf"

_UNITS = ("etc/systemd/system", "usr/lib/systemd/system", "lib/systemd/system")
_RELOAD = ("systemctl", "daemon-reload")
_CONFIG = ".config/open-conduit/config.json"
_OWN_UNIT = f".config/systemd/user/default.target.wants/{UNIT}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What ``run-as`` is about to do.

    Attributes:
        account: The person.
        found: Her engines.
        grant: What the service gets.
        text: The drop-in.
        joins: Whether she is to join the group of the shared folder.
    """

    account: Account
    found: Found
    grant: Grant
    text: str
    joins: bool


class RunAs:
    """The drop-in of the system's service.

    Args:
        root: The folder that the system lies in; anything but ``/`` is for images.
        programs: Asks systemd and the person's shell.
    """

    def __init__(self, root: Path, programs: Programs) -> None:
        self._root = root
        self._programs = programs

    @property
    def file(self) -> Path:
        """Where the drop-in is."""
        return self._root / DROP_IN

    def plan(
        self,
        account: Account,
        *,
        path: str = "",
        folders: Sequence[str] = (),
        gpu: bool = False,
    ) -> Plan:
        """Return what there is to do; nothing is changed.

        Args:
            account: The person.
            path: The PATH of the service; empty to make it of where her engines are.
            folders: Folders beside her home that the engines may write to.
            gpu: Whether they see the machine's devices.

        Raises:
            RefusedError: It cannot be this person, or there is no service.
        """
        self._check_service()
        self._check_account(account)
        if folders:
            check_folders("--folder", folders)
        given = checked_path(path) if path else ""
        found = find_in_login(account, self._programs)
        grant = Grant(
            path=given or search_path(account.home, found), folders=folders, gpu=gpu
        )
        return Plan(
            account=account,
            found=found,
            grant=grant,
            text=run_as_drop_in(account, grant),
            joins=not _is_member(account),
        )

    def apply(self, plan: Plan) -> None:
        """Do it; the service has to be started anew to follow.

        Raises:
            RefusedError: Not all of it could be done.
        """
        if plan.joins:
            must(
                self._programs.run(("usermod", "-aG", USER, plan.account.name)),
                f"usermod -aG {USER} {plan.account.name}",
                "add the user to that group by hand, and call this again",
            )
        write(self.file, plan.text.encode())
        self.file.parent.chmod(0o755)  # whatever the umask: people may look at it
        self._reload()

    def reset(self) -> bool:
        """Let the service be that of its own user again; say whether it was not.

        Raises:
            RefusedError: It could not be done.
        """
        was_there = self.file.exists()
        remove(self.file)
        with contextlib.suppress(OSError):  # the operator's own drop-ins stay
            self.file.parent.rmdir()
        if was_there:
            self._reload()
        return was_there

    def has_config(self, account: Account) -> bool:
        """Say whether the person has a config where the service looks for it."""
        ran = self._programs.run(
            ("/bin/sh", "-c", 'test -f "$1"', "sh", str(account.home / _CONFIG)),
            account=account,
        )
        return ran.status == 0

    def needs_keyring(self, account: Account) -> bool:
        """Say whether her config refers to a keyring, which no such service reaches."""
        ran = self._programs.run(
            ("grep", "-qs", '"keyring:', str(account.home / _CONFIG)), account=account
        )
        return ran.status == 0

    def _check_service(self) -> None:
        if not any((self._root / folder / UNIT).exists() for folder in _UNITS):
            raise RefusedError(
                "there is no system service here",
                "install the package for Debian; or let a person run a service of her "
                "own with open-conduit service install",
            )

    def _check_account(self, account: Account) -> None:
        if account.uid == 0:
            raise RefusedError(
                "root is not the user for that: engines would run as root",
                "name the person who has the engine's login",
            )
        if not account.home.is_absolute() or not account.home.is_dir():
            raise RefusedError(
                "this user has no home folder",
                "name the person who has the engine's login",
            )
        check_folders("the user's home", [str(account.home)])
        if answers_yes(self._programs, "test", "-e", str(account.home / _OWN_UNIT)):
            raise RefusedError(
                "this user has a service of her own, and both would want the same "
                "ports",
                "first say open-conduit service uninstall as her",
            )

    def _reload(self) -> None:
        # Nothing runs in an image, and in a container without systemd.
        if self._root == Path("/") and Path("/run/systemd/system").is_dir():
            must(
                self._programs.run(_RELOAD),
                "systemctl daemon-reload",
                "say it again; until then systemd does not know of the change",
            )


def _is_member(account: Account) -> bool:
    """Say whether a user is in the group of the shared folder.

    Raises:
        RefusedError: There is no such group.
    """
    try:
        group = grp.getgrnam(USER)
    except KeyError:
        raise RefusedError(
            f"there is no group {USER}", "systemd-sysusers makes it, for the package"
        ) from None
    return account.gid == group.gr_gid or account.name in group.gr_mem
