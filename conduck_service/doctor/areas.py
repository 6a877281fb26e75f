"""All that doctor looks at, in its order."""

from __future__ import annotations

from typing import Any

from conduck_service.doctor.checks.chat import CHAT
from conduck_service.doctor.checks.config import CONFIG
from conduck_service.doctor.checks.disk import DISK
from conduck_service.doctor.checks.engine import ENGINE
from conduck_service.doctor.checks.lane import LANE
from conduck_service.doctor.checks.public import PUBLIC
from conduck_service.doctor.checks.secrets import SECRETS
from conduck_service.doctor.checks.service import SERVICE
from conduck_service.doctor.checks.turn import TURN
from conduck_service.doctor.finding import Declared
from conduck_service.doctor.run import Area

AREAS: tuple[Area[Any], ...] = (
    CONFIG,
    DISK,
    SECRETS,
    CHAT,
    LANE,
    SERVICE,
    ENGINE,
    PUBLIC,
    TURN,
)
"""A cause comes before what it explains."""


def declared() -> list[Declared]:
    """Return every finding that there is, each once, in the order of the areas."""
    found = {
        item.code: item
        for area in AREAS
        for check in area.checks
        for item in check.findings
    }
    return list(found.values())
