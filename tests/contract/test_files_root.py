"""F-ROOT: one folder, and no way out of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.documents import document
from tests.support.lane import Lane, new_outbound, serving_files, told
from tests.support.outside import BODY, OUTSIDE, guarded, is_refused
from tests.support.probes import Probes
from tests.support.service import (
    Service,
    binding,
    free_port,
    image,
    prepared,
    running,
    started,
    stub,
    text,
    user,
)

req = pytest.mark.req


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("root")
    with serving_files(root) as running_service:
        yield running_service


@pytest.fixture
def lane(service: Service) -> Iterator[Lane]:
    with guarded(service) as lane:
        yield lane


# Raw targets; each would be the canary if it were taken for a way out.
UP = (
    "/../outside/secret.txt",
    "/a/../../outside/secret.txt",
    "/%2e%2e/outside/secret.txt",
    "/%2E%2E/outside/secret.txt",
    "/.%2e/outside/secret.txt",
    "/a/%2e./%2e%2e/outside/secret.txt",
    "/a/..%2f..%2foutside/secret.txt",
    "/..%2foutside/secret.txt",
    "/%2e%2e%2foutside%2fsecret.txt",
    "/%252e%252e/outside/secret.txt",
    "/..%252foutside/secret.txt",
    "/../folder-2/secret.txt",
    "//../outside/secret.txt",
    "/./../outside/secret.txt",
    "/..;/outside/secret.txt",
    "/%c0%ae%c0%ae/outside/secret.txt",
    "/..%00/outside/secret.txt",
    "/../outside/secret.txt?x=/../",
    "http://other/../outside/secret.txt",
)
BACKSLASHES = (
    "/..%5coutside%5csecret.txt",
    "/a/..%5c..%5coutside/secret.txt",
    "/a%5c..%5c..%5coutside%5csecret.txt",
    "/%5c%5coutside%5csecret.txt",
)


def absolute(lane: Lane) -> list[str]:
    """Return the canary's absolute path as targets."""
    path = str(lane.folder.parent / OUTSIDE / "secret.txt")
    return [
        "/" + quote(path, safe=""),
        "/" + path,
        "/file:" + path,
        "/a/" + quote(path, safe=""),
    ]


@req("F-ROOT-01")
def test_without_a_lane_chat_works_and_attachments_ride_inline(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["obey"])
    with running(tmp_path, engine, images={"mode": "file"}) as service:
        Probes(service.url, service.token).plain()
        answer = service.chat([text("Reply with exactly: seen"), image()])
    assert answer.startswith("seen")
    assert any(record["files"] for record in engine.records)


def chat_suite(root: Path, *, has_lane: bool) -> list[tuple[int, object]]:
    """Return statuses and bodies of requests to both chat routes."""
    root.mkdir()
    engine = stub(root, ["obey"])
    context = serving_files(root, engine) if has_lane else running(root, engine)
    with context as service:
        Probes(service.url, service.token).plain()
        answers = [
            service.models(),
            service.models(headers={}),
            service.turn(user("Reply with exactly: pong")),
            service.turn(user("hello"), model="no-such-model"),
            service.turn(user(told(path=new_outbound()))),
            service.turn(user([text("look"), image()])),
            service.post(b"{"),
            service.post({"messages": []}),
            service.post({"messages": [user("x")]}, headers={"Authorization": "x"}),
        ]
        found: list[tuple[int, object]] = []
        for answer in answers:
            body = answer.json()
            own = {"id": "", "created": 0} if "choices" in body else {}
            found.append((answer.status_code, body | own))
        return found


@req("F-ROOT-02")
def test_a_lane_changes_nothing_about_the_chat_routes(tmp_path: Path) -> None:
    without = chat_suite(tmp_path / "without", has_lane=False)
    assert [status for status, _ in without].count(200) == 4
    assert chat_suite(tmp_path / "with", has_lane=True) == without


@req("F-ROOT-03")
def test_the_folder_is_the_one_that_the_environment_names(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o700)
    engine = stub(tmp_path, ["follow"])
    command = binding(engine)
    del command["config"]["cwd"]
    config = document({"agent": command}, free_port(), files={"port": free_port()})
    del config["scopes"][0]["extensions"][1]["config"]["root"]
    environment = {"CONDUCK_FILES_DIR": str(shared)}
    service = prepared(tmp_path, config, environment=environment)
    with started(service):
        lane = Lane(service.files_port, shared)
        assert lane.put("/up.txt", b"up").status == 201
        assert service.chat(told(["cat", "up.txt"])) == "up"
    assert (shared / "up.txt").read_bytes() == b"up"
    assert engine.only["cwd"] == str(shared.resolve())
    assert list(service.folder.iterdir()) == []


@req("F-ROOT-06")
def test_uploads_arrive_inside_the_folder_and_nowhere_else(
    service: Service, lane: Lane
) -> None:
    def files() -> set[Path]:
        return {path for path in service.root.rglob("*") if path.is_file()}

    folder = lane.own_folder()
    lane.mkcol(f"{folder}/conv")
    before = files()
    paths = ["/flat.txt", "/conv/key__a.txt", "/%2e", "/..x", "/.hidden", "/a b/../c"]
    paths[-1] = "/conv/../dotted.txt"
    for path in paths:
        target = folder + path if "%" in path else quote(folder + path)
        answer = lane.send("PUT", target, BODY)
        assert answer.status in (201, 405), path
    new = files() - before
    assert {path.name for path in new} == {
        "flat.txt",
        "key__a.txt",
        "..x",
        ".hidden",
        "dotted.txt",
    }
    assert all(path.is_relative_to(lane.at(folder)) for path in new)


@req("F-ROOT-07")
@pytest.mark.parametrize("method", ["GET", "HEAD", "PROPFIND"])
def test_nothing_outside_is_read(lane: Lane, method: str) -> None:
    for target in (*UP, *BACKSLASHES, *absolute(lane)):
        for depth in ("0", "1"):
            answer = lane.send(method, target, headers=[("Depth", depth)])
            assert is_refused(answer), (target, answer.status)
    for folder in ("/..", "/../", "/%2e%2e", "/a/../..", "/../outside/", "/..%2f"):
        answer = lane.send(method, folder, headers=[("Depth", "1")])
        assert is_refused(answer), folder
        assert b"secret" not in answer.body


@req("F-ROOT-07")
def test_dot_segments_that_stay_inside_are_resolved(lane: Lane) -> None:
    for target in ("/a/../a/in.txt", "/./a/in.txt", "/%2e/a/%2e%2e/a/in.txt"):
        assert lane.send("GET", target).body == BODY


@req("F-ROOT-08")
@pytest.mark.parametrize("method", ["PUT", "MKCOL"])
def test_nothing_outside_is_made_or_overwritten(lane: Lane, method: str) -> None:
    body = BODY if method == "PUT" else None
    for target in (*UP, *absolute(lane)):
        fresh = target.replace("secret.txt", "new")
        for path in (target, fresh):
            if "?" in path or ";" in path:
                continue  # a name inside, whose parent is missing
            answer = lane.send(method, path, body)
            assert is_refused(answer), (path, answer.status)
    for target in ("/..", "/%2e%2e/", "/../outside", "/../outside/"):
        assert is_refused(lane.send(method, target, body)), target


@req("F-ROOT-08")
def test_backslashes_are_letters_of_a_name(lane: Lane) -> None:
    folder = lane.own_folder()
    for target in BACKSLASHES:
        lane.send("PUT", folder + target, BODY)  # what lies around stays as it was
    names = {path.name for path in lane.at(folder).iterdir()}
    assert names <= {r"..\outside\secret.txt", r"a\..\..\outside\secret.txt"} | {
        r"\\outside\secret.txt"
    }


@req("F-ROOT-09")
def test_nothing_outside_is_deleted(lane: Lane) -> None:
    folders = ("/..", "/../", "/%2e%2e", "/../outside", "/%2e%2e/outside/", "/a/../..")
    for target in (*UP, *BACKSLASHES, *absolute(lane), *folders):
        assert is_refused(lane.send("DELETE", target)), target
    assert lane.get("/a/in.txt").body == BODY


@req("F-ROOT-10", "F-ROOT-08", "F-ROOT-09")
@pytest.mark.parametrize("method", ["COPY", "MOVE"])
def test_nothing_is_moved_or_copied_out_or_in(lane: Lane, method: str) -> None:
    folder = lane.own_folder()
    lane.put(f"{folder}/mine.txt", BODY)
    ways = [*UP, *absolute(lane), "/../outside", "/%2e%2e/outside/below"]
    for way in ways:
        target = [("Destination", f"{folder}/taken")]
        assert is_refused(lane.send(method, way, headers=target)), way  # F-ROOT-10
        assert not lane.at(f"{folder}/taken").exists()
        for what in (f"{folder}/mine.txt", folder):
            if ";" in way:
                continue
            answer = lane.send(method, what, headers=[("Destination", way)])
            # The fixture looks at what lies outside: F-ROOT-08, F-ROOT-09.
            assert 400 <= answer.status < 500 or answer.status == 502, way
    for way in BACKSLASHES:
        lane.send(method, f"{folder}/mine.txt", headers=[("Destination", way)])
        for left in lane.folder.glob("*outside*"):
            left.unlink()
        lane.put(f"{folder}/mine.txt", BODY)
