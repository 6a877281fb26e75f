"""How this machine can confine a program to some files, if it can."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache

from conduck_service.base.supervision import landlock
from conduck_service.base.supervision.launch import Wrapper
from conduck_service.base.supervision.wrapping import (
    Bubblewrap,
    SandboxExec,
    find_wrapper,
)


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A way to confine.

    Attributes:
        name: What people call it, with its version where that matters.
        wrapper: The program that does it; None for Landlock.
    """

    name: str
    wrapper: Wrapper | None = None


@dataclass(frozen=True, slots=True)
class Missing:
    """There is no way to confine.

    Attributes:
        why: A few words.
    """

    why: str


@cache
def find_mechanism() -> Mechanism | Missing:
    """Return how programs can be confined here; only the first call takes time."""
    system = os.uname().sysname
    if system == "Linux":
        return _of_linux()
    if system == "Darwin" and (program := find_wrapper("sandbox-exec")):
        return Mechanism("sandbox-exec", SandboxExec(program))
    return Missing("this system has nothing for it")


def _of_linux() -> Mechanism | Missing:
    found = landlock.version()
    why = landlock.why_not(found)
    if why is None:
        return Mechanism(f"landlock (ABI {found})")
    program = find_wrapper("bwrap")
    if program is None:
        return Missing(f"{why}, and bubblewrap is not installed")
    wrapper = Bubblewrap(program)
    if not wrapper.works():
        return Missing(f"{why}, and bubblewrap may not do its work here")
    return Mechanism("bubblewrap", wrapper)
