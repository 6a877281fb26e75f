"""The password of the lane comes before everything else."""

from __future__ import annotations

import base64

import pytest

from tests.support.lane import Lane
from tests.support.lane_faults import CONTINUE, Box, lane_lines
from tests.support.raw_http import (
    RawResponse,
    connect,
    exchange,
    read_response,
    request,
)
from tests.support.service import PASSWORD, TOKEN, Service

METHODS = (
    "OPTIONS", "GET", "HEAD", "PUT", "DELETE", "MKCOL", "COPY", "MOVE", "PROPFIND",
    "PROPPATCH", "LOCK", "UNLOCK", "POST", "TRACE", "BREW",
)  # fmt: skip
PATHS = (
    "/", "/none", "/../x", "/%2e%2e/x", "/%00", "/%FF", "//x", "*", "/" + "x" * 300,
    "http://elsewhere.example/", "/?logout", "/?davmount", "/:browse/",
)  # fmt: skip

CHALLENGE = 'Basic realm="conduck", charset="UTF-8"'


def basic(pair: bytes) -> str:
    return "Basic " + base64.b64encode(pair).decode()


WRONG = basic(b"conduck:wrong")
RIGHT = basic(f"conduck:{PASSWORD}".encode())

REFUSED = {
    "none": None,
    "empty": "",
    "scheme alone": "Basic",
    "scheme and blank": "Basic ",
    "no base64": "Basic !!!!",
    "cut base64": RIGHT[:-3],
    "padded on": RIGHT + "====",
    "base64 with more": RIGHT + "!",
    "not a pair": basic(b"conduck"),
    "only a password": basic(PASSWORD.encode()),
    "empty pair": basic(b""),
    "only a colon": basic(b":"),
    "not UTF-8": basic(b"conduck:\xff\xfe\xfd"),
    "nul": basic(f"conduck:{PASSWORD}\0".encode()),
    "longer": basic(f"conduck:{PASSWORD}x".encode()),
    "shorter": basic(f"conduck:{PASSWORD[:-1]}".encode()),
    "empty password": basic(b"conduck:"),
    "colon more": basic(f"conduck::{PASSWORD}".encode()),
    "other case": basic(f"conduck:{PASSWORD.upper()}".encode()),
    "very long": basic(b"conduck:" + b"x" * 40_000),
    "letters beyond ASCII": "Basic \xe9\xe9\xe9",
    "root": basic(f"root:{PASSWORD}".encode()),
    "Conduck": basic(f"Conduck:{PASSWORD}".encode()),
    "no user": basic(f":{PASSWORD}".encode()),
    "user with blank": basic(f"conduck :{PASSWORD}".encode()),
    "other scheme": f"Bearer {PASSWORD}",
    "chat token as password": basic(f"conduck:{TOKEN}".encode()),
    "chat token": f"Bearer {TOKEN}",
    "plain": f"conduck:{PASSWORD}",
    "digest": (
        'Digest username="conduck", realm="conduck", nonce="0", uri="/", '
        'response="00000000000000000000000000000000"'
    ),
}


def ask(
    lane: Lane, *values: str | None, method: str = "PROPFIND", path: str = "/"
) -> RawResponse:
    """Send a request with these Authorization headers."""
    headers = [("Authorization", value) for value in values if value is not None]
    headers += [("Depth", "0"), ("Connection", "close")]
    return exchange(lane.port, request(method, path, headers=headers))


def told(answer: RawResponse) -> tuple[int, list[tuple[str, str]], bytes]:
    """Return all of an answer but its date."""
    headers = [pair for pair in answer.headers if pair[0] != "Date"]
    return answer.status, headers, answer.body


@pytest.mark.req("F-USER-01")
def test_one_user_with_one_password_is_let_in(lane: Lane) -> None:
    assert ask(lane, RIGHT).status == 207
    assert ask(lane, RIGHT.replace("Basic", "basic")).status == 207


@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED)
@pytest.mark.req("F-USER-02", "F-USER-03", "F-USER-04", "F-USER-06", "F-SEC-03")
def test_every_other_credential_is_refused_with_the_same_bytes(
    lane: Lane, value: str | None
) -> None:
    answer = ask(lane, value)
    assert answer.status == 401
    assert answer.values("WWW-Authenticate") == [CHALLENGE]
    assert told(answer) == told(ask(lane, WRONG))


@pytest.mark.parametrize("values", [(RIGHT, RIGHT), (RIGHT, WRONG), (WRONG, RIGHT)])
@pytest.mark.req("F-USER-03")
def test_two_credentials_are_none(lane: Lane, values: tuple[str, str]) -> None:
    assert ask(lane, *values).status == 401


def test_a_credential_longer_than_any_head_breaks_nothing(lane: Lane) -> None:
    with connect(lane.port) as sock:
        data = basic(b"conduck:" + b"x" * 800_000).encode()
        head = b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: "
        try:
            sock.sendall(head + data + b"\r\n\r\n")
            status = read_response(sock).status
        except OSError:  # it had heard enough
            status = 400
    assert status in (400, 401)
    assert ask(lane, RIGHT).status == 207


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.req("F-USER-04", "F-USER-06")
def test_no_method_and_no_path_comes_before_the_password(
    lane: Lane, method: str
) -> None:
    for path in PATHS:
        for value in (None, WRONG):
            answer = ask(lane, value, method=method, path=path)
            assert answer.status == 401, path
            assert answer.values("WWW-Authenticate") == [CHALLENGE]
            assert (len(answer.body) == 0) == (method == "HEAD")
            assert not answer.values("DAV")


@pytest.mark.parametrize(
    "headers",
    [
        [("Content-Length", "-1")],
        [("Content-Length", "1"), ("Content-Length", "2")],
        [("Transfer-Encoding", "gzip")],
        [("Transfer-Encoding", "chunked"), ("Content-Length", "1")],
        [("Depth", "infinity")],
        [("Destination", "http://elsewhere.example/../x")],
        [("Range", "bytes=99-")],
        [("If-Match", '"x"')],
    ],
)
@pytest.mark.req("F-USER-04")
def test_nothing_else_of_a_request_is_looked_at_before(
    lane: Lane, headers: list[tuple[str, str]]
) -> None:
    data = request("PUT", "/a.txt", headers=[("Authorization", WRONG), *headers])
    assert exchange(lane.port, data).status == 401


@pytest.mark.req("F-NET-07", "F-USER-04")
def test_the_body_of_a_refused_upload_is_not_waited_for(box: Box) -> None:
    framings = ([("Content-Length", "300000000")], [("Transfer-Encoding", "chunked")])
    for framing in framings:
        for sent in (b"", b"x" * 20_000):
            headers = [("Authorization", WRONG), *framing]
            data = request("PUT", box.at("a.txt"), headers=headers) + sent
            answer = exchange(box.lane.port, data)
            assert (answer.status, answer.interim) == (401, ())
            assert answer.values("Connection") == ["close"]
    assert box.on_disk() == []


@pytest.mark.req("F-NET-07")
def test_what_follows_a_refused_upload_is_no_request(
    box: Box, service: Service
) -> None:
    inner = request("MKCOL", box.at("smuggled"), headers=box.lane.credentials)
    for framing in ([("Content-Length", "10000")], [("Transfer-Encoding", "chunked")]):
        headers = [("Authorization", WRONG), *framing]
        data = request("PUT", box.at("a.txt"), headers=headers) + inner
        answer = exchange(box.lane.port, data)
        assert (answer.status, answer.rest) == (401, b"")
    assert box.on_disk() == []
    assert lane_lines(service, "MKCOL", 201) == 0


@pytest.mark.req("F-USER-04")
def test_a_refused_body_is_not_asked_for(box: Box) -> None:
    headers = [("Authorization", WRONG), CONTINUE, ("Content-Length", "5")]
    answer = exchange(box.lane.port, request("PUT", box.at("a"), headers=headers))
    assert (answer.status, answer.interim) == (401, ())


@pytest.mark.req("F-SEC-03")
def test_the_lane_and_the_chat_have_passwords_of_their_own(service: Service) -> None:
    for value in (RIGHT, f"Bearer {PASSWORD}", basic(f"conduck:{TOKEN}".encode())):
        answer = service.models(headers={"Authorization": value})
        assert answer.status_code == 401
    assert service.models().status_code == 200


@pytest.mark.req("F-USER-08", "F-SEC-01", "F-SEC-02")
def test_neither_names_nor_contents_nor_passwords_are_logged(
    box: Box, service: Service
) -> None:
    lane = box.lane
    name = box.at("canary-name.txt")
    assert lane.put(name, b"canary-content").status == 201
    for answer in (
        lane.get(name),
        lane.get(name + "-none?canary-query"),
        lane.propfind(name, "0", b"<canary-body"),
        lane.put(name + "/canary-below", b"canary-content"),
        lane.move(name, box.at("canary-other.txt")),
        lane.delete(box.at("canary-other.txt")),
        lane.get("/../canary-out"),
        lane.send("CANARY", "/"),
        ask(lane, basic(b"conduck:canary-password"), path="/canary-path"),
        ask(lane, basic(b"canary-user:x")),
    ):
        assert answer.status
    lines = service.log
    assert "method=PUT" in lines
    assert "method=DELETE" in lines
    for secret in ("canary", "CANARY", PASSWORD, TOKEN, RIGHT, RIGHT[6:], box.path):
        assert secret not in lines


@pytest.mark.req("F-NET-02")
def test_a_tls_handshake_is_not_answered_as_one(lane: Lane) -> None:
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(32)
    with connect(lane.port) as sock:
        sock.sendall(hello)
        answer = read_response(sock)
    assert answer.status == 400
