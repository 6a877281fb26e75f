"""What the server refuses by itself, in which order, and that it closes then."""

from __future__ import annotations

import json
import socket
import ssl
import time

import pytest

from tests.serving.app import TOKEN, App
from tests.serving.conftest import Serve
from tests.support.raw_http import (
    RawResponse,
    connect,
    exchange,
    read_head,
    read_response,
    request,
)

OK = request("GET", "/ok", token=TOKEN)
SMUGGLED = b"GET /ok HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer correct-horse\r\n\r\n"


def assert_refused(response: RawResponse, status: int, cause: str) -> None:
    """Check that it is one refusal in the server's own words, and the end."""
    assert response.status == status
    assert json.loads(response.body)["error"] == cause
    assert response.values("Content-Type") == ["application/json"]
    assert response.values("Connection") == ["close"]
    assert response.rest == b""


@pytest.mark.req("C-AUTH-01")
@pytest.mark.parametrize("path", ["/ok", "/body", "/nope", "/", "//x", "*"])
def test_every_path_wants_the_token(port: int, path: str) -> None:
    assert_refused(exchange(port, request("GET", path)), 401, "unauthorized")


@pytest.mark.req("C-AUTH-02")
@pytest.mark.parametrize(
    "data",
    [
        request("POST", "/body", token="wrong", body=b"{not json"),
        request("POST", "/nope", token="wrong", body=b"{}"),
        request("BREW", "/ok", token="wrong"),
        request("get", "/ok", token="wrong"),
        request("GET", "/ok", token="wrong", version="HTTP/3.0"),
        request("GET", "/ok", token="wrong", headers=[("Host", "again")]),
        request("POST", "/ok", token="wrong", headers=[("Content-Length", "abc")]),
        request("POST", "/ok", token="wrong", headers=[("X-Blank ", "x")]),
        request("POST", "/ok", headers=[("Authorization ", f"Bearer {TOKEN}")]),
    ],
)
def test_the_token_is_looked_at_before_anything_else(
    port: int, app: App, data: bytes
) -> None:
    assert_refused(exchange(port, data), 401, "unauthorized")


@pytest.mark.req("C-AUTH-10", "C-AUTH-11")
def test_one_bearer_header_is_wanted(port: int) -> None:
    lower = request("GET", "/ok", headers=[("authorization", f"bearer {TOKEN}")])
    basic = request("GET", "/ok", headers=[("Authorization", f"Basic {TOKEN}")])
    twice = request(
        "GET", "/ok", token=TOKEN, headers=[("Authorization", "Bearer wrong")]
    )
    assert exchange(port, lower).status == 200  # C-AUTH-10
    assert_refused(exchange(port, basic), 401, "unauthorized")  # C-AUTH-10
    assert_refused(exchange(port, twice), 401, "unauthorized")  # C-AUTH-11


@pytest.mark.req("C-ERR-14")
def test_a_wrong_token_is_refused_before_the_body_comes(port: int) -> None:
    began = time.monotonic()
    data = request(
        "POST", "/body", token="wrong", headers=[("Content-Length", "52428800")]
    )
    with connect(port) as sock:
        sock.sendall(data)
        assert read_head(sock).startswith(b"HTTP/1.1 401 ")
    assert time.monotonic() - began < 1


@pytest.mark.req("C-ERR-24")
@pytest.mark.parametrize(
    "data",
    [
        b"GARBAGE\r\n\r\n",
        request("POST", "/body", token=TOKEN, headers=[("Content-Length", "abc")]),
        request("GET", "/ok", token=TOKEN, headers=[("X-Long", "x" * 65536)]),
        request("GET", "/" + "x" * 65536, token=TOKEN),
        b"GET /ok HTTP/1.1\nHost: x\n\n",
        b"GET /\xff HTTP/1.1\r\n\r\n",
        request("GET", "/ok", token=TOKEN, version="HTTP/2.0"),
        request("get", "/ok", token=TOKEN),
        b"GET /ok HTTP/1.1\r\nAuthorization: Bearer correct-horse\r\n\r\n",
    ],
)
def test_a_head_that_cannot_be_served_is_400_in_the_servers_words(
    port: int, data: bytes
) -> None:
    assert_refused(exchange(port, data), 400, "bad_request")


@pytest.mark.req("C-CONN-05", "C-CONN-14")
@pytest.mark.parametrize(
    "headers",
    [
        [("Content-Length", "5"), ("Content-Length", "6")],
        [("Content-Length", "5"), ("Content-Length", "5")],
        [("Content-Length", "5"), ("Transfer-Encoding", "chunked")],
        [("Content-Length", "-5")],
        [("Content-Length", "+5")],
        [("Content-Length", "5, 5")],
        [("Content-Length", "9" * 40)],
        [("Transfer-Encoding", "gzip, chunked")],
        [("Transfer-Encoding", "xchunked")],
        [("Host", "again"), ("Content-Length", "0")],
        [("X-Fold", "a\r\n b"), ("Content-Length", "0")],
        [("X-Nul", "a\x00b"), ("Content-Length", "0")],
    ],
)
def test_unclear_framing_is_400_and_the_end_of_the_connection(
    port: int, headers: list[tuple[str, str]]
) -> None:
    data = request("POST", "/body", token=TOKEN, headers=headers, body=b"")
    response = exchange(port, data + b"hello" + SMUGGLED)
    assert_refused(response, 400, "bad_request")  # C-CONN-05, C-CONN-14


@pytest.mark.req("C-CONN-15")
def test_a_wrong_token_is_never_told_to_continue(port: int) -> None:
    expect = [("Expect", "100-continue"), ("Content-Length", "5")]
    data = request("POST", "/body", token="wrong", headers=expect)
    response = exchange(port, data)
    assert response.interim == ()
    assert_refused(response, 401, "unauthorized")


@pytest.mark.req("C-AUTH-12")
def test_a_refused_token_appears_nowhere(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    response = exchange(port, request("GET", "/ok?q=canary2", token="canary1"))
    assert response.status == 401
    told = response.body.decode() + repr(response.headers)
    told += "".join(str(vars(record)) for record in caplog.records)
    assert "canary" not in told


@pytest.mark.req("C-NET-04")
def test_tls_is_refused_without_a_handshake(port: int) -> None:
    context = ssl.create_default_context()
    context.check_hostname = False
    with connect(port) as sock, pytest.raises(ssl.SSLError):
        context.wrap_socket(sock, server_hostname="localhost")
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100)
    assert_refused(exchange(port, hello), 400, "bad_request")


@pytest.mark.req("C-NET-02")
def test_the_server_listens_on_loopback_only(port: int) -> None:
    assert exchange(port, OK).status == 200
    for address in _other_addresses():
        with pytest.raises(OSError, match=r"refused|unreach|assign|timed out"):
            socket.create_connection((address, port), 2).close()


def _other_addresses() -> set[str]:
    """Return addresses of this machine that are not 127.0.0.1."""
    found = {"127.0.0.2", "::1"}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        # Sends nothing; the system only picks the address it would send from.
        try:
            sock.connect(("192.0.2.1", 9))
        except OSError:
            return found
        return found | {sock.getsockname()[0]}


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("//x", "//x"),
        ("//ok", "//ok"),
        ("/nope%00", "/nope\x00"),
        ("/%ff%fe", "/\xff\xfe"),
        ("/ok/", "/ok/"),
        ("/./ok", "/./ok"),
        ("/a%2Fb", "/a%2Fb"),
        ("*", "/*"),
    ],
)
def test_a_strange_path_reaches_the_application_as_it_is(
    port: int, path: str, seen: str
) -> None:
    response = exchange(port, request("OPTIONS", path, token=TOKEN))
    assert response.status == 404
    assert json.loads(response.body) == {"path": seen}


def test_a_tunnels_request_forms_are_served(port: int) -> None:
    connect_form = request("CONNECT", "example.org:80", token=TOKEN)
    assert exchange(port, connect_form).status == 404
    absolute = request("GET", "http://example.org/ok?x=1", token=TOKEN)
    assert exchange(port, absolute).status == 200
    old = f"GET /ok HTTP/1.0\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
    response = exchange(port, old)
    assert (response.status, response.values("Connection")) == (200, ["close"])


def test_the_environ_holds_what_was_sent_and_nothing_forged(port: int) -> None:
    headers = [
        ("Host", "any.name:1"),
        ("X-Twice", "a"),
        ("X-Twice", "b"),
        ("X_Forged", "c"),
        ("Expect", "something"),
        ("Content-Type", "text/x"),
    ]
    data = request("GET", "/env?a=%20", token=TOKEN).replace(b"Host: test\r\n", b"")
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers).encode()
    environ = json.loads(exchange(port, data[:-2] + lines + b"\r\n").body)
    assert environ["REQUEST_METHOD"] == "GET"
    assert environ["QUERY_STRING"] == "a=%20"
    assert environ["HTTP_HOST"] == "any.name:1"
    assert environ["HTTP_X_TWICE"] == "a, b"
    assert environ["CONTENT_TYPE"] == "text/x"
    assert environ["SERVER_PORT"] == str(port)
    assert "HTTP_X_FORGED" not in environ
    assert "HTTP_EXPECT" not in environ


@pytest.mark.req("C-CONN-16")
def test_after_each_refusal_a_new_connection_is_served(serve: Serve) -> None:
    port = serve(workers=1).port
    for probe in (
        b"GARBAGE\r\n\r\n" + SMUGGLED,
        request("POST", "/body", body=b"hello") + SMUGGLED,
        request("POST", "/nope", token=TOKEN, body=b"hello") + SMUGGLED,
        request("POST", "/body?1", token=TOKEN, body=b"hello") + SMUGGLED,
        request("POST", "/body", token=TOKEN, headers=[("Content-Length", "x")]),
    ):
        with connect(port) as sock:
            sock.sendall(probe)
            assert read_response(sock).status in (400, 401, 404, 413)
        assert exchange(port, OK).status == 200
