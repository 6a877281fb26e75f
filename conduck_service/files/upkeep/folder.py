"""The shared folder itself: made with its exact mode, and judged at start."""

from __future__ import annotations

import contextlib
import grp
import logging
import os
import pwd
import shlex
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from conduck_service.extension.ingress import HopelessStartError
from conduck_service.files.settings import FilesConfig

log = logging.getLogger(__name__)

_GROUP = 0o070
_OTHERS = 0o007


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What is wrong with a shared folder.

    Attributes:
        code: Stable word for programs.
        message: What is wrong, for people; no path is in it.
        remedy: A command that cures it, or what to do.
        fatal: Whether the lane cannot serve the folder at all.
    """

    code: str
    message: str
    remedy: str
    fatal: bool = False


def make_shared_folder(path: Path, mode: int) -> None:
    """Make a folder with exactly this mode, whatever the umask is.

    A folder that is there already is left as it is.

    Args:
        path: The folder; the one above it must be there.
        mode: All of its mode, the set-group-id bit included.

    Raises:
        OSError: It cannot be made, or something else is there.
    """
    try:
        path.mkdir(0o700)
    except FileExistsError:
        if not path.is_dir():
            raise
        return
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags)
    try:
        os.fchmod(descriptor, mode)  # mkdir() drops the set-group-id bit
    finally:
        os.close(descriptor)


def find_faults(root: Path, config: FilesConfig) -> list[Fault]:
    """Return everything that is wrong with a shared folder, the worst first.

    Args:
        root: The folder.
        config: Of the entry that serves it.

    Keeps: F-ROOT-05, F-PERM-02.
    """
    return _Judge(config, shlex.quote(str(root))).faults(root)


def check_at_start(root: Path, config: FilesConfig) -> None:
    """Refuse a folder that cannot be served, and log what else is wrong with it.

    Raises:
        HopelessStartError: It cannot be served.
    """
    for fault in find_faults(root, config):
        if fault.fatal:
            raise HopelessStartError(f"{root}: {fault.message}; {fault.remedy}")
    if os.geteuid() == 0:
        log.warning(
            "THE SERVICE RUNS AS ROOT: whatever the file lane makes is root's; run it "
            "as a user of its own",
            extra={"action": "folder", "code": "root"},
        )
    # No path goes to the log.
    for fault in _Judge(config, "FOLDER").faults(root):
        log.warning(
            "the shared folder may not work for everybody: %s; %s",
            fault.message,
            fault.remedy,
            extra={"action": "folder", "code": fault.code},
        )


class _Judge:
    """Finds faults; ``place`` stands for the folder in remedies."""

    def __init__(self, config: FilesConfig, place: str) -> None:
        self._config = config
        self._place = place

    def faults(self, root: Path) -> list[Fault]:
        try:
            found = root.stat()
        except FileNotFoundError:
            return [self._fatal("missing", "it is not there", self._make())]
        except OSError:
            return [
                self._fatal(
                    "unreachable",
                    "this user may not look at it",
                    f"let the user {_own_name()} enter every folder above it",
                )
            ]
        if not stat.S_ISDIR(found.st_mode):
            return [
                self._fatal(
                    "kind", "it is no folder", f"name another, or: {self._make()}"
                )
            ]
        if not os.access(root, os.R_OK | os.W_OK | os.X_OK):
            return [
                self._fatal(
                    "access",
                    "this user may not read it, write to it and enter it",
                    self._admit(found),
                )
            ]
        return self._warnings(found)

    def _warnings(self, found: os.stat_result) -> list[Fault]:
        wanted, mode = self._config.folder_mode, stat.S_IMODE(found.st_mode)
        faults = []
        if wanted & stat.S_ISGID and not mode & stat.S_ISGID:
            faults.append(
                self._mode("setgid", "what is made in it does not get its group", found)
            )
        if mode & _GROUP != wanted & _GROUP:
            message = (
                "its group may not read it, write to it and enter it"
                if self._config.is_shared
                else "its group may do more in it than its mode in the config says"
            )
            faults.append(self._mode("group_mode", message, found))
        if mode & _OTHERS & ~wanted:
            verb = "write to it" if mode & stat.S_IWOTH else "look into it"
            faults.append(self._mode("others", f"everybody may {verb}", found))
        if self._config.is_shared and not _is_own_group(found.st_gid):
            faults.append(
                Fault(
                    code="group",
                    message="its group is none of the groups of this user",
                    remedy=f"{_join(found.st_gid)}, then start anew",
                )
            )
        return faults

    def _fatal(self, code: str, message: str, remedy: str) -> Fault:
        return Fault(code=code, message=message, remedy=remedy, fatal=True)

    def _mode(self, code: str, message: str, found: os.stat_result) -> Fault:
        return Fault(code=code, message=message, remedy=self._chmod(found))

    def _make(self) -> str:
        return f"mkdir -m {self._config.mode} {self._place}"

    def _chmod(self, found: os.stat_result) -> str:
        return f"{_sudo(found)}chmod {self._config.mode} {self._place}"

    def _admit(self, found: os.stat_result) -> str:
        chmod = self._chmod(found)
        if found.st_uid == os.geteuid():
            return chmod
        if not self._config.is_shared:
            return f"sudo chown {_own_name()} {self._place} && {chmod}"
        return f"{chmod} && {_join(found.st_gid)}, then start anew"


def _sudo(found: os.stat_result) -> str:
    return "" if os.geteuid() in (0, found.st_uid) else "sudo "


def _join(gid: int) -> str:
    group = shlex.quote(_group_name(gid))
    if sys.platform == "darwin":
        return f"sudo dseditgroup -o edit -t user -a {_own_name()} {group}"
    return f"sudo usermod -aG {group} {_own_name()}"


def _is_own_group(gid: int) -> bool:
    return os.geteuid() == 0 or gid == os.getegid() or gid in os.getgroups()


def _own_name() -> str:
    with contextlib.suppress(KeyError):
        return shlex.quote(pwd.getpwuid(os.geteuid()).pw_name)
    return str(os.geteuid())


def _group_name(gid: int) -> str:
    with contextlib.suppress(KeyError):
        return grp.getgrgid(gid).gr_name
    return str(gid)
