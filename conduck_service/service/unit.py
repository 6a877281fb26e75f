"""The text of systemd's unit for a person's own service, and of the run-as drop-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conduck_service.service.account import Account

MARK = "# Written by open-conduit service"
"""How a file begins that is ours to write over and to remove."""

_OWN = """\
{mark} install; open-conduit service uninstall removes it.
# systemctl --user edit conduck changes it in a way that lasts.

[Unit]
Description=Conduck: chat and files for the app, on this machine
# Starts by hand count too.
StartLimitIntervalSec=120
StartLimitBurst=10

[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
# 78: the config, an owner or a folder is wrong, which no restart cures.
Restart=on-failure
RestartSec=2
RestartPreventExitStatus=78
TimeoutStartSec=30
# Running turns get 10 seconds, and what they leave behind is ended in 40 more.
TimeoutStopSec=60
WatchdogSec=60
# Only the daemon is told to stop: it ends its turns in order.
KillMode=mixed
OOMPolicy=continue
LimitCORE=0
UMask=0077
{variables}

[Install]
WantedBy=default.target
"""

_RUN_AS = """\
{mark} run-as; open-conduit service run-as --reset removes it.

[Unit]
# A home on a disk or server of its own may come late.
RequiresMountsFor={home}

[Service]
User={user}
# The home of the user conduck stays that user's.
StateDirectory=
ProtectHome=no
{lines}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a service gets that runs as a person.

    Attributes:
        path: Its PATH.
        folders: Folders beside her home that it may write to.
        gpu: Whether it sees the machine's devices.
    """

    path: str
    folders: Sequence[str] = ()
    gpu: bool = False


def own_unit(argv: Sequence[str], variables: Mapping[str, str]) -> str:
    """Return the unit of a person's own service.

    Args:
        argv: What it runs; the program by its whole path.
        variables: Those that it gets, PATH among them.
    """
    # A dollar is a variable in a command, and in no other line.
    command = " ".join(_quoted(word).replace("$", "$$") for word in argv)
    lines = [
        f"Environment={_quoted(f'{name}={value}')}" for name, value in variables.items()
    ]
    return _OWN.format(mark=MARK, command=command, variables="\n".join(lines))


def run_as_drop_in(account: Account, grant: Grant) -> str:
    """Return what makes the system's service one that runs as a person."""
    lines = [
        f"ReadWritePaths={_quoted(str(account.home))}",
        # A disk that is away must not keep the service from saying so.
        *(f"ReadWritePaths={_quoted(f'-{folder}')}" for folder in grant.folders),
        f"Environment={_quoted(f'PATH={grant.path}')}",
        *(["PrivateDevices=no"] * grant.gpu),
    ]
    # By number where systemd might not take the name, as those of directories are.
    plain = account.name.replace("_", "").replace("-", "")
    user = account.name if plain.isascii() and plain.isalnum() else account.uid
    home = _quoted(str(account.home))
    return _RUN_AS.format(mark=MARK, user=user, home=home, lines="\n".join(lines))


def _quoted(word: str) -> str:
    """Return a word as systemd reads it: itself, whatever is in it."""
    plain = word.replace("%", "%%")
    if any(letter in " \t\"'\\;" for letter in plain):
        inner = plain.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{inner}"'
    return plain
