"""The config file, the files beside it, and the state directory."""

from __future__ import annotations

import stat
from collections.abc import Iterator

from conduck_service.base.diagnostics import Diagnostic, Level
from conduck_service.base.safefiles import (
    Fault,
    SafeFileError,
    check_private_dir,
)
from conduck_service.doctor.context import (
    NEEDS_SERVICE,
    DoctorContext,
    Everything,
    NotMadeError,
    everything,
)
from conduck_service.doctor.finding import Declared, Finding
from conduck_service.doctor.finding import Level as Weight
from conduck_service.doctor.run import Area, Check
from conduck_service.secrets.file import FILE_NAME, read_secrets_file

CONFIG_INVALID = Declared(
    code="config_invalid",
    level=Weight.FAIL,
    text="the config cannot be used",
    remedy="do what the line says; open-conduit config check shows it again",
)
CONFIG_WARNING = Declared(
    code="config_warning",
    level=Weight.WARN,
    text="the config can be used, but",
)
CONFIG_NEWER = Declared(
    code="config_newer",
    level=Weight.WARN,
    text="the config was changed after the service was started",
    remedy="start the service anew, so that the change takes effect",
    depends_on=("config_invalid",),
)
SECRETS_FILE_OPEN = Declared(
    code="secrets_file_open",
    level=Weight.FAIL,
    text=f"{FILE_NAME} is not the service's alone, so nothing is read from it",
    remedy=f"make {FILE_NAME} a regular file of the service's user with mode 0600",
)
SECRETS_FILE_UNREADABLE = Declared(
    code="secrets_file_unreadable",
    level=Weight.FAIL,
    text=f"{FILE_NAME} cannot be used, so there is no secret in it",
    remedy=f"make {FILE_NAME} one JSON object with texts as values",
    depends_on=("secrets_file_open",),
)
STATE_OPEN = Declared(
    code="state_unsafe",
    level=Weight.FAIL,
    text="the state directory cannot be used",
)

_START_SECONDS = 30.0
"""Within these a start reads its config, however slow the machine is."""


def _look_at_config(context: DoctorContext, _all: Everything) -> Iterator[Finding]:
    for problem in context.problems:
        if _is_told_elsewhere(problem, context):
            continue
        what = CONFIG_INVALID if problem.level is Level.ERROR else CONFIG_WARNING
        place = problem.place or "the whole document"
        if problem.line:
            place += f", line {problem.line}"
        yield what.found(
            detail=f"{place}: {problem.code}: {problem.message}", remedy=problem.remedy
        )


def _is_told_elsewhere(problem: Diagnostic, context: DoctorContext) -> bool:
    """Say whether another area looks at the same thing and knows more about it."""
    if problem.code != "program_not_found":
        return False
    is_engine = "config" in problem.pointer
    return (is_engine and context.document is not None) or (
        context.may_resolve and not is_engine
    )


def _look_at_age(context: DoctorContext, _all: Everything) -> Iterator[Finding]:
    service = context.service
    if service is None:
        raise NotMadeError(NEEDS_SERVICE)
    if not service.started:
        raise NotMadeError("the system does not tell when the service was started")
    found = context.config.stat()
    if found.st_mtime > service.started + _START_SECONDS:
        yield CONFIG_NEWER.found()
    # A file that was moved here keeps its old time, but not that of its inode.
    elif max(found.st_mtime, found.st_ctime) >= service.started:
        raise NotMadeError(
            "the file was touched at about the start of the service, or later; if you "
            "changed it, start the service anew"
        )


def _look_at_secrets_file(
    context: DoctorContext, _all: Everything
) -> Iterator[Finding]:
    """Look at the file from outside; nothing in it is read, unless that is wanted."""
    path = context.config.parent / FILE_NAME
    try:
        found = path.lstat()
        owner = path.parent.stat().st_uid
    except OSError:
        return
    is_closed = not stat.S_IMODE(found.st_mode) & 0o077
    if not stat.S_ISREG(found.st_mode) or not is_closed or found.st_uid != owner:
        yield SECRETS_FILE_OPEN.found()
    elif context.may_resolve:
        try:
            read_secrets_file(path.parent)
        except SafeFileError as error:
            # Any other fault is told for each secret that it keeps away.
            if error.fault is Fault.KIND:
                yield SECRETS_FILE_UNREADABLE.found(
                    detail=error.reason, remedy=error.remedy
                )


def _look_at_state(context: DoctorContext, _all: Everything) -> Iterator[Finding]:
    if context.state is None:
        return
    try:
        check_private_dir(context.state)
    except SafeFileError as error:
        if error.fault is not Fault.MISSING:  # a first start makes it
            yield STATE_OPEN.found(detail=error.reason, remedy=error.remedy)


CONFIG: Area[Everything] = Area(
    "config",
    everything,
    (
        Check(
            "valid",
            "the config is valid",
            (CONFIG_INVALID, CONFIG_WARNING),
            _look_at_config,
        ),
        Check(
            "age",
            "the service was started with this config",
            (CONFIG_NEWER,),
            _look_at_age,
        ),
        Check(
            "secrets_file",
            f"nobody else can read {FILE_NAME}",
            (SECRETS_FILE_OPEN, SECRETS_FILE_UNREADABLE),
            _look_at_secrets_file,
        ),
        Check(
            "state",
            "the state directory is the service's alone",
            (STATE_OPEN,),
            _look_at_state,
        ),
    ),
)
