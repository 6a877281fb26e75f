"""Programs whose whole trees can be ended: the one door to process supervision.

On Linux every turn has a warden, which finds any descendant; elsewhere a tree is
its process group and whatever carries its marker.
"""

from __future__ import annotations

import os

from conduck_service.base.supervision.grouped import GroupSupervisor
from conduck_service.base.supervision.kept import KeptSupervisor
from conduck_service.base.supervision.launch import (
    MARKER,
    Confinement,
    Ended,
    Launch,
    LaunchError,
    ProcessTree,
    Reason,
    Supervisor,
)
from conduck_service.base.supervision.mechanism import (
    Mechanism,
    Missing,
    find_mechanism,
)
from conduck_service.base.supervision.sweep import sweep

__all__ = [
    "MARKER",
    "Confinement",
    "Ended",
    "Launch",
    "LaunchError",
    "Mechanism",
    "Missing",
    "ProcessTree",
    "Reason",
    "Supervisor",
    "find_mechanism",
    "start_supervisor",
    "sweep",
]


def start_supervisor(instance: str) -> Supervisor:
    """Return what starts the engines of this daemon; called once, at its start.

    Args:
        instance: The instance id, with which the markers of its turns begin.
    """
    if os.uname().sysname == "Linux":
        return KeptSupervisor(instance)
    return GroupSupervisor()
