"""C-SEC and C-AUTH: what is said in a chat is nowhere but in the answer.

One daemon, with every log line switched on, goes through everything that can
happen to a turn; then its log and its state directory are searched for what the
client sent, what the engine wrote and what the secrets are.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support import raw_http
from tests.support.commands import found_in
from tests.support.documents import document
from tests.support.service import (
    PIXEL,
    Service,
    Stub,
    assistant,
    binding,
    free_port,
    image,
    prepared,
    started,
    stub,
    text,
    user,
)

CANARY = "canary"
TOKEN = "canary-token-h4v8"
SECRET = "canary-secret-p2d6"
LANE_PASSWORD = "canary-lane-password-t9k1"
PICTURE = base64.b64decode(PIXEL) + b"canary-image-bytes"
PICTURE_BASE64 = base64.b64encode(PICTURE).decode("ascii")

NEEDLES = (
    CANARY.encode(),
    PICTURE_BASE64.encode(),
    PICTURE_BASE64[-24:-4].encode(),
    base64.b64encode(CANARY.encode())[:7],
    PICTURE[-18:].hex().encode(),
)
"""Everything that was sent or printed has one of these in it."""

ENGINES: dict[str, tuple[list[Any], ...]] = {
    "good": (["print", "canary-answer"], ["error", "canary-chatter"]),
    "fails": (
        ["print", "canary-stdout"],
        ["error", f"canary-stderr {TOKEN}"],
        ["exit", 3],
    ),
    "dies": (["error", "canary-stderr"], ["signal", 11]),
    "slow": (["print", "canary-partial"], ["sleep", 60]),
    "silent": (["error", "canary-stderr"],),
    "not_json": (["print", '{"answer": "canary-answer", canary'],),
    "loud": (["print", "canary-flood"], ["flood"]),
    "not_text": (["print_bytes", "63616e617279ff"],),
    "secret": (["error", f"canary-stderr {SECRET}"], ["exit", 1]),
    "absent": (),
}

MORE: dict[str, dict[str, Any]] = {
    "good": {"images": {"mode": "file"}},
    "slow": {"timeout_seconds": 1, "kill_grace_seconds": 0.2},
    "not_json": {"output": {"format": "json", "answer": "/answer"}},
    "loud": {"max_output_bytes": 100_000},
    "secret": {"secret_names": ["engine_key"], "secret_env": {"KEY": "engine_key"}},
}


@dataclass(slots=True)
class Told:
    """What came out of a service while everything was tried on it.

    Attributes:
        service: It; stopped.
        statuses: Of each turn, by engine.
        errors: Bodies of all answers that are no success.
        engines: The stubs.
    """

    service: Service
    engines: dict[str, Stub]
    statuses: dict[str, int] = field(default_factory=dict)
    errors: list[bytes] = field(default_factory=list)

    def post(self, body: Any, **options: Any) -> int:
        response = self.service.post(body, **options)
        if response.status_code != 200:
            self.errors.append(response.content)
        return response.status_code

    def raw(self, data: bytes) -> int:
        response = raw_http.exchange(self.service.port, data)
        self.errors.append(response.body)
        return response.status


def turns(told: Told) -> None:
    """Let every engine do its own kind of harm."""
    conversation = [
        user([text("canary-first"), image(PICTURE_BASE64)]),
        assistant("canary-earlier-answer"),
        user("canary-question"),
    ]
    for model in ENGINES:
        body = {"model": model, "messages": conversation}
        told.statuses[model] = told.post(body)
    newest = user([text("canary-look"), image(PICTURE_BASE64)])
    told.statuses["photo"] = told.post({"model": "good", "messages": [newest]})
    told.statuses["blind"] = told.post({"model": "fails", "messages": [newest]})


def refusals(told: Told) -> None:
    """Send what is refused before any engine runs."""
    bodies: list[Any] = [
        b'{"messages": [{"role": "user", "content": "canary-cut',
        b"canary-no-json",
        b'{"messages": "canary"}',
        {"messages": [{"role": "canary-role", "content": "canary"}]},
        {"messages": [user("canary")], "model": "canary-model"},
        {"messages": [user("canary")], "model": ["canary-model"]},
        {"messages": [user([{"type": 1, "canary": "canary"}])]},
        {"messages": [user([image("canary!not base64")])], "model": "good"},
        {
            "messages": [
                user(
                    [
                        {
                            "type": "image_url",
                            "image_url": {"url": "http://canary.invalid/canary.png"},
                        }
                    ]
                )
            ]
        },
        b'{"canary": 1, "canary": 2, "messages": []}',
        b'{"messages": [], "canary": NaN}',
        b"\xff\xfecanary",
        b"[" * 100_000 + b'"canary"',
    ]
    assert {told.post(body) for body in bodies} == {400}


def strangers(told: Told) -> None:
    """Send what is refused by the listener itself, with canaries everywhere."""
    headers = [("X-Canary", "canary-header"), ("Cookie", "canary-cookie")]
    wrong = [("Authorization", "Bearer canary-wrong"), *headers]
    line = raw_http.request
    good = told.service.token
    assert told.raw(line("GET", "/v1/models?canary=canary", headers=wrong)) == 401
    assert (
        told.raw(line("GET", "/canary-path?canary", token=good, headers=headers)) == 404
    )
    assert told.raw(line("CANARY", "/v1/models", token=good, headers=headers)) == 405
    models = line("GET", "/v1/models?key=canary-query", token=good, headers=headers)
    assert told.raw(models) == 200
    assert told.raw(b"canary canary canary canary\r\n\r\n") in {400, 401}
    assert told.raw(b"GET /canary HTTP/1.1\r\ncanary\r\n\r\n") in {400, 401}
    chunked = [("Transfer-Encoding", "chunked")]
    data = line(
        "POST", "/v1/chat/completions", token=good, headers=chunked, body=b"canary\r\n"
    )
    assert told.raw(data) == 400


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    root = tmp_path_factory.mktemp("silence")
    outside = tmp_path_factory.mktemp("records")
    engines = {
        name: stub(outside, *steps, name=name) for name, steps in ENGINES.items()
    }
    engines["absent"] = Stub(("/nowhere/canary-program",), outside)
    bindings = {
        name: binding(engine, name=name, **MORE.get(name, {}))
        for name, engine in engines.items()
    }
    config = document(
        bindings,
        free_port(),
        secret_refs={"engine_key": "file:engine_key", "chat_token": "env:CHAT_TOKEN"},
    )
    service = prepared(
        root,
        config,
        secrets={"engine_key": SECRET, "files_password": LANE_PASSWORD},
        environment={"CHAT_TOKEN": TOKEN, "OPEN_CONDUIT_X": "canary-operator"},
        options=("--log-level", "debug"),
    )
    service.token = TOKEN
    with started(service):
        told = Told(service, engines)
        turns(told)
        refusals(told)
        strangers(told)
        assert service.stop() == 0
        yield told


def lines_with(told: Told, *needles: bytes) -> list[str]:
    """Return the lines of the log that hold any of these."""
    # What config check says at the start is about the config, not about a turn.
    lines = told.service.log.splitlines()
    return [
        line
        for line in lines
        if any(needle in line.encode() for needle in needles)
        and "program_not_found" not in line
    ]


def test_every_engine_did_what_it_should(told: Told) -> None:
    failed = {name for name, status in told.statuses.items() if status == 502}
    assert failed | {"not_text"} == set(ENGINES) - {"good", "slow"}
    assert told.statuses["good"] == told.statuses["photo"] == 200
    assert told.statuses["slow"] == 504
    assert told.statuses["blind"] == 400
    assert " debug work_created " in told.service.log  # every level was written


@pytest.mark.req("C-SEC-18", "C-SEC-19", "C-SEC-20")
def test_nothing_of_a_turn_is_in_the_log(told: Told) -> None:
    sent = [b"canary-first", b"canary-question", b"canary-answer", b"canary-look"]
    assert lines_with(told, *sent) == []  # C-SEC-18
    assert lines_with(told, *NEEDLES[1:]) == []  # C-SEC-19
    assert lines_with(told, TOKEN.encode(), b"canary-wrong") == []  # C-SEC-20
    assert lines_with(told, *NEEDLES) == []


@pytest.mark.req("C-AUTH-08")
def test_the_token_is_nowhere(told: Told) -> None:
    needles = [TOKEN.encode(), base64.b64encode(TOKEN.encode())]
    assert lines_with(told, *needles) == []
    assert list(found_in(told.service.state, needles)) == []
    assert [body for body in told.errors if TOKEN.encode() in body] == []


@pytest.mark.req("C-AUTH-12", "C-SEC-22")
def test_no_error_repeats_what_was_sent_or_printed(told: Told) -> None:
    assert len(told.errors) > 25
    for body in told.errors:
        assert b"canary-wrong" not in body  # C-AUTH-12
        assert b"canary" not in body  # C-SEC-22
        assert SECRET.encode() not in body
    assert lines_with(told, b"stderr", b"stdout", b"chatter", b"partial") == []


@pytest.mark.req("C-SEC-21")
def test_nothing_of_a_turn_is_in_the_state_directory(told: Told) -> None:
    assert list(found_in(told.service.state, [*NEEDLES, PICTURE])) == []
    assert told.service.scratch == []


def test_the_search_would_find_what_it_looks_for(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "image").write_bytes(PICTURE)
    (tmp_path / "canary").write_text("")
    found = {Path(file).name for file, _ in found_in(tmp_path, [*NEEDLES, PICTURE])}
    assert found == {"image", "canary"}


def test_no_engine_sees_a_credential_that_is_not_its_own(told: Told) -> None:
    for name, engine in told.engines.items():
        for record in engine.records if name != "absent" else []:
            values = json.dumps(record["environment"])
            assert TOKEN not in values
            assert LANE_PASSWORD not in values
            assert "canary-operator" not in values
            assert (SECRET in values) == (name == "secret")


REQUEST_LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info request request answered "
    r"server=chat method=(?:[A-Z]+|-) route=(?:models|chat|-) "
    r"status=[2-5]\d\d size=\d+ ms=\d+"
)


@pytest.mark.req("C-SEC-25")
def test_an_access_line_holds_nothing_else(told: Told) -> None:
    lines = [line for line in told.service.log.splitlines() if " request " in line]
    assert len(lines) > 25
    assert [line for line in lines if not REQUEST_LINE.fullmatch(line)] == []
    shown = "\n".join(lines)
    for method, route, status in (
        ("GET", "models", 401),
        ("GET", "-", 404),
        ("-", "models", 405),
        ("GET", "models", 200),
        ("POST", "chat", 504),
    ):
        assert f" method={method} route={route} status={status} " in shown


@pytest.mark.req("C-SEC-26")
def test_a_model_that_a_client_names_is_not_logged(told: Told) -> None:
    assert lines_with(told, b"canary-model") == []
    named = set(re.findall(r" model=(\S+)", told.service.log))
    assert named <= set(ENGINES)


# Fails in the middle of a turn with content in the text of the exception.
FAULTY = """
import sys
from conduck_service.cli.main import main
from conduck_service.runtime.attempts import Attempts
def run(self, work, scope, binding, conversation, interrupted):
    raise ValueError(str(conversation)) from KeyError(conversation.newest.content)
Attempts.run = run
sys.argv[0] = "open-conduit"
main()
"""


def test_a_fault_of_the_service_shows_no_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = (sys.executable, "-c", FAULTY)
    monkeypatch.setattr("tests.support.service.PROGRAM", program)
    engine = stub(tmp_path, ["print", "x"])
    config = document({"agent": binding(engine)}, free_port())
    service = prepared(tmp_path, config, options=("--log-level", "debug"))
    with started(service):
        response = service.turn(user("canary-question"))
        assert response.status_code == 500
        assert b"canary" not in response.content
        assert "ValueError" in service.log
        assert "canary" not in service.log
