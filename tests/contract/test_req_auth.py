"""C-AUTH: who is let in, and what a stranger learns."""

from __future__ import annotations

import ast
import copy
import hmac
import inspect
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conduck_service.serving import bearer
from tests.support import raw_http
from tests.support.commands import problems, run, written
from tests.support.documents import document
from tests.support.service import (
    TOKEN,
    Service,
    Stub,
    binding,
    free_port,
    running,
    stub,
    user,
)

ROUTES = (("GET", "/v1/models"), ("POST", "/v1/chat/completions"))
PONG = b'{"messages":[{"role":"user","content":"Reply with exactly: pong"}]}'


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Stub:
    return stub(tmp_path_factory.mktemp("engine"), ["obey"])


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, engine: Stub
) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("auth"), engine=engine) as service:
        yield service


def status(
    service: Service,
    method: str,
    path: str,
    *values: str,
    body: bytes | None = None,
    more: tuple[tuple[str, str], ...] = (),
) -> int:
    """Return the answer's status to a request with these Authorization values."""
    headers = [*(("Authorization", value) for value in values), *more]
    if body is None and method == "POST":
        body = PONG
    data = raw_http.request(method, path, headers=headers, body=body)
    return raw_http.exchange(service.port, data).status


@pytest.mark.req("C-AUTH-01")
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_every_route_wants_the_token(
    service: Service, engine: Stub, method: str, path: str
) -> None:
    before = len(engine.records)
    assert status(service, method, path) == 401
    assert len(engine.records) == before
    assert status(service, method, path, f"Bearer {TOKEN}") == 200


@pytest.mark.req("C-AUTH-02")
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/chat/completions", b'{"messages": ['),
        ("POST", "/v1/chat/completions", b"\xff\xfe"),
        ("POST", "/v1/chat/completions", b""),
        ("GET", "/v1/nothing", None),
        ("GET", "//v1/models", None),
        ("DELETE", "/v1/models", None),
        ("OPTIONS", "/v1/chat/completions", None),
        ("BREW", "/v1/chat/completions", None),
    ],
)
def test_a_stranger_learns_nothing_but_401(
    service: Service, method: str, path: str, body: bytes | None
) -> None:
    assert status(service, method, path, "Bearer wrong", body=body) == 401


@pytest.mark.req("C-AUTH-02")
@pytest.mark.parametrize(
    "more",
    [
        (("Content-Length", "50000000"),),
        (("Content-Length", "99999999999"),),
        (("Content-Length", "3"), ("Content-Length", "4")),
        (("Content-Length", "3"), ("Transfer-Encoding", "chunked")),
        (("Content-Length", "5000"), ("Expect", "100-continue")),
    ],
)
def test_a_stranger_is_refused_before_the_body_is_looked_at(
    service: Service, more: tuple[tuple[str, str], ...]
) -> None:
    headers = [("Authorization", "Bearer wrong"), *more]
    data = raw_http.request("POST", "/v1/chat/completions", headers=headers)
    began = time.monotonic()
    with raw_http.connect(service.port) as sock:
        sock.sendall(data)
        head = raw_http.read_head(sock)
    assert head.startswith(b"HTTP/1.1 401 ")
    assert time.monotonic() - began < 5  # the body never comes


@pytest.mark.req("C-AUTH-03")
@pytest.mark.parametrize(
    "given",
    [
        TOKEN + "x",
        "x" + TOKEN,
        TOKEN[:-1],
        TOKEN[1:],
        TOKEN.upper(),
        TOKEN.replace("-", "- ", 1),
        TOKEN.replace("t", "\t", 1),
        f" {TOKEN}",
        f'"{TOKEN}"',
        f"{TOKEN},{TOKEN}",
        "",
        "\x00",
    ],
)
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_token_that_differs_in_anything_is_refused(
    service: Service, method: str, path: str, given: str
) -> None:
    # An unreadable head may be refused as such; nothing of it is served.
    wanted = {401, 400} if "\x00" in given else {401}
    assert status(service, method, path, f"Bearer {given}") in wanted


@pytest.mark.req("C-AUTH-04")
@pytest.mark.parametrize(
    ("token", "reference"),
    [
        ("x", "file:chat_token"),
        ("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "file:chat_token"),
        ("a token with spaces", "file:chat_token"),
        ("zürich-ÿ-😀", "file:chat_token"),
        ("t" * 4096, "file:chat_token"),
        (os.fsdecode(b"raw-\xff\xfe\x80"), "env:TEST_CHAT_TOKEN"),
    ],
    ids=["one", "punctuation", "spaces", "utf-8", "long", "bytes"],
)
def test_any_token_is_taken_as_it_is(
    tmp_path: Path, engine: Stub, token: str, reference: str
) -> None:
    from_file = reference.startswith("file:")
    with running(
        tmp_path,
        engine=engine,
        secret_refs={"chat_token": reference},
        secrets={"chat_token": token} if from_file else None,
        environment=None if from_file else {"TEST_CHAT_TOKEN": token},
    ) as service:
        sent = os.fsencode(token).decode("latin-1")
        assert status(service, "GET", "/v1/models", f"Bearer {sent}") == 200
        assert status(service, "GET", "/v1/models", f"Bearer {sent}x") == 401
        assert status(service, "GET", "/v1/models", f"Bearer {TOKEN}") == 401


@pytest.mark.req("C-AUTH-05")
def test_the_comparison_is_made_by_compare_digest_on_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[tuple[Any, Any]] = []

    def answer_of(given: Any, known: Any) -> bool:
        calls.append((given, known))
        return len(calls) == 1

    monkeypatch.setattr(hmac, "compare_digest", answer_of)
    admits = bearer.bearer_gate(b"right")
    # What the function says is what counts, whatever the bytes are.
    assert admits([b"Bearer other"]) is True
    assert admits([b"Bearer right"]) is False
    assert calls == [(b"other", b"right"), (b"right", b"right")]


@pytest.mark.req("C-AUTH-05")
def test_nothing_else_in_the_gate_looks_at_the_token() -> None:
    tree = ast.parse(inspect.getsource(bearer))
    uses = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id in {"token", "given"}
    ]
    compares = [node for node in ast.walk(tree) if isinstance(node, ast.Compare)]
    compared = [
        name.id
        for node in compares
        for name in ast.walk(node)
        if isinstance(name, ast.Name)
    ]
    assert uses
    assert not {"token", "given"} & set(compared)


def secrets_of(root: Path) -> dict[str, Any]:
    return document({"agent": binding(Stub(("true",), root))}, free_port(), chat=None)


@pytest.mark.req("C-AUTH-07")
def test_a_literal_token_in_the_config_is_refused(tmp_path: Path) -> None:
    good = secrets_of(tmp_path)
    assert run("config", "check", str(written(tmp_path, good))).returncode == 0
    literal = "7d1c9be2f0a34c58"

    in_reference = copy.deepcopy(good)
    in_reference["scopes"][0]["secret_refs"]["chat_token"] = literal
    as_key = copy.deepcopy(good)
    as_key["scopes"][0]["extensions"][0]["config"]["token"] = literal
    as_name = copy.deepcopy(good)
    as_name["scopes"][0]["extensions"][0]["config"]["token_secret"] = literal

    for value, place in (
        (in_reference, "scopes/0/secret_refs/chat_token"),
        (as_key, "scopes/0/extensions/0/config/token"),
        (as_name, "scopes/0/extensions/0/config/token_secret"),
    ):
        found = problems(tmp_path, value)
        assert place in {item["path"] for item in found}
        assert literal not in str(found)


@pytest.mark.req("C-AUTH-07")
def test_the_config_of_a_running_service_holds_only_a_reference(
    service: Service,
) -> None:
    text = (service.root / "config/config.json").read_text()
    assert TOKEN not in text
    assert '"chat_token": "file:chat_token"' in text


@pytest.mark.req("C-AUTH-09")
def test_a_chat_entry_without_a_token_secret_is_invalid(tmp_path: Path) -> None:
    value = secrets_of(tmp_path)
    del value["scopes"][0]["extensions"][0]["config"]["token_secret"]
    found = problems(tmp_path, value)
    place = "scopes/0/extensions/0/config/token_secret"
    assert [item["path"] for item in found] == [place]


@pytest.mark.req("C-AUTH-09")
@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ("file:nothing_there", "unused"),
        ("file:chat_token", ""),
        ("env:NOT_SET_ANYWHERE", "unused"),
    ],
    ids=["missing", "empty", "unset"],
)
def test_without_a_token_nobody_is_let_in(
    tmp_path: Path, engine: Stub, reference: str, value: str
) -> None:
    before = len(engine.records)
    with running(
        tmp_path,
        engine=engine,
        secret_refs={"chat_token": reference},
        secrets={"chat_token": value},
    ) as service:
        for method, path in ROUTES:
            assert status(service, method, path) == 401
            for given in ("", "None", "unused", TOKEN, "chat_token"):
                assert status(service, method, path, f"Bearer {given}") == 401
            assert status(service, method, path, "Bearer") == 401
        assert "a secret is not available" in service.log
    assert len(engine.records) == before


@pytest.mark.req("C-AUTH-10")
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
def test_the_scheme_may_be_in_any_case(service: Service, scheme: str) -> None:
    for method, path in ROUTES:
        assert status(service, method, path, f"{scheme} {TOKEN}") == 200


@pytest.mark.req("C-AUTH-10")
@pytest.mark.parametrize(
    "value",
    [
        f"Basic {TOKEN}",
        "Basic dGVzdDp0ZXN0",
        f"Token {TOKEN}",
        TOKEN,
        f"Bearer{TOKEN}",
        f"Bearer\t{TOKEN}",
        f"Bearer: {TOKEN}",
        f"Digest Bearer {TOKEN}",
        "Bearer",
        "",
    ],
)
def test_other_schemes_are_refused(service: Service, value: str) -> None:
    for method, path in ROUTES:
        assert status(service, method, path, value) == 401


@pytest.mark.req("C-AUTH-11")
@pytest.mark.parametrize(
    "values",
    [
        (f"Bearer {TOKEN}", "Bearer wrong"),
        ("Bearer wrong", f"Bearer {TOKEN}"),
        (f"Bearer {TOKEN}", f"Bearer {TOKEN}"),
        (f"Bearer {TOKEN}", ""),
        ("Basic dGVzdDp0ZXN0", f"Bearer {TOKEN}"),
    ],
)
def test_more_than_one_authorization_header_is_refused(
    service: Service, values: tuple[str, ...]
) -> None:
    for method, path in ROUTES:
        assert status(service, method, path, *values) == 401


@pytest.mark.req("C-AUTH-12")
@pytest.mark.parametrize(
    "given", ["Bearer canary-k3m9x2", "Basic canary-k3m9x2", "canary-k3m9x2"]
)
def test_a_rejected_token_is_not_repeated(service: Service, given: str) -> None:
    for method, path in ROUTES:
        headers = [("Authorization", given)]
        body = PONG if method == "POST" else None
        data = raw_http.request(method, path, headers=headers, body=body)
        answer = raw_http.exchange(service.port, data)
        assert answer.status == 401
        assert b"canary" not in answer.body
        assert "canary" not in str(answer.headers)
    assert "canary" not in service.log


def test_the_token_lets_a_turn_through(service: Service) -> None:
    assert service.turn(user("Reply with exactly: in")).status_code == 200
