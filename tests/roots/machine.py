"""A root that was booted: systemd is process 1 in it, and it has no network.

with booted(root) as machine:
    machine.run("systemctl", "is-system-running", "--wait")
"""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.roots.groups import groups_of, make_groups, remove_groups
from tests.support.service import wait_until

ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/root",
    "TERM": "dumb",
}
START_SECONDS = 40.0
STOP_SECONDS = 40.0
_NUMBERS = itertools.count()
_ENTER = (
    'for group in $GROUPS_OF_IT; do echo $$ >"$group/cgroup.procs"; done; exec "$@"'
)


class MachineError(Exception):
    """The root cannot be booted on this machine."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A running root.

    Attributes:
        root: Its files, as seen from outside.
        leader: Its process 1, as numbered outside.
    """

    root: Path
    leader: int

    def run(
        self,
        *argv: str,
        user: str | None = None,
        feed: str | bytes | None = None,
        check: bool = True,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in it; output and errors come together in ``stdout``.

        Args:
            argv: The command.
            user: Whose it is, through sudo with her home; root's without.
            feed: Its standard input; nothing otherwise.
            check: Whether the command must succeed.
            environment: More variables; not with a user.
        """
        words = ["sudo", "-u", user, "-H", *argv] if user else list(argv)
        values = ENVIRONMENT | dict(environment or {})
        variables = [f"{name}={value}" for name, value in values.items()]
        enter = ["nsenter", "-t", str(self.leader), "-a", "env", "-i", "-C", "/"]
        # Some of systemd's answers depend on where in the machine the one is who asks.
        join = ["sh", "-c", _ENTER, "sh", *enter]
        given = feed.encode() if isinstance(feed, str) else feed or b""
        done = subprocess.run(
            [*join, *variables, *words],
            env=_with_groups(groups_of(self.leader)),
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        said = done.stdout.decode("utf-8", "replace")
        if check and done.returncode and argv[0] == "systemctl":
            said += self.run("journalctl", "-n", "30", "--no-pager", check=False).stdout
        assert not check or done.returncode == 0, f"{argv}: {done.returncode}\n{said}"
        return subprocess.CompletedProcess(argv, done.returncode, said)

    def says(self, *argv: str, user: str | None = None) -> str:
        """Run a command that must succeed; return what it said, without the end."""
        return self.run(*argv, user=user).stdout.strip()

    def show(self, unit: str, name: str) -> str:
        """Return a property of a unit."""
        return self.says("systemctl", "show", "--value", "-p", name, unit)

    def path(self, inside: str) -> Path:
        """Return where a file of it is outside."""
        return self.root / inside.lstrip("/")


@contextmanager
def booted(root: Path, *binds: str) -> Iterator[Machine]:
    """Boot a root, and stop it in order afterwards.

    Args:
        root: The files; they are changed.
        binds: Files from outside to be seen in it, ``outside:inside``, read only.

    Raises:
        MachineError: It does not come up here, with what was said.
    """
    try:
        groups = make_groups(f"conduck-root-{os.getpid()}-{next(_NUMBERS)}")
    except OSError as error:
        raise MachineError(f"no control group of our own: {error}") from error
    console = root.with_name(f"{root.name}.console")
    with console.open("ab") as out:
        process = subprocess.Popen(
            ["sh", "-c", _ENTER, "sh", *_nspawn(root, binds)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=_with_groups(groups) | {"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
        )
    try:
        machine = Machine(root, _found(process, console))
        state = machine.run("systemctl", "is-system-running", "--wait", check=False)
        if state.stdout.strip() not in ("running", "degraded"):
            raise MachineError(f"it does not come up: {state.stdout}")
        yield machine
    finally:
        _stop(process)
        remove_groups(groups)


def _with_groups(groups: list[Path]) -> dict[str, str]:
    return dict(os.environ) | {"GROUPS_OF_IT": " ".join(map(str, groups))}


def _nspawn(root: Path, binds: tuple[str, ...]) -> list[str]:
    more = [f"--bind-ro={bind}" for bind in binds]
    flags = ["--boot", "--register=no", "--keep-unit", "--private-network"]
    return ["systemd-nspawn", "-q", "-D", str(root), *flags, "--console=pipe", *more]


def _found(process: subprocess.Popen[bytes], console: Path) -> int:
    try:
        return _leader(process)
    except AssertionError as error:
        said = console.read_text("utf-8", "replace")
        raise MachineError(f"it does not come up: {said}") from error


def _leader(process: subprocess.Popen[bytes]) -> int:
    found: list[int] = []

    def is_there() -> bool:
        found[:] = [pid for pid in _below(process.pid) if _is_first(pid)]
        return bool(found) or process.poll() is not None

    wait_until(is_there, START_SECONDS)
    assert found, "systemd-nspawn has ended"
    leader = str(found[0])

    def answers() -> bool:
        # Not before its bus is there: until then systemctl has nobody to ask.
        asked = ["nsenter", "-t", leader, "-a", "systemctl", "show", "-p", "Version"]
        asking = subprocess.run(asked, capture_output=True, check=False)
        return asking.returncode == 0 or process.poll() is not None

    wait_until(answers, START_SECONDS)
    return found[0]


def _below(pid: int) -> list[int]:
    """Return the processes below one, as far as they are still there."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
    except OSError:
        return []
    children = [int(word) for word in text.split()]
    return children + [below for child in children for below in _below(child)]


def _is_first(pid: int) -> bool:
    """Say whether it is a systemd that is process 1 of its own."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    except OSError:
        return False
    fields = dict(line.split(":", 1) for line in status)
    numbers = fields["NSpid"].split()
    is_manager = fields["Name"].strip() in ("systemd", "init")
    return is_manager and len(numbers) > 1 and numbers[-1] == "1"


def _stop(process: subprocess.Popen[bytes]) -> None:
    for pid in _below(process.pid):
        if _is_first(pid):
            off = ["nsenter", "-t", str(pid), "-a", "systemctl", "poweroff"]
            subprocess.run([*off, "--no-block"], capture_output=True, check=False)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait(STOP_SECONDS)
