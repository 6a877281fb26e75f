"""The file lane as the app uses it, and one turn with a file in and a file out."""

from __future__ import annotations

import secrets

from conduck_service.doctor.checks.lane_trial import Trial
from conduck_service.doctor.finding import Level
from conduck_service.doctor.peer import Peer, Reply
from conduck_service.doctor.servers import (
    NO_HANDS,
    TOOL_UNUSED,
    has_hands,
    has_model_server,
)
from conduck_service.doctor.turns import FileTurn
from conduck_service.selftest.case import (
    OURS,
    BrokenError,
    Case,
    SkippedError,
    Subject,
    expect_answer,
    expect_status,
)

_LANE = "open-conduit doctor --check-secrets says what is wrong"


def _files(subject: Subject) -> Peer:
    assert subject.files is not None
    return subject.files


def _gate(subject: Subject) -> None:
    files = _files(subject)
    strangers = (
        Peer(files.base),
        files.with_password("conduck-selftest-wrong"),
        Peer(files.base, subject.owner.authorization),
    )
    for peer in strangers:
        for method in ("GET", "PUT", "PROPFIND", "MKCOL", "DELETE"):
            expect_status(peer.ask(method, "/__conduck_selftest_gate"), 401)


def _trial(subject: Subject) -> None:
    assert subject.lane is not None
    trial = Trial(subject.lane, _files(subject))
    try:
        for finding in trial.findings():
            if finding.what.level is Level.FAIL:
                raise BrokenError(finding.message)
    finally:
        trial.clear()


def _range(subject: Subject) -> None:
    """The app asks for one byte to learn whether its upload is there."""
    files, name = _files(subject), f"/__conduck_probe_{secrets.token_hex(4)}.txt"
    one = {"Range": "bytes=0-0", "Accept-Encoding": "identity"}
    expect_status(files.ask("GET", name, headers=one), 404)
    expect_status(files.ask("PUT", name, b"conduck"), 201)
    try:
        reply = files.ask("GET", name, headers=one)
        expect_status(reply, 206)
        if reply.headers.get("content-range") != "bytes 0-0/7" or reply.body != b"c":
            raise BrokenError("not the byte that was asked for")
        expect_status(files.ask("PUT", name, b"again"), 200, 204)
    finally:
        files.ask("DELETE", name)


def _file_turn(subject: Subject) -> None:
    assert subject.lane is not None
    engine = subject.context.engine_of(subject.chat, subject.ids[0])
    if not has_hands(engine):
        raise SkippedError(NO_HANDS)
    files, turn = _files(subject), FileTurn(subject.lane.root)
    with turn.uploaded(files) as is_there:
        if not is_there:
            raise BrokenError("the file cannot be uploaded")
        expect_status(_listing(files, turn.folder, "0"), 404)
        expect_answer(subject.turn(turn.message, model=subject.ids[0]))
        rows = _listing(files, turn.folder, "1")
        if rows.status != 207 or b"output.txt" not in rows.body:
            words = "no file stands in the folder that the message names"
            raise BrokenError(words, TOOL_UNUSED if has_model_server(engine) else "")
        if files.ask("GET", f"/{turn.output}").body != turn.content:
            raise BrokenError("the file is there with other bytes")
    if (turn.root / turn.conversation).exists():
        raise BrokenError("the folder of the conversation cannot be removed")


def _listing(files: Peer, path: str, depth: str) -> Reply:
    return files.ask("PROPFIND", f"/{path}", headers={"Depth": depth}, seconds=15)


FILE_CASES = (
    Case(
        name="files_auth",
        means="nobody gets at files without the lane's own password",
        remedy=OURS,
        run=_gate,
    ),
    Case(
        name="files_trial",
        means="the app's own test of the lane is green, folders included",
        remedy=_LANE,
        run=_trial,
    ),
    Case(
        name="files_range",
        means="the app can tell whether an upload is there, and replace it",
        remedy=OURS,
        run=_range,
    ),
    Case(
        name="file_turn",
        means="a file that is sent comes back changed, as a chip in the app",
        remedy="give the engine the standing instructions "
        "(docs/howto/hand-files-back.md), and let it write files without asking",
        run=_file_turn,
        needs_turn=True,
    ),
)
