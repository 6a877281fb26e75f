"""Each finding about a listener, and about the machine, is made where it is due."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conduck_service.doctor.areas import AREAS
from conduck_service.doctor.checks import disk, engine, lane_trial
from conduck_service.doctor.context import DoctorContext
from conduck_service.doctor.finding import Level
from conduck_service.doctor.opening import open_context
from conduck_service.doctor.run import Row, examine
from conduck_service.doctor.service import Service
from conduck_service.selftest import wire_cases
from conduck_service.selftest.case import Verdict, judge
from conduck_service.selftest.gate_cases import GATE_CASES
from conduck_service.selftest.run import Profile, subjects
from conduck_service.selftest.wire_cases import WIRE_CASES
from tests.doctor.liars import LyingChat, LyingLane, lying
from tests.support.documents import document
from tests.support.service import binding, free_port, prepared, stub, variables

ON_LINUX = pytest.mark.skipif(
    os.uname().sysname != "Linux", reason="whose a port is, is seen on Linux only"
)


def opened(root: Path, **config: Any) -> DoctorContext:
    """Return the context of a service that this process claims to be."""
    engine_binding = binding(stub(root, ["obey"]), **config)
    lane = {"port": free_port()}
    prepared(root, document({"agent": engine_binding}, free_port(), files=lane))
    context = open_context(
        root / "config/config.json", root / "state", variables(), may_resolve=True
    )
    assert context.document is not None
    here = Service(pid=os.getpid(), environment=variables(), user=1000)
    return replace(context, service=here)


def rows(context: DoctorContext, *areas: str) -> list[Row]:
    chosen = [area for area in AREAS if area.name in areas]
    return list(examine(context, chosen))


def codes(context: DoctorContext, *areas: str) -> set[str]:
    """Return the codes of all that is wrong in some areas."""
    bad = {Level.WARN, Level.FAIL}
    return {row.code for row in rows(context, *areas) if row.level in bad}


@ON_LINUX
@pytest.mark.parametrize(
    ("lie", "code"),
    [
        ("", ""),
        ("open", "chat_open"),
        ("keeps", "chat_keeps_body"),
        ("shape", "chat_models_shape"),
        ("body", "chat_body_refused"),
    ],
)
def test_a_chat_listener_that_does_one_thing_wrong(
    tmp_path: Path, lie: str, code: str
) -> None:
    context = opened(tmp_path)
    with lying(LyingChat, context.chats[0].port, lie):
        assert codes(context, "chat") == ({code} if code else set())


@ON_LINUX
@pytest.mark.parametrize(
    ("lie", "code"),
    [
        ("", ""),
        ("open", "lane_open"),
        ("write", "lane_write_refused"),
        ("modes", "lane_modes"),
        ("bytes", "lane_read_differs"),
        ("stale", "lane_stale"),
        ("catch_all", "lane_no_miss"),
        ("listing", "lane_listing"),
        ("delete", "lane_left_behind"),
    ],
)
def test_a_file_lane_that_does_one_thing_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: str, code: str
) -> None:
    monkeypatch.setattr(lane_trial, "FRESH_SECONDS", 0.0)
    context = opened(tmp_path)
    lane = context.lanes[0]
    with lying(LyingLane, lane.port, lie, root=lane.root):
        found = codes(context, "lane")
    # The one lie may show in more than one place.
    assert (code in found) if code else not found
    assert list(lane.root.iterdir()) == []


@ON_LINUX
def test_a_lane_that_is_slower_than_the_app_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_trial, "APP_SECONDS", -1.0)
    context = opened(tmp_path)
    lane = context.lanes[0]
    with lying(LyingLane, lane.port, "", root=lane.root):
        assert codes(context, "lane") == {"lane_slow"}


def test_a_disk_without_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = opened(tmp_path)
    monkeypatch.setattr(disk, "LOW_BYTES", 1 << 62)
    assert codes(context, "disk") == {"disk_low"}
    monkeypatch.setattr(disk, "FULL_BYTES", 1 << 62)
    assert codes(context, "disk") == {"disk_full"}


@pytest.mark.parametrize(
    ("confine", "words", "code"),
    [
        ("off", "", "engine_confine_off"),
        ("auto", "landlock (ABI 7)", "engine_confined"),
        ("auto", "none: it is too old", "engine_unconfined"),
        ("required", "none: it is too old", "engine_cannot_be_confined"),
    ],
)
def test_what_confines_an_engine_now(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    confine: str,
    words: str,
    code: str,
) -> None:
    monkeypatch.setattr(engine, "what_is_in_force", lambda _confine: words)
    context = opened(tmp_path, confine=confine)
    (row,) = [x for x in rows(context, "engine") if x.check == "engine.confinement"]
    assert row.code == code
    assert words.removeprefix("none: ") in row.message


def test_a_folder_that_is_gone_while_the_config_is_known(tmp_path: Path) -> None:
    context = opened(tmp_path)
    context.lanes[0].root.rmdir()
    assert codes(context, "lane", "engine") == {"lane_folder_unusable"}


def test_a_system_that_shows_no_variables_is_told(tmp_path: Path) -> None:
    context = replace(opened(tmp_path), service=Service(user=1000))
    found = {row.code for row in rows(context, "service")}
    assert "service_environment_unknown" in found


def test_a_terminal_and_root_are_told(tmp_path: Path) -> None:
    bad = Service(pid=1, environment={}, has_terminal=True, user=0)
    context = replace(opened(tmp_path), service=bad)
    assert codes(context, "service") == {"service_in_terminal", "service_root"}


@ON_LINUX
@pytest.mark.parametrize(
    ("lie", "broken"),
    [
        ("", {"methods", "body_too_large"}),
        ("open", {"auth_models", "auth_unknown_path", "auth_scheme"}),
        ("keeps", {"auth_reject_body", "connection_close"}),
        ("shape", {"models"}),
        ("body", {"bad_json", "bad_shapes", "chunked"}),
    ],
)
def test_selftest_breaks_the_promise_that_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: str, broken: set[str]
) -> None:
    monkeypatch.setattr(wire_cases, "SECONDS", 0.5)
    context = opened(tmp_path)
    with lying(LyingChat, context.chats[0].port, lie):
        (subject,) = subjects(context, Profile())
        results = [judge(case, subject) for case in (*GATE_CASES, *WIRE_CASES)]
    failed = {item.case.name for item in results if item.verdict is Verdict.FAIL}
    assert broken <= failed
    assert len(failed) < len(results)
    assert all(item.detail for item in results if item.verdict is Verdict.FAIL)
