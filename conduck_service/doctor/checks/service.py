"""The process of the service: whether it runs, and how it was started."""

from __future__ import annotations

from collections.abc import Iterator

from conduck_service.doctor.context import (
    NEEDS_SERVICE,
    DoctorContext,
    Everything,
    NotMadeError,
    everything,
)
from conduck_service.doctor.finding import Declared, Finding, Level
from conduck_service.doctor.run import Area, Check

SERVICE_DOWN = Declared(
    code="service_down",
    level=Level.WARN,
    text="the service does not run, or uses another state directory",
    remedy="open-conduit service status says what became of it; open-conduit serve "
    "starts it here, and --data-dir names its folder",
    depends_on=(
        "config_invalid",
        "state_unsafe",
        "chat_port_taken",
        "lane_port_taken",
        "lane_folder_unusable",
    ),
)
SERVICE_IN_TERMINAL = Declared(
    code="service_in_terminal",
    level=Level.WARN,
    text="the service hangs on a terminal, and ends in the middle of a turn when "
    "that is closed",
    remedy="open-conduit service install lets systemd or launchd run it",
)
SERVICE_ROOT = Declared(
    code="service_root",
    level=Level.WARN,
    text="the service runs as root: engines may do everything, and files that are "
    "uploaded are root's",
    remedy="run it as a user of its own",
)
ENVIRONMENT_UNKNOWN = Declared(
    code="service_environment_unknown",
    level=Level.INFO,
    text="this system does not show the variables of the service, so engines are "
    "looked for with those of this command",
    remedy="run doctor as the service is run, by its supervisor",
)


def _look_at_process(context: DoctorContext, _all: Everything) -> Iterator[Finding]:
    if context.service is None:
        yield SERVICE_DOWN.found()


def _look_at_start(context: DoctorContext, _all: Everything) -> Iterator[Finding]:
    service = context.service
    if service is None:
        raise NotMadeError(NEEDS_SERVICE)
    if service.has_terminal:
        yield SERVICE_IN_TERMINAL.found()
    if service.user == 0:
        yield SERVICE_ROOT.found()
    if service.environment is None:
        yield ENVIRONMENT_UNKNOWN.found()


SERVICE: Area[Everything] = Area(
    "service",
    everything,
    (
        Check("running", "the service runs", (SERVICE_DOWN,), _look_at_process),
        Check(
            "start",
            "it has no terminal and is not root",
            (SERVICE_IN_TERMINAL, SERVICE_ROOT, ENVIRONMENT_UNKNOWN),
            _look_at_start,
        ),
    ),
)
