"""The file lane: its folder, its port, its password, and what has gathered in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from conduck_service.base.clock import SystemClock
from conduck_service.doctor.checks.chat import ask, look_at_port
from conduck_service.doctor.checks.lane_trial import TRIAL, look_at_trial
from conduck_service.doctor.context import (
    NEEDS_SERVICE,
    DoctorContext,
    Lane,
    NotMadeError,
)
from conduck_service.doctor.finding import Declared, Finding, Level
from conduck_service.doctor.run import Area, Check
from conduck_service.domain.filename import is_taken_by_app
from conduck_service.files.outbound import OUTBOUND
from conduck_service.files.upkeep.folder import find_faults
from conduck_service.files.upkeep.retention import Retention

LANE_FOLDER_UNUSABLE = Declared(
    code="lane_folder_unusable",
    level=Level.FAIL,
    text="the shared folder cannot be served",
)
LANE_FOLDER_MODE = Declared(
    code="lane_folder_mode",
    level=Level.WARN,
    text="the shared folder may not work for everybody",
)
LANE_PORT_TAKEN = Declared(
    code="lane_port_taken",
    level=Level.FAIL,
    text="another program has the port of the file lane",
    remedy="end that program, or set another port in the config; if it is this very "
    "service with its state elsewhere, name that with --data-dir",
)
LANE_SILENT = Declared(
    code="lane_silent",
    level=Level.FAIL,
    text="the service runs, but nobody listens on the port of the file lane",
    remedy="start the service anew: it was started with another config",
    depends_on=(
        "service_down",
        "config_newer",
        "lane_port_taken",
        "lane_folder_unusable",
    ),
)
REACHED = ("lane_silent", "service_down", "lane_port_taken", "lane_folder_unusable")
LANE_OPEN = Declared(
    code="lane_open",
    level=Level.FAIL,
    text="the file lane lets in without its password",
    remedy="take it off the network at once, and report this as a fault",
    depends_on=REACHED,
)
LANE_CLOSED_PARTS = Declared(
    code="lane_closed_parts",
    level=Level.WARN,
    text="something in the shared folder cannot be read or changed by the service, "
    "so the app cannot get or remove it",
    remedy="give the engine's user a umask of 0007, then chmod -R g+rwX and chgrp -R "
    "what is there",
    depends_on=("lane_folder_unusable", "lane_folder_mode"),
)
LANE_HIDDEN_NAMES = Declared(
    code="lane_hidden_names",
    level=Level.WARN,
    text="files for the app have names that it does not take, so they are not listed",
    remedy="let the engine use letters, digits and dots, 200 characters at most, no "
    "dot or dash first",
    depends_on=("lane_folder_unusable",),
)
LANE_EXPIRED = Declared(
    code="lane_expired",
    level=Level.INFO,
    text="old conversation folders are removed at the next look (keep_days)",
    depends_on=("lane_folder_unusable",),
)
LANE_KEEPS_ALL = Declared(
    code="lane_keeps_all",
    level=Level.INFO,
    text="conversation folders are never removed, since keep_days is not set",
    depends_on=("lane_folder_unusable",),
)

_MOST_ENTRIES = 20_000
_DEPTH = 3


def _look_at_folder(_context: DoctorContext, lane: Lane) -> Iterator[Finding]:
    for fault in find_faults(lane.root, lane.config):
        what = LANE_FOLDER_UNUSABLE if fault.fatal else LANE_FOLDER_MODE
        yield what.found(lane.subject, fault.message, fault.remedy)


def _look_at_port(context: DoctorContext, lane: Lane) -> Iterator[Finding]:
    return look_at_port(LANE_PORT_TAKEN, LANE_SILENT, context, lane)


def _look_at_gate(context: DoctorContext, lane: Lane) -> Iterator[Finding]:
    if context.service is None:
        raise NotMadeError(NEEDS_SERVICE)
    for peer in (lane.peer, lane.peer.with_password("conduck-doctor-wrong")):
        for method in ("GET", "PUT", "PROPFIND", "DELETE"):
            reply = ask(peer, method, "/__conduck_doctor_gate", b"")
            if reply.status != 401:
                yield LANE_OPEN.found(
                    lane.subject, f"{method} is answered with {reply.status}"
                )


def _look_at_parts(_context: DoctorContext, lane: Lane) -> Iterator[Finding]:
    count = sum(not _is_open(entry) for entry in _entries(lane.root, _DEPTH))
    if count:
        yield LANE_CLOSED_PARTS.found(lane.subject, f"{count} of them")


def _is_open(entry: os.DirEntry[str]) -> bool:
    if entry.is_symlink():
        return True  # links are never followed
    wanted = os.R_OK | os.W_OK | (os.X_OK if entry.is_dir() else 0)
    return os.access(entry.path, wanted)


def _entries(folder: Path | str, depth: int) -> Iterator[os.DirEntry[str]]:
    """Yield what is in a folder and the folders in it, links left alone."""
    pending = [(os.fspath(folder), depth)]
    seen = 0
    while pending:
        place, left = pending.pop()
        try:
            with os.scandir(place) as found:
                entries = list(found)
        except OSError:
            continue  # it was counted as closed already
        for entry in entries:
            seen += 1
            if seen > _MOST_ENTRIES:
                return
            yield entry
            if left > 1 and entry.is_dir(follow_symlinks=False):
                pending.append((entry.path, left - 1))


def _look_at_names(_context: DoctorContext, lane: Lane) -> Iterator[Finding]:
    """Count names that are left out of listings; no name is told."""
    count = sum(
        not is_taken_by_app(entry.name)
        for entry in _entries(lane.root, _DEPTH)
        if OUTBOUND.fullmatch(os.fsencode(Path(entry.path).parent.name))
    )
    if count:
        yield LANE_HIDDEN_NAMES.found(lane.subject, f"{count} of them")


def _look_at_retention(_context: DoctorContext, lane: Lane) -> Iterator[Finding]:
    if lane.config.keep_days is None:
        yield LANE_KEEPS_ALL.found(lane.subject)
        return
    dry = Retention(lane.root, lane.config.keep_days, lambda: 0, SystemClock())
    try:
        count = len(dry.find())
    except OSError:
        raise NotMadeError("the shared folder cannot be looked at") from None
    if count:
        yield LANE_EXPIRED.found(lane.subject, f"{count} of them")


def _lanes(context: DoctorContext) -> list[Lane]:
    return context.lanes


LANE: Area[Lane] = Area(
    "lane",
    _lanes,
    (
        Check(
            "folder",
            "the shared folder has the mode and the group that the config wants",
            (LANE_FOLDER_UNUSABLE, LANE_FOLDER_MODE),
            _look_at_folder,
        ),
        Check(
            "port",
            "the port is the service's, or free",
            (LANE_PORT_TAKEN, LANE_SILENT),
            _look_at_port,
        ),
        Check(
            "gate",
            "nobody is let in without password",
            (LANE_OPEN,),
            _look_at_gate,
            REACHED,
        ),
        Check(
            "trial",
            "files go in and out as the app does it, and nothing is left",
            TRIAL,
            look_at_trial,
            REACHED,
        ),
        Check(
            "parts",
            "the service may read and change what is in the folder",
            (LANE_CLOSED_PARTS,),
            _look_at_parts,
            ("lane_folder_unusable",),
        ),
        Check(
            "names",
            "the app takes every name in its folders",
            (LANE_HIDDEN_NAMES,),
            _look_at_names,
            ("lane_folder_unusable",),
        ),
        Check(
            "retention",
            "no conversation folder is about to be removed",
            (LANE_EXPIRED, LANE_KEEPS_ALL),
            _look_at_retention,
            ("lane_folder_unusable",),
        ),
    ),
)
