"""Programs that confine another one and then become it: bubblewrap, sandbox-exec.

Each is a function of a confinement to the argv that goes in front of the program.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from conduck_service.base.supervision.launch import Confinement

_TRIAL_LIMIT = 5.0
_FOLDERS = os.defpath + ":/usr/local/bin:/usr/sbin:/sbin"
_OWN = (Path("/proc"), Path("/dev"))
"""What bubblewrap makes anew, so that nothing of ours is in it."""

_MAC_RULES = (
    "(version 1)",
    "(allow default)",
    "(deny file-read-data file-write*)",
    "(deny lsopen)",  # what another program opens for it would not be confined
    "(deny network-outbound (remote unix-socket))",
    '(allow network-outbound (literal "/private/var/run/mDNSResponder"))',
    '(allow file-read-data (literal "/"))',
)


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Runs a program in a tree of files that holds nothing else.

    Attributes:
        program: Path of ``bwrap``.
    """

    program: str

    def __call__(self, confinement: Confinement, folder: Path) -> tuple[str, ...]:
        """Return the argv that a program and its arguments come after."""
        own = ("--unshare-pid", "--unshare-ipc", "--proc", "/proc", "--dev", "/dev")
        return (
            self.program,
            *own,
            *_binds(confinement),
            *("--chdir", str(folder), "--"),
        )

    def works(self) -> bool:
        """Say whether it can run anything here; it takes some milliseconds.

        Many systems forbid the name spaces that it needs, inside containers above
        all.
        """
        confinement = Confinement(read=(Path("/"),), write=(), use=())
        try:
            done = subprocess.run(
                [*self(confinement, Path("/")), shutil.which("true") or "/bin/true"],
                env={},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=_TRIAL_LIMIT,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0


@dataclass(frozen=True, slots=True)
class SandboxExec:
    """Runs a program under a profile of macOS; it was never run by us.

    Attributes:
        program: Path of ``sandbox-exec``.
    """

    program: str

    def __call__(self, confinement: Confinement, folder: Path) -> tuple[str, ...]:
        """Return the argv that a program and its arguments come after."""
        del folder  # the program starts in it
        rules = [
            *_MAC_RULES,
            *_mac_rules("file-read-data", confinement.read),
            *_mac_rules("file-read-data file-write*", confinement.write),
            *_mac_rules("file-read-data file-write-data", confinement.use),
        ]
        return (self.program, "-p", "\n".join(rules))


def find_wrapper(name: str) -> str | None:
    """Return the path of a program of the system, or None without one.

    The PATH of the daemon plays no part: it may name folders of the engine's user.
    """
    return shutil.which(name, path=_FOLDERS)


def _binds(confinement: Confinement) -> Iterator[str]:
    kinds = dict.fromkeys(confinement.read, "--ro-bind-try")
    kinds |= dict.fromkeys(confinement.use, "--dev-bind-try")
    kinds |= dict.fromkeys(confinement.write, "--bind-try")
    bound: dict[Path, str] = dict.fromkeys(_OWN, "")
    # What lies deeper comes later, for it covers what is there already.
    for path in sorted(kinds, key=lambda path: len(path.parts)):
        above = next((item for item in (path, *path.parents) if item in bound), None)
        if above is not None:
            if kinds[path] != "--bind-try" or bound[above] in {"", "--bind-try"}:
                continue  # it is there with what is above it
            path = Path(os.path.realpath(path))  # noqa: PLW2901 - links are there too
        bound[path] = kinds.get(path, "--bind-try")
        yield from (bound[path], str(path), str(path))


def _mac_rules(rights: str, paths: tuple[Path, ...]) -> Iterator[str]:
    # A profile names files as the kernel does, with every link resolved.
    for path in paths:
        text = json.dumps(os.path.realpath(path), ensure_ascii=False)
        yield f"(allow {rights} (subpath {text}))"
