"""F-SEC: nothing of a file, its name or a password gets where it does not belong."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import requests

from conduck_service.files.app import Lane as Application
from conduck_service.files.errors import LaneDialect
from conduck_service.files.request import Answer, LaneRequest
from conduck_service.files.transfers import TransferRoom
from conduck_service.serving.server import Server
from tests.support.commands import found_in
from tests.support.lane import Lane, file_turn, new_outbound, serving_files
from tests.support.raw_http import RawResponse, exchange, request
from tests.support.service import PASSWORD, TOKEN, Service

req = pytest.mark.req

NAME = "canary-name-5d1f"
CONTENT = "canary-content-8b2e"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("sec")
    options = ("--log-level", "debug")
    with serving_files(root, options=options) as running_service:
        yield running_service


@pytest.fixture(scope="module")
def lane(service: Service) -> Lane:
    return Lane.of(service)


def do_everything(service: Service, lane: Lane) -> None:
    """Send canaries through every method, to good and to bad ends."""
    folder, file = f"/{NAME}", f"/{NAME}/{NAME}.txt"
    body = CONTENT.encode()
    lane.mkcol(folder)
    lane.put(file, body)
    lane.put(file, body, headers=[("If-Match", f'"{NAME}"')])
    lane.put(f"{folder}/none/{NAME}", body)
    lane.put(f"{folder}/{NAME}\n", body)
    lane.get(file)
    lane.get(f"{file}?{NAME}", headers=[("Referer", NAME), ("User-Agent", NAME)])
    lane.get(f"/../{NAME}")
    lane.rows(folder)
    lane.propfind(folder, "1", f"<{CONTENT}".encode())
    lane.propfind(f"{folder}/{NAME}-none", "0")
    lane.copy(file, f"{file}-copy")
    lane.move(f"{file}-copy", f"{file}-moved")
    lane.move(file, f"http://{NAME}.example/")
    lane.send("LOCK", file, f"<{CONTENT}".encode())
    lane.send("PROPPATCH", file, f"<{CONTENT}/>".encode())
    lane.send(NAME.upper(), file)
    lane.send("GET", f"/{NAME}\xff")
    with lane.begin_put(f"{folder}/cut", 100, body):
        pass
    replace(lane, user=NAME).get(file)
    replace(lane, password=CONTENT).get(file)
    path = f"{new_outbound()}"
    file_turn(service, path, ["write", f"{path}/{NAME}", CONTENT], ["cat", file[1:]])
    os.mkfifo(lane.at(f"{folder}/{NAME}-pipe"))
    lane.delete(f"{folder}/{NAME}-pipe")
    lane.delete(folder)
    lane.send("GET", "/")


@req("F-SEC-01", "F-SEC-02")
def test_neither_names_nor_contents_nor_passwords_are_logged(
    service: Service, lane: Lane
) -> None:
    do_everything(service, lane)
    secret = [PASSWORD, CONTENT, lane.credentials[0][1].removeprefix("Basic ")]
    assert [text for text in secret if text in service.log] == []  # F-SEC-01
    assert NAME not in service.log.lower()  # F-SEC-02
    assert list(found_in(service.state, [text.encode() for text in secret])) == []
    line = next(
        line for line in service.log.splitlines() if "server=files method=PUT" in line
    )
    words = [word.partition("=")[0] for word in line.split() if "=" in word]
    wanted = ["server", "method", "route", "status", "size", "ms"]
    assert words == wanted  # F-SEC-02
    assert "Traceback" not in service.log


@req("F-SEC-03")
def test_neither_credential_opens_the_other_door(service: Service, lane: Lane) -> None:
    for password in (TOKEN, f"Bearer {TOKEN}"):
        assert replace(lane, password=password).propfind("/", "0").status == 401
    bearer = [("Authorization", f"Bearer {TOKEN}"), ("Connection", "close")]
    assert exchange(lane.port, request("GET", "/", headers=bearer)).status == 401
    for value in (f"Bearer {PASSWORD}", lane.credentials[0][1]):
        headers = {"Authorization": value}
        assert service.models(headers=headers).status_code == 401
        answer = requests.post(
            f"{service.url}/v1/chat/completions", headers=headers, json={}, timeout=30
        )
        assert answer.status_code == 401


def refusals(lane: Lane) -> dict[str, RawResponse]:
    """Return one answer of each kind of refusal."""
    folder = lane.own_folder()
    lane.put(f"{folder}/a", b"x")
    old = [("If-Match", '"no"')]
    far = [("Range", "bytes=99-")]
    there = [("Destination", "http://elsewhere.example/x")]
    return {
        "404": lane.get(f"{folder}/none"),
        "404 list": lane.propfind(f"{folder}/none"),
        "409": lane.put(f"{folder}/none/x", b"x"),
        "409 folder": lane.mkcol(f"{folder}/none/x"),
        "400": lane.send("GET", "/../x"),
        "400 body": lane.propfind(folder, "1", b"<x"),
        "401": replace(lane, user=None).get("/x"),
        "403": lane.delete("/"),
        "403 depth": lane.propfind(folder, "infinity"),
        "405": lane.get(folder),
        "405 method": lane.send("PATCH", folder),
        "405 folder": lane.mkcol(folder),
        "412": lane.put(f"{folder}/a", b"x", headers=old),
        "413": lane.propfind(folder, "1", b" " * 70_000),
        "415": lane.put(f"{folder}/a", b"x", headers=[("Content-Encoding", "gzip")]),
        "416": lane.get(f"{folder}/a", headers=far),
        "502": lane.send("MOVE", f"{folder}/a", headers=there),
    }


def tells_nothing(body: bytes, *paths: Path) -> bool:
    words = [b"Traceback", b".py", b"Errno", b"Exception", b"Error:", b"WsgiDAV"]
    words += [b"cheroot", b"Python", *(str(path).encode() for path in paths)]
    return not any(word in body for word in words)


@req("F-SEC-04")
def test_errors_tell_nothing_of_the_machine(service: Service, lane: Lane) -> None:
    for kind, answer in refusals(lane).items():
        assert answer.status == int(kind.split()[0]), kind
        assert tells_nothing(answer.body, service.root, service.folder), kind
        assert answer.body.strip(), kind
        assert len(answer.body) < 400, kind
        assert tells_nothing(repr(answer.headers).encode(), service.root), kind


@req("F-SEC-04")
def test_a_folder_that_is_gone_is_told_without_its_path(tmp_path: Path) -> None:
    with serving_files(tmp_path) as service:
        lane = Lane.of(service)
        service.folder.rename(tmp_path / "away")
        for answer in (lane.get("/a"), lane.put("/a", b"x"), lane.propfind("/", "0")):
            assert answer.status == 503
            assert tells_nothing(answer.body, service.root)
        # Nothing says that a conversation's folder is free, or makes one.
        assert lane.propfind(f"/{new_outbound()}", "0").status == 503
        assert not service.folder.exists()


@req("F-SEC-04")
@pytest.mark.parametrize("kind", [RuntimeError, OSError, KeyError])
def test_a_failure_of_our_own_tells_nothing(kind: type[Exception]) -> None:
    def fail(request: LaneRequest) -> Answer:
        raise kind(f"/some/{NAME} {request.place}")

    server = Server(
        Application({"GET": fail}, TransferRoom()),
        port=0,
        gate=lambda _: True,
        dialect=LaneDialect(),
        workers=1,
        route_of=lambda _: "files",
        name="files",
    )
    server.start()
    try:
        close = [("Connection", "close")]
        answer = exchange(server.port, request("GET", f"/{NAME}", headers=close))
    finally:
        server.stop()
    assert answer.status == 500
    assert NAME.encode() not in answer.body
    assert tells_nothing(answer.body)
