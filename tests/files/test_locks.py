"""Locks: class 2, short, and never in the way of the app for long."""

from __future__ import annotations

import re
import socket
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest

from conduck_service.files.dav.locks import LONGEST_SECONDS, MOST, Locks
from conduck_service.files.dav.webdav import WebDav
from conduck_service.files.disk.paths import parse_place
from conduck_service.files.disk.tree import Tree
from conduck_service.files.errors import LaneError
from conduck_service.files.request import Answer, LaneRequest
from conduck_service.serving.body import Body
from conduck_service.serving.intake import Intake
from tests.support.lane_faults import Box, uploading
from tests.support.raw_http import RawResponse

CONFLICT = b"no-conflicting-lock"
SUBMIT = b"lock-token-submitted"
MISMATCH = b"lock-token-matches-request-uri"
UNKNOWN = "urn:uuid:00000000-0000-4000-8000-000000000000"
SECONDS = re.compile(rb"<D:timeout>Second-([0-9]+)</D:timeout>")


def lock_body(scope: str = "exclusive", more: str = "") -> bytes:
    return (
        f"<D:lockinfo xmlns:D='DAV:'><!-- x --><D:lockscope><D:{scope}/></D:lockscope>"
        f"<D:locktype><D:write/></D:locktype>{more}</D:lockinfo>"
    ).encode()


def lock(
    box: Box, name: str, scope: str = "exclusive", *headers: tuple[str, str]
) -> RawResponse:
    return box.lane.send("LOCK", box.at(name), lock_body(scope), headers=headers)


def token_of(answer: RawResponse) -> str:
    assert answer.status in (200, 201), (answer.status, answer.body)
    (value,) = answer.values("Lock-Token")
    assert value.startswith("<urn:uuid:")
    assert value.encode().strip(b"<>") in answer.body
    return value.strip("<>")


def shown(token: str, tag: str = "") -> list[tuple[str, str]]:
    return [("If", f"{tag}(<{token}>)")]


def unlock(box: Box, name: str, token: str) -> RawResponse:
    headers = [("Lock-Token", f"<{token}>")]
    return box.lane.send("UNLOCK", box.at(name), headers=headers)


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.at = 1000.0

    def monotonic(self) -> float:
        return self.at

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC)


def test_a_locked_file_is_changed_only_with_the_token(box: Box) -> None:
    box.write("file")
    token = token_of(lock(box, "file"))
    tries = [
        box.lane.put(box.at("file"), b"x"),
        box.lane.delete(box.at("file")),
        box.lane.move(box.at("file"), box.at("new")),
        box.lane.send(
            "PROPPATCH",
            box.at("file"),
            b"<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop><a xmlns='urn:x'/>"
            b"</D:prop></D:set></D:propertyupdate>",
        ),
    ]
    box.write("other")
    tries += [
        box.lane.copy(box.at("other"), box.at("file")),
        box.lane.move(box.at("other"), box.at("file")),
    ]
    for answer in tries:
        assert answer.status == 423
        assert SUBMIT in answer.body
    assert box.lane.get(box.at("file")).body == b"old"
    assert box.lane.copy(box.at("file"), box.at("copy")).status == 201
    assert box.lane.put(box.at("file"), b"x", headers=shown(token)).status == 204
    assert box.lane.delete(box.at("file"), headers=shown(token)).status == 204
    # It went with the file.
    assert box.lane.put(box.at("file"), b"x").status == 201


def test_other_names_are_free(box: Box) -> None:
    box.write("file")
    token_of(lock(box, "file"))
    assert box.lane.put(box.at("other"), b"x").status == 201
    assert box.lane.mkcol(box.at("folder")).status == 201


def test_a_folder_is_locked_with_all_below(box: Box) -> None:
    (box.disk / "folder/sub").mkdir(parents=True)
    box.write("folder/sub/file")
    token = token_of(lock(box, "folder"))
    for answer in (
        box.lane.put(box.at("folder/sub/file"), b"x"),
        box.lane.put(box.at("folder/new"), b"x"),
        box.lane.mkcol(box.at("folder/new")),
        box.lane.delete(box.at("folder/sub")),
    ):
        assert answer.status == 423
    assert lock(box, "folder/sub/file").status == 423
    assert lock(box, "folder/new").status == 423
    # No file was left behind by the refused lock.
    assert not (box.disk / "folder/new").exists()
    tag = f"<{box.at('folder/')}>"
    answer = box.lane.put(box.at("folder/new"), b"x", headers=shown(token, tag))
    assert answer.status == 201
    assert unlock(box, "folder/sub/file", token).status == 204


def test_depth_0_locks_the_list_of_names_only(box: Box) -> None:
    (box.disk / "folder").mkdir()
    box.write("folder/file")
    token = token_of(lock(box, "folder", "exclusive", ("Depth", "0")))
    assert box.lane.put(box.at("folder/file"), b"x").status == 204
    assert box.lane.put(box.at("folder/new"), b"x").status == 423
    assert box.lane.delete(box.at("folder/file")).status == 423
    assert unlock(box, "folder/file", token).status == 409
    assert lock(box, "folder/file").status == 200
    assert lock(box, "folder", "exclusive", ("Depth", "1")).status == 400


def test_a_lock_below_holds_the_folder(box: Box) -> None:
    (box.disk / "folder").mkdir()
    box.write("folder/file")
    token = token_of(lock(box, "folder/file"))
    assert lock(box, "folder").status == 423
    assert box.lane.delete(box.at("folder")).status == 423
    assert box.lane.move(box.at("folder"), box.at("new")).status == 423
    tag = f"<{box.at('folder/file')}>"
    answer = box.lane.delete(box.at("folder"), headers=shown(token, tag))
    assert answer.status == 204


def test_one_of_several_shared_locks_is_enough(box: Box) -> None:
    box.write("file")
    first, second = (token_of(lock(box, "file", "shared")) for _ in range(2))
    exclusive = lock(box, "file")
    assert exclusive.status == 423
    assert CONFLICT in exclusive.body
    assert box.lane.put(box.at("file"), b"x").status == 423
    for token in (first, second):
        answer = box.lane.put(box.at("file"), b"x", headers=shown(token))
        assert answer.status == 204


def test_a_missing_name_becomes_an_empty_file(box: Box) -> None:
    answer = lock(box, "new")
    assert answer.status == 201
    assert (box.disk / "new").read_bytes() == b""
    headers = shown(token_of(answer))
    assert box.lane.put(box.at("new"), b"x", headers=headers).status == 204
    assert lock(box, "no/new").status == 409
    assert lock(box, "a%2Fb").status == 409
    assert lock(box, "a%0Ab").status == 400
    assert box.on_disk() == ["new"]


@pytest.mark.req("F-ROOT-12")
def test_links_are_not_locked(box: Box, tmp_path: Path) -> None:
    (box.disk / "link").symlink_to(tmp_path / "nothing")
    assert 400 <= lock(box, "link").status < 500
    assert lock(box, "link/new").status == 409
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "asked",
    ["Infinite", "Second-4100000000", "Second-" + "9" * 5000, "what", "", "Second--1"],
)
def test_no_lock_is_longer_than_five_minutes(box: Box, asked: str) -> None:
    box.write("file")
    answer = lock(box, "file", "exclusive", ("Timeout", asked))
    found = SECONDS.search(answer.body)
    assert found is not None
    assert 0 < int(found[1]) <= 300
    token = token_of(answer)
    headers = [*shown(token), ("Timeout", asked)]
    renewed = box.lane.send("LOCK", box.at("file"), headers=headers)
    assert renewed.status == 200
    found = SECONDS.search(renewed.body)
    assert found is not None
    assert int(found[1]) <= 300


def test_a_short_time_is_granted_and_told(box: Box) -> None:
    box.write("file")
    answer = lock(box, "file", "exclusive", ("Timeout", "Infinite, Second-60"))
    found = SECONDS.search(answer.body)
    assert found is not None
    assert int(found[1]) in (59, 60)


def test_locks_are_told_in_listings(box: Box) -> None:
    (box.disk / "folder").mkdir()
    box.write("folder/file")
    owner = "<D:owner><D:href>mailto:a&amp;b</D:href> me</D:owner><D:new/>"
    answer = box.lane.send("LOCK", box.at("folder"), lock_body("shared", owner))
    token = token_of(answer)
    body = (
        b"<D:propfind xmlns:D='DAV:'><D:prop><D:lockdiscovery/></D:prop></D:propfind>"
    )
    listed = box.lane.propfind(box.at("folder"), "1", body)
    root = ElementTree.fromstring(listed.body)  # noqa: S314 - our own answer
    found = root.findall(".//{DAV:}activelock")
    assert len(found) == 2
    for active in found:
        assert active.findtext("{DAV:}locktoken/{DAV:}href") == token
        assert active.findtext("{DAV:}lockroot/{DAV:}href") == box.at("folder")
        assert active.findtext("{DAV:}owner/{DAV:}href") == "mailto:a&b"
        assert active.findtext("{DAV:}depth") == "infinity"
        assert active.find("{DAV:}lockscope/{DAV:}shared") is not None


def test_what_is_unknown_is_refused_and_never_a_failure(box: Box) -> None:
    box.write("file")
    answer = unlock(box, "file", UNKNOWN)
    assert answer.status == 409
    assert MISMATCH in answer.body
    refresh = box.lane.send("LOCK", box.at("file"), headers=shown(UNKNOWN))
    assert refresh.status == 412
    # Not (<token>): it holds, but shows no lock that could be renewed.
    headers = [("If", f"(Not <{UNKNOWN}>)")]
    refresh = box.lane.send("LOCK", box.at("file"), headers=headers)
    assert refresh.status == 412
    assert box.lane.send("UNLOCK", box.at("file")).status == 400
    assert box.lane.send("LOCK", box.at("file")).status == 400
    assert box.lane.send("UNLOCK", box.at("file"), b"<x/>").status == 415
    token = token_of(lock(box, "file"))
    assert unlock(box, "nothing", token).status == 404
    box.write("other")
    assert unlock(box, "other", token).status == 409
    assert unlock(box, "file", token).status == 204
    assert unlock(box, "file", token).status == 409


@pytest.mark.parametrize(
    "body",
    [
        b"<x",
        b"<D:propfind xmlns:D='DAV:'/>",
        b"<D:lockinfo xmlns:D='DAV:'/>",
        b"<!DOCTYPE x><D:lockinfo xmlns:D='DAV:'/>",
        lock_body("secret"),
        lock_body(more=f"<D:owner>{'x' * 3000}</D:owner>"),
    ],
)
def test_a_body_that_is_none_is_400(box: Box, body: bytes) -> None:
    assert box.lane.send("LOCK", box.at("new"), body).status == 400
    assert box.on_disk() == []


def test_a_file_that_is_being_written_is_not_locked(box: Box) -> None:
    box.write("file")
    for name in ("file", "new"):
        with uploading(box.lane, box.at(name), 4) as upload:
            upload.send(b"12")
            answer = lock(box, name)
            assert answer.status == 423
            assert CONFLICT in answer.body
            assert lock(box, "").status == 423
            assert lock(box, f"other-{name}").status == 201
            upload.send(b"34")
            assert upload.finish().status in (201, 204)
        assert (box.disk / name).read_bytes() == b"1234"
        assert unlock(box, name, token_of(lock(box, name))).status == 204


def test_a_lock_moves_with_no_file(box: Box) -> None:
    box.write("a")
    token = token_of(lock(box, "a"))
    moved = box.lane.move(box.at("a"), box.at("b"), shown(token))
    assert moved.status == 201
    assert box.lane.put(box.at("b"), b"x").status == 204
    # What takes the place of a locked file is locked as that was.
    kept = token_of(lock(box, "b"))
    box.write("c")
    tag = f"<{box.at('b')}>"
    assert box.lane.move(box.at("c"), box.at("b"), shown(kept, tag)).status == 204
    assert box.lane.put(box.at("b"), b"x").status == 423
    assert unlock(box, "b", kept).status == 204


def ask(webdav: WebDav, method: str, body: bytes = b"", **headers: str) -> Answer:
    """Ask for something about ``/file`` without a server."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        request = LaneRequest(
            method,
            parse_place("/file"),
            {f"HTTP_{name}": value for name, value in headers.items()},
            Body(Intake(ours, body), length=len(body) or None, chunked=False),
        )
        return webdav.answer(request)


def status_of(webdav: WebDav, method: str, condition: str = "") -> int:
    """Return the status of a request, with an ``If`` header or without."""
    headers = {"IF": condition} if condition else {}
    try:
        return int(ask(webdav, method, b"", **headers).status[:3])
    except LaneError as error:
        return error.status


def test_locks_end_by_themselves(tmp_path: Path) -> None:
    clock = Hand()
    (tmp_path / "file").write_bytes(b"x")
    webdav = WebDav(Tree(tmp_path, file_mode=0o660, folder_mode=0o770), clock)
    made = ask(webdav, "LOCK", lock_body(), TIMEOUT="Second-100")
    condition = f"({dict(made.headers)['Lock-Token']})"
    clock.at += 99
    assert status_of(webdav, "DELETE") == 423
    assert status_of(webdav, "LOCK", condition) == 200  # from now for five minutes
    clock.at += 299
    assert status_of(webdav, "DELETE") == 423
    clock.at += 2
    assert status_of(webdav, "LOCK", condition) == 412
    assert status_of(webdav, "DELETE", condition) == 412
    assert status_of(webdav, "DELETE") == 204


def test_the_number_of_locks_is_bounded() -> None:
    clock = Hand()
    locks = Locks(clock)

    def add(name: str) -> None:
        place = parse_place(name)
        locks.add(place, exclusive=True, deep=False, owner="", seconds=9999)

    for number in range(MOST):
        add(f"/{number}")
    with pytest.raises(LaneError) as raised:
        add("/more")
    assert raised.value.status == 507
    clock.at += LONGEST_SECONDS
    add("/more")
