"""Who descends from this process, and signals to all of them; Linux only."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Collection, Iterator

# The keeper imports this module, and pathlib would make it larger and slower.
# ruff: noqa: PTH123, PTH208

_CHILDREN = "/proc/thread-self/children"


def children() -> list[int]:
    """Return the process ids of this process's children."""
    return _lookup()(os.getpid())


def descendants(spared: Collection[int] = ()) -> Iterator[int]:
    """Yield the process ids of all that descend from this process, parents first.

    A generation is yielded whole before its children are looked up, so that
    whoever stops it there finds all of them. Processes that are born or
    re-parented meanwhile may be missed; only ``waitpid`` knows that nobody is
    left.

    Args:
        spared: Children that are left out, with all that descend from them.
    """
    look_up = _lookup()
    generation = [pid for pid in look_up(os.getpid()) if pid not in spared]
    while generation:
        yield from reversed(generation)  # the youngest are the likeliest to live
        generation = [child for pid in generation for child in look_up(pid)]


def terminate_descendants(asked: set[int]) -> None:
    """Ask every descendant to end that was not asked before.

    A stopped one is woken to hear it.

    Args:
        asked: The process ids that were asked, which grows.
    """
    for pid in descendants():
        if pid not in asked:
            asked.add(pid)
            _send(pid, signal.SIGTERM)
            _send(pid, signal.SIGCONT)


def stop_descendants(stopped: set[int], spared: Collection[int] = ()) -> bool:
    """Stop every descendant that is not yet stopped.

    What is stopped neither forks nor reaps, so the numbers stay theirs, and a
    fork bomb gets no room from the deaths of its members. A signal to a whole
    group also reaches a child that is just being forked.

    Args:
        stopped: The process ids that are stopped, which grows.
        spared: Children that are left out, with all that descend from them.

    Returns:
        Whether any was there that could be signalled.
    """
    groups: set[int] = set()
    is_reached = False
    for pid in descendants(spared):
        if pid not in stopped:
            stopped.add(pid)
            _send_to_group(pid, signal.SIGSTOP, groups)
            is_reached |= _send(pid, signal.SIGSTOP)
    return is_reached


def kill(stopped: set[int]) -> bool:
    """Kill the processes and their groups, and say whether any could be."""
    groups: set[int] = set()
    is_reached = False
    for pid in stopped:
        _send_to_group(pid, signal.SIGKILL, groups)
        is_reached |= _send(pid, signal.SIGKILL)
    return is_reached


def _send(pid: int, number: int) -> bool:
    # Between looking a process up and this lies far less time than it takes
    # to use up all process numbers, so the number cannot be another's by now.
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True


def _send_to_group(pid: int, number: int, groups: set[int]) -> None:
    """Signal the group of a process, unless it is among those that had it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        group = os.getpgid(pid)
        # Each engine begins a session, so its groups hold only descendants.
        if group not in groups and group != os.getpgrp():
            groups.add(group)
            os.killpg(group, number)


def _lookup() -> Callable[[int], list[int]]:
    try:
        with open(_CHILDREN, "rb"):
            return _listed_children
    except OSError:  # a kernel without CONFIG_PROC_CHILDREN
        table = _scan_parents()
        return lambda pid: [child for child, parent in table.items() if parent == pid]


def _listed_children(pid: int) -> list[int]:
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    lists = [_read(f"/proc/{pid}/task/{task}/children") for task in tasks]
    return [int(child) for child in b" ".join(lists).split()]


def _scan_parents() -> dict[int, int]:
    table = {}
    for name in os.listdir("/proc"):
        stat = _read(f"/proc/{name}/stat") if name.isdecimal() else b""
        if stat:
            table[int(name)] = int(stat.rpartition(b")")[2].split()[1])
    return table


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.readall()
    except OSError:  # the process has gone
        return b""
