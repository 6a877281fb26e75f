"""F-USER: one user, one password, asked for before anything else."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conduck_service.files import gate
from tests.support.commands import found_in
from tests.support.lane import METHODS, Lane, file_turn, new_outbound, serving_files
from tests.support.raw_http import exchange, request
from tests.support.service import PASSWORD, Service, stub

req = pytest.mark.req


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("user")
    with serving_files(root) as running_service:
        yield running_service


@pytest.fixture(scope="module")
def lane(service: Service) -> Lane:
    return Lane.of(service)


def coded(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode("ascii")


def with_header(lane: Lane, *values: str, method: str = "PROPFIND") -> int:
    """Return the status of a request with these Authorization headers."""
    headers = [("Connection", "close"), ("Depth", "0")]
    headers += [("Authorization", value) for value in values]
    return exchange(lane.port, request(method, "/", headers=headers)).status


@req("F-USER-01", "P-13")
@pytest.mark.parametrize("scheme", ["Basic", "basic", "BASIC"])
def test_the_user_is_conduck(lane: Lane, scheme: str) -> None:
    assert with_header(lane, f"{scheme} {coded('conduck', PASSWORD)}") == 207


@req("F-USER-02")
@pytest.mark.parametrize(
    "name",
    ["root", "Conduck", "CONDUCK", "", "conduck ", " conduck", "conduc", "conduck\0"],
)
def test_any_other_user_is_refused(lane: Lane, name: str) -> None:
    assert replace(lane, user=name).propfind("/", "0").status == 401


@req("F-USER-03")
@pytest.mark.parametrize(
    "password",
    ["wrong", "", PASSWORD[:-1], PASSWORD + "x", PASSWORD.upper(), PASSWORD + "\0"],
)
def test_a_wrong_password_is_refused(lane: Lane, password: str) -> None:
    assert replace(lane, password=password).propfind("/", "0").status == 401


@req("F-USER-03")
@pytest.mark.parametrize(
    "value",
    [
        "Basic",
        "Basic ",
        "Basic !!!!",
        "Basic " + base64.b64encode(b"conduck").decode(),
        "Basic " + base64.b64encode(b"\xff\xfe:\xff").decode(),
        "Basic " + "A" * 50_000,
        "Bearer " + PASSWORD,
        coded("conduck", PASSWORD),
        f"Basic {coded('conduck', PASSWORD)} x",
        f"Basic {coded('conduck', PASSWORD)}, Basic x",
    ],
)
def test_broken_credentials_are_refused_like_wrong_ones(lane: Lane, value: str) -> None:
    def answer(text: str) -> tuple[int, bytes, list[str]]:
        headers = [("Authorization", text), ("Connection", "close")]
        response = exchange(lane.port, request("GET", "/x", headers=headers))
        return response.status, response.body, [name for name, _ in response.headers]

    assert answer(value) == answer(f"Basic {coded('conduck', 'wrong')}")


@req("F-USER-03")
def test_two_credentials_are_none(lane: Lane) -> None:
    right = f"Basic {coded('conduck', PASSWORD)}"
    assert with_header(lane, right, right) == 401
    assert with_header(lane, right, "Basic x") == 401
    assert with_header(lane, "Basic x", right) == 401


@req("F-USER-04")
@pytest.mark.parametrize("method", [*METHODS, "PATCH", "POST", "TRACE", "REPORT"])
def test_no_method_is_served_without_credentials(lane: Lane, method: str) -> None:
    nobody = replace(lane, user=None)
    for target in ("/", "/x", "/../x", "/%00", "*", "/" + "n" * 300):
        answer = nobody.send(method, target)
        assert answer.status == 401, target
        assert answer.values("WWW-Authenticate"), target
    assert nobody.send(method, "/made", b"x").status == 401
    assert list(lane.folder.iterdir()) == []


@req("F-USER-06")
def test_the_challenge_is_basic_and_digest_is_off(lane: Lane) -> None:
    answer = replace(lane, user=None).propfind("/", "0")
    (challenge,) = answer.values("WWW-Authenticate")
    assert challenge.startswith("Basic realm=")
    assert "digest" not in challenge.lower()
    digest = (
        'Digest username="conduck", realm="conduck", nonce="x", uri="/", '
        'response="0123456789abcdef0123456789abcdef"'
    )
    assert with_header(lane, digest) == 401


@req("F-USER-08")
def test_the_password_is_neither_logged_nor_kept_nor_given_on(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["follow"], ["obey"])
    options = ("--log-level", "debug")
    with serving_files(tmp_path, engine, options=options) as service:
        lane = Lane.of(service)
        assert lane.put("/a.txt", b"x").status == 201
        assert replace(lane, user="other").get("/a.txt").status == 401
        assert replace(lane, password=PASSWORD + "x").get("/a.txt").status == 401
        in_path = lane.send("GET", f"/{PASSWORD}?p={PASSWORD}")
        assert in_path.status == 404
        path = new_outbound()
        assert file_turn(service, path, ["write", f"{path}/a", "x"]).ok
        needles = [PASSWORD.encode(), coded("conduck", PASSWORD).encode()]
        assert [needle for needle in needles if needle in service.log.encode()] == []
        assert list(found_in(service.state, needles)) == []
        record = json.dumps(engine.only)
    assert [needle for needle in needles if needle.decode() in record] == []
    assert not any("files_password" in value for value in engine.only["environment"])


@req("F-USER-09")
@pytest.mark.parametrize(
    "value",
    [
        f"Basic {coded('conduck', 'right')}",
        f"Basic {coded('conduck', 'wrong, and longer than the right one')}",
        f"Basic {coded('root', 'right')}",
        "Basic ?",
        "Bearer right",
        None,
    ],
)
def test_user_and_password_are_compared_in_constant_time(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    pairs: list[tuple[bytes, bytes]] = []

    def compare(given: bytes, expected: bytes) -> bool:
        pairs.append((given, expected))
        return hmac.compare_digest(given, expected)

    monkeypatch.setattr(gate, "hmac", type("hmac", (), {"compare_digest": compare}))
    admits = gate.basic_gate(b"right")
    given = [] if value is None else [value.encode("ascii")]
    assert admits(given) == (value == f"Basic {coded('conduck', 'right')}")
    # Each way comes to the one comparison, of two values of the same length.
    ((one, other),) = pairs
    assert len(one) == len(other) == 32
