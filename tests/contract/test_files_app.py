"""The app's own way with the lane, over the connections that its system keeps.

Each step sends what the app sends and judges the answer as the app does.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

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
from tests.support.lane_app import App, chat_turn, self_test
from tests.support.raw_http import connect, request
from tests.support.service import Service, wait_until

req = pytest.mark.req

MIB = 1024 * 1024


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
