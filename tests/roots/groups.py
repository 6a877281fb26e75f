"""Control groups for one machine, so that several can run beside each other."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tests.support.service import wait_until


def groups_of(process: int | str) -> list[Path]:
    """Return a process' group in each tree that systemd needs: cgroup2, and its own."""
    paths = {}
    for line in Path(f"/proc/{process}/cgroup").read_text("ascii").splitlines():
        _number, controllers, path = line.split(":", 2)
        paths[controllers] = path.strip("/")
    found = []
    for line in Path("/proc/self/mountinfo").read_text("utf-8").splitlines():
        before, after = line.split(" - ", 1)
        kind, _source, options = after.split(" ")[:3]
        place = Path(before.split(" ")[4])
        if kind == "cgroup2" and "" in paths:
            found.append(place / paths[""])
        elif kind == "cgroup" and "name=systemd" in options.split(","):
            found.append(place / paths.get("name=systemd", ""))
    return found


def make_groups(name: str) -> list[Path]:
    """Make a group of this name in each tree; return them.

    Raises:
        OSError: This machine does not let us, as in most containers.
    """
    groups = [group / name for group in groups_of("self")]
    if not groups:
        raise OSError("no tree of control groups that systemd can use is mounted")
    for group in groups:
        group.mkdir()
    return groups


def remove_groups(groups: list[Path]) -> None:
    """Remove groups and what systemd left in them; what ran in them has been ended."""
    wait_until(lambda: all(_is_removed(group) for group in groups))


def _is_removed(group: Path) -> bool:
    inner = [path for path in group.rglob("*") if path.is_dir()]
    with contextlib.suppress(OSError):  # the last of it is not quite gone
        for folder in [*sorted(inner, reverse=True), group]:
            folder.rmdir()
    return not group.exists()
