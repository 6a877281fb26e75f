"""The app's own way with the lane, over the connections that its system keeps.

Each step sends what the app sends and judges the answer as the app does.
"""

from __future__ import annotations

import http.client
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.lane import (
    DIRECTIVE,
    Lane,
    believed,
    new_conversation,
    new_outbound,
    serving_files,
    told,
)
from tests.support.raw_http import connect, request
from tests.support.service import Service, wait_until

req = pytest.mark.req

ALLPROP = (
    b'<?xml version="1.0" encoding="utf-8"?>'
    b'<d:propfind xmlns:d="DAV:"><d:allprop/></d:propfind>'
)
XML = "application/xml; charset=utf-8"
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as the app sees it."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


class _Connection(http.client.HTTPConnection):
    """Counts how often it had to connect."""

    count = 0

    def connect(self) -> None:
        self.count += 1
        super().connect()


class App:
    """The app's half of the lane."""

    def __init__(self, lane: Lane) -> None:
        self.connection = _Connection("127.0.0.1", lane.port, timeout=15)
        self._headers = dict(lane.credentials)

    def call(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> Reply:
        fields = {name.replace("_", "-"): text for name, text in headers.items()}
        address = quote(f"/{path}")
        self.connection.request(method, address, body, self._headers | fields)
        answer = self.connection.getresponse()
        return Reply(answer.status, answer.headers, answer.read())

    def look(self, path: str, depth: int) -> Reply:
        return self.call("PROPFIND", path, ALLPROP, Depth=str(depth), Content_Type=XML)

    def is_absent(self, path: str) -> bool:
        """Say whether a collection is a definite miss; anything else is no answer."""
        return self.look(path, 0).status == 404

    def exists(self, path: str) -> bool:
        """Probe a file with one byte, and the lane with a file that is nowhere."""
        found = self._probe(path)
        if found.status == 206:
            span = re.fullmatch(r"bytes 0-0/\d+", found.headers["Content-Range"])
            assert span
            assert len(found.body) == 1
        elif found.status == 416:
            assert found.headers["Content-Range"] == "bytes */0"
        elif found.status != 200:
            return False
        assert "Content-Encoding" not in found.headers
        assert path.endswith("html") or "html" not in found.headers["Content-Type"]
        absent = f"__conduck_absent_{secrets.token_hex(8)}.txt"
        return self._probe(absent).status == 404

    def _probe(self, path: str) -> Reply:
        return self.call("GET", path, Range="bytes=0-0", Accept_Encoding="identity")

    def upload(self, conversation: str, name: str, body: bytes) -> str:
        """Upload a file into its conversation's folder; return its path."""
        self.call("MKCOL", conversation)
        path = f"{conversation}/{secrets.token_hex(4)}__{name}"
        answer = self.put(path, body)
        if answer.status == 409:
            self.call("MKCOL", conversation)
            answer = self.put(path, body)
        assert answer.is_good, answer.status
        return path

    def put(self, path: str, body: bytes) -> Reply:
        return self.call("PUT", path, body, Content_Type="application/octet-stream")

    def listing(self, path: str) -> list[str]:
        """Return the files of an outbound folder; the lane must be able to say no."""
        answer = self.look(path, 1)
        if answer.status == 404:
            return []
        assert answer.status == 207
        conversation = path.partition("/")[0]
        assert self.is_absent(f"{conversation}/__conduck_absent_{secrets.token_hex(8)}")
        return believed(path, answer.body)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("app")
    with serving_files(root) as running_service:
        yield running_service


@pytest.fixture
def lane(service: Service) -> Lane:
    return Lane.of(service)


@pytest.fixture
def app(lane: Lane) -> Iterator[App]:
    app = App(lane)
    yield app
    app.connection.close()


def self_test(app: App) -> None:
    """Do what "Test Connection" does."""
    tag = secrets.token_hex(4)
    file, folder = f"__conduck_probe_{tag}.txt", f"__conduck_probe_{tag}__"
    assert app.put(file, b"conduck-probe").is_good
    read = app.call("GET", file)
    assert (read.status, read.body) == (200, b"conduck-probe")
    assert app.call("DELETE", file).is_good
    made = app.call("MKCOL", folder)
    assert made.status == 201
    assert app.put(f"{folder}/{tag}.txt", b"conduck-nested-probe").is_good
    assert app.call("GET", f"{folder}/{tag}.txt").body == b"conduck-nested-probe"
    assert app.call("DELETE", f"{folder}/{tag}.txt").is_good
    assert app.call("DELETE", f"{folder}/").is_good
    assert app.look("", 0).status == 207
    assert app.is_absent(f"__conduck_absent_{secrets.token_hex(8)}")


def test_the_self_test_is_green_and_leaves_nothing(app: App, lane: Lane) -> None:
    before = sorted(lane.folder.iterdir())
    self_test(app)
    assert sorted(lane.folder.iterdir()) == before
    assert app.connection.count == 1


def test_the_light_probe_is_told_that_nothing_is_there(app: App) -> None:
    name = f"__conduck_reach_{secrets.token_hex(6)}__"
    assert app.call("GET", name, Range="bytes=0-0").status == 404
    assert app.connection.count == 1


def test_an_upload_makes_its_folder_when_it_has_to(app: App, lane: Lane) -> None:
    conversation = new_conversation()
    path = f"{conversation}/0a1b2c3d__photo.heic"
    assert app.put(path, b"x" * 20_000).status == 409
    assert app.call("MKCOL", conversation).status == 201
    # A body that was still on its way when it was refused costs its connection.
    connected = app.connection.count
    assert app.call("MKCOL", conversation).status == 405
    assert app.put(path, b"photo").status == 201
    assert app.put(path, b"photo, once more").status == 204  # a visible Retry
    assert lane.at(path).read_bytes() == b"photo, once more"
    assert app.connection.count == connected


def test_a_large_upload_that_is_refused_is_sent_again(app: App, lane: Lane) -> None:
    conversation, body = new_conversation(), secrets.token_bytes(20 * MIB)
    path = f"{conversation}/0a1b2c3d__film.mov"
    assert app.put(path, body).status == 409
    assert app.call("MKCOL", conversation).status == 201
    assert app.put(path, body).status == 201
    assert lane.at(path).read_bytes() == body


@pytest.mark.parametrize("name", ["report.pdf", "page.html", "IMG_1.heic", "none"])
@pytest.mark.parametrize("body", [b"", b"x", b"<html>" * 20_000])
def test_own_uploads_are_found_again(app: App, name: str, body: bytes) -> None:
    path = app.upload(new_conversation(), name, body)
    assert app.exists(path)
    assert not app.exists(f"{path}x")
    assert app.connection.count == 1


def test_a_named_folder_is_a_definite_miss_before_its_turn(app: App) -> None:
    path = new_outbound()
    app.connection.timeout = 4
    assert app.is_absent(path)
    app.upload(path.partition("/")[0], "a.txt", b"x")
    assert app.is_absent(path)
    assert app.is_absent(f"{path}/")
    assert app.connection.count == 1


def chat_turn(service: Service, sent: str, path: str) -> str:
    """Take a turn whose engine reads what was sent and hands files back."""
    steps: list[list[Any]] = [
        ["cat", sent],
        ["make", path],
        ["write", f"{path}/report.csv", "a,b\n1,2\n"],
        ["write", f"{path}/the blue whale.MD", "# Größe 🐳\n"],
        ["write", f"{path}/notes.bin", "\0"],
        ["write", f"{path}/scratch/not this.txt", "x"],
    ]
    listed = (
        "The following file(s) are in your working directory \N{EM DASH} use them "
        f'for this request:\n- "in.txt" (saved as {sent})'
    )
    return service.chat(told(*steps, path=path, text=listed))


def test_from_the_app_to_the_engine_and_back(
    app: App, lane: Lane, service: Service
) -> None:
    self_test(app)
    conversation = new_conversation()
    sent = app.upload(conversation, "in.txt", b"what was sent")
    assert app.exists(sent)
    path = new_outbound(conversation)
    assert app.is_absent(path)
    assert chat_turn(service, sent, path).startswith("what was sent")
    assert sorted(app.listing(path)) == ["notes.bin", "report.csv", "the blue whale.MD"]
    fetched = app.call("GET", f"{path}/the blue whale.MD")
    assert (fetched.status, fetched.body) == (200, "# Größe 🐳\n".encode())
    assert app.call("GET", f"{path}/report.csv").body == b"a,b\n1,2\n"
    # The next turn names a file that came back, and a folder of its own.
    again = new_outbound(conversation)
    assert app.is_absent(again)
    assert "# Größe" in service.chat(
        told(["cat", f"{path}/the blue whale.MD"], path=again)
    )
    assert app.listing(again) == []
    assert app.listing(path) == app.listing(path)
    assert app.connection.count == 1
    assert lane.at(sent).read_bytes() == b"what was sent"


def test_a_text_turn_names_a_folder_and_leaves_none(app: App, service: Service) -> None:
    path = new_outbound()
    assert app.is_absent(path)
    said = f"Reply with exactly: hello\n\n{DIRECTIVE}{path}"
    assert service.chat(said).startswith("hello")
    assert app.listing(path) == []
    assert app.connection.count == 1


def test_a_kept_connection_serves_one_request_after_the_other(
    app: App, lane: Lane
) -> None:
    folder = lane.own_folder()[1:]
    for index in range(50):
        path = f"{folder}/{index}"
        assert app.put(path, b"x" * index * 100).status == 201
        assert len(app.call("GET", path).body) == index * 100
        assert app.call("GET", f"{path}-none").status == 404
        assert len(believed(folder, app.look(folder, 1).body)) == index + 1
        assert app.call("HEAD", path).body == b""
    assert app.connection.count == 1


def test_transfers_that_the_app_drops_harm_nobody(
    app: App, lane: Lane, service: Service
) -> None:
    folder = lane.own_folder()
    with (lane.at(folder) / "big").open("wb") as file:
        file.truncate(32 * MIB)
    for read in (0, 12, 1024, 16 * 1024, 256 * 1024):
        with connect(lane.port) as sock:
            sock.sendall(request("GET", f"{folder}/big", headers=lane.credentials))
            left = read
            while left > 0:
                left -= len(sock.recv(left))
    assert app.call("GET", f"{folder[1:]}/big", Range="bytes=0-9").status == 206
    # Nothing stays open behind them.
    link = f"{lane.at(folder).resolve()}/big"
    wait_until(lambda: link not in open_by(service))
    assert "Traceback" not in service.log


def open_by(service: Service) -> list[str]:
    """Return what the daemon has open, where that can be seen."""
    found = []
    for link in Path(f"/proc/{service.process.pid}/fd").glob("*"):
        try:
            found.append(str(link.readlink()))
        except OSError:
            continue
    return found
