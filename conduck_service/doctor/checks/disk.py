"""Room on the disks that the service writes to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from conduck_service.doctor.context import DoctorContext
from conduck_service.doctor.finding import Declared, Finding, Level
from conduck_service.doctor.run import Area, Check

LOW_BYTES = 1 << 30
FULL_BYTES = 64 << 20
LOW_NODES = 1000

DISK_LOW = Declared(
    code="disk_low",
    level=Level.WARN,
    text="there is little room on a disk that the service writes to",
    remedy="make room, or set keep_days of the file lane",
)
DISK_FULL = Declared(
    code="disk_full",
    level=Level.FAIL,
    text="a disk that the service writes to is full",
    remedy="make room; turns with photos and uploads fail until then",
)


@dataclass(frozen=True, slots=True)
class Place:
    """A folder that the service writes to."""

    subject: str
    path: Path
    related: tuple[str, ...] = ()


def _places(context: DoctorContext) -> Sequence[Place]:
    found = [Place(lane.subject, lane.root) for lane in context.lanes]
    if context.state is not None:
        found.insert(0, Place("state", context.state))
    return [item for item in found if item.path.is_dir()]


def _look_at_room(_context: DoctorContext, place: Place) -> Iterator[Finding]:
    found = os.statvfs(place.path)
    free = found.f_bavail * found.f_frsize
    has_nodes = found.f_files == 0 or found.f_favail > 0
    if free < FULL_BYTES or not has_nodes:
        yield DISK_FULL.found(place.subject, f"{free >> 20} MiB are left")
    elif free < LOW_BYTES or 0 < found.f_favail < LOW_NODES:
        yield DISK_LOW.found(place.subject, f"{free >> 20} MiB are left")


DISK: Area[Place] = Area(
    "disk",
    _places,
    (Check("room", "there is room", (DISK_LOW, DISK_FULL), _look_at_room),),
)
