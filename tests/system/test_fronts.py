"""The fronts of docs/howto/expose.md, as the page configures them, before a service."""

from __future__ import annotations

import http.client
import json
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.doctor.asking import places
from tests.support.commands import run
from tests.support.front_programs import NAMES, Fronted, block_of, fronted
from tests.support.lane import Lane, new_conversation, new_outbound, serving_files, told
from tests.support.lane_app import App, chat_turn, self_test
from tests.support.qr import payload
from tests.support.service import PASSWORD, TOKEN, Service, user

pytestmark = pytest.mark.slow

MIB = 1024 * 1024
SLOW = told(["sleep", 2])


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving_files(tmp_path_factory.mktemp("service")) as running_service:
        yield running_service


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def front(
    name: str, service: Service, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Fronted]:
    with fronted(name, service, tmp_path_factory.mktemp(name)) as found:
        yield found


@pytest.fixture
def app(front: Fronted, service: Service) -> Iterator[App]:
    app = App(Lane.of(service), (front.files_port, front.trusted))
    yield app
    app.connection.close()


def ask(front: Fronted, body: bytes, token: str = TOKEN) -> requests.Response:
    return requests.post(
        f"{front.chat}/v1/chat/completions",
        data=body,
        headers={"Authorization": f"Bearer {token}"},
        verify=str(front.certificate),
        timeout=60,
    )


def turn(front: Fronted, text: str) -> requests.Response:
    return ask(front, json.dumps({"messages": [user(text)]}).encode())


def test_a_turn_goes_through(front: Fronted) -> None:
    answer = turn(front, "Reply with exactly: pong")
    assert answer.status_code == 200
    assert answer.json()["choices"][0]["message"]["content"].startswith("pong")


def test_pair_finds_nothing_in_the_way(front: Fronted, service: Service) -> None:
    urls = ("--url", front.chat, "--files-url", front.files, "--turn", "--text")
    trusted = {"SSL_CERT_FILE": str(front.certificate)}
    done = run("pair", *places(service.root), *urls, environment=trusted)
    assert done.returncode == 0, done.stderr
    assert payload(done.stdout.strip())["fileServer"]["url"] == front.files
    assert "public/chat: a turn is answered through it" in done.stderr


def test_an_answer_may_take_its_time(front: Fronted) -> None:
    assert turn(front, SLOW).status_code == 200


def test_it_is_the_page_that_gives_it_the_time(
    name: str, service: Service, tmp_path: Path
) -> None:
    assert block_of(name).count("330s") >= 2
    with fronted(name, service, tmp_path, ("330s", "1s")) as hasty:
        assert turn(hasty, SLOW).status_code in {502, 504}


def test_a_body_of_twenty_photos_arrives(front: Fronted) -> None:
    head, tail = b'{"messages":[],"x":"', b'"}'
    answer = ask(front, head + b"x" * (50 * MIB) + tail)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["type"] == "invalid_request_error"


def test_a_refusal_arrives_though_its_body_was_not_read(front: Fronted) -> None:
    """And the next request is not lost, be it on the same connection or told not to be.

    A stranger's body is not read to its end, so that of a turn in words is tried.
    """
    connection = http.client.HTTPSConnection(
        "localhost", front.chat_port, context=front.trusted, timeout=30
    )
    body = b'{"messages":[],"x":"' + b"x" * 50_000 + b'"}'
    for token, status in (("wrong", 401), ("wrong", 401), (TOKEN, 400)) * 3:
        headers = {"Authorization": f"Bearer {token}"}
        connection.request("POST", "/v1/chat/completions", body, headers)
        answer = connection.getresponse()
        assert (answer.status, answer.read()[:1]) == (status, b"{")
    connection.close()


def test_the_apps_own_test_of_the_lane_is_green(app: App, service: Service) -> None:
    before = sorted(service.folder.iterdir())
    self_test(app)
    assert sorted(service.folder.iterdir()) == before
    assert app.connection.count == 1


def test_a_large_upload_arrives(app: App, service: Service) -> None:
    body = secrets.token_bytes(20 * MIB)
    path = app.upload(new_conversation(), "film.mov", body)
    assert app.call("GET", path).body == body
    assert app.call("GET", path, Range="bytes=5-8").body == body[5:9]
    assert Lane.of(service).at(path).read_bytes() == body
    assert app.connection.count == 1


def put_while_reading(front: Fronted, path: str, file: Path) -> str:
    """PUT a file with a client that sees an answer before it has sent all of it."""
    argv = ["curl", "-sS", "--cacert", str(front.certificate), "-T", str(file)]
    argv += ["-u", f"conduck:{PASSWORD}", "-o", "/dev/null", "-w", "%{http_code}"]
    done = subprocess.run(
        [*argv, f"{front.files}/{path}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_a_large_upload_that_is_refused_is_sent_again(
    front: Fronted, app: App, tmp_path: Path
) -> None:
    conversation, file = new_conversation(), tmp_path / "film.mov"
    file.write_bytes(secrets.token_bytes(20 * MIB))
    path = f"{conversation}/0a1b2c3d__film.mov"
    assert put_while_reading(front, path, file) == "409"
    assert app.call("MKCOL", conversation).status == 201
    assert put_while_reading(front, path, file) == "201"
    assert app.call("GET", path).body == file.read_bytes()


def test_from_the_app_to_the_engine_and_back(app: App, service: Service) -> None:
    conversation = new_conversation()
    sent = app.upload(conversation, "in.txt", b"what was sent")
    assert app.exists(sent)
    path = new_outbound(conversation)
    assert app.is_absent(path)
    assert chat_turn(service, sent, path).startswith("what was sent")
    assert sorted(app.listing(path)) == ["notes.bin", "report.csv", "the blue whale.MD"]
    fetched = app.call("GET", f"{path}/the blue whale.MD")
    assert (fetched.status, fetched.body) == (200, "# Größe 🐳\n".encode())
    assert app.connection.count == 1


def test_names_arrive_as_they_are(app: App, service: Service) -> None:
    for name in ("a b%41.txt", "größe 🐳.txt", "a+b&c;d=e,f'g.txt", "x%2Fy.txt"):
        assert app.put(name, name.encode()).status == 201
        assert Lane.of(service).at(name).read_bytes() == name.encode()
        assert app.call("DELETE", name).is_good


@pytest.mark.parametrize("method", ["MOVE", "COPY"])
def test_a_destination_is_found_behind_it(
    app: App, front: Fronted, service: Service, method: str
) -> None:
    old, new = (f"{secrets.token_hex(4)}-{word}.txt" for word in ("old", "new"))
    assert app.put(old, b"x").is_good
    to = f"{front.files}/{new}"
    assert app.call(method, old, Destination=to, Overwrite="F").status == 201
    assert Lane.of(service).at(new).read_bytes() == b"x"
    assert Lane.of(service).at(old).exists() == (method == "COPY")
    assert app.call(method, new, Destination="https://other.example/x").status == 502


@pytest.mark.parametrize(
    ("line", "code", "status"),
    [
        ("client_max_body_size 64m;", "public_body_limit", 201),
        ("client_max_body_size 0;", "public_body_limit", 201),
        ("proxy_set_header Host $http_host;", "", 502),
    ],
)
def test_a_line_that_is_missing_makes_itself_felt(
    service: Service, tmp_path: Path, line: str, code: str, status: int
) -> None:
    with fronted("nginx", service, tmp_path, (line, "")) as front:
        trusted = {"SSL_CERT_FILE": str(front.certificate)}
        urls = ("--url", front.chat, "--files-url", front.files, "--json")
        done = run("pair", *places(service.root), *urls, environment=trusted)
        problems = json.loads(done.stdout).get("problems", [])
        assert [item["code"] for item in problems] == [code] * bool(code)
        app = App(Lane.of(service), (front.files_port, front.trusted))
        name = secrets.token_hex(4)
        assert app.put(name, b"x").is_good
        copied = app.call("COPY", name, Destination=f"{front.files}/{name}-copy")
        assert copied.status == status
        app.connection.close()
