"""One listener, two paths, one address: C-NET."""

from __future__ import annotations

import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from conduck_service.chat.settings import CHAT_SPEC
from tests.support.checking import CHAT, check_config
from tests.support.documents import document
from tests.support.raw_http import connect, exchange, read_to_end, request
from tests.support.service import (
    PROGRAM,
    TOKEN,
    Service,
    binding,
    free_port,
    prepared,
    running,
    stub,
    user,
    wait_until,
)

req = pytest.mark.req
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

LISTENING = "0A"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - it is refused, nothing is bound to it
HELLO = {"messages": [user("hello")]}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("net")
    with running(root, stub(root, ["obey"])) as running_service:
        yield running_service


def listeners(port: int) -> list[str]:
    """Return the local addresses, in hexadecimal, at which a port is open."""
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path("/proc/net", name).read_text("ascii").splitlines()[1:]
    ]
    places = [row[1].split(":") for row in rows if row[3] == LISTENING]
    return [address for address, number in places if int(number, 16) == port]


def other_addresses() -> set[str]:
    """Return the addresses of this machine other than 127.0.0.1."""
    table = Path("/proc/net/fib_trie").read_text("ascii")
    found = re.findall(r"\|-- ([0-9.]+)\n\s+/32 host LOCAL", table)
    six = Path("/proc/net/if_inet6")
    rows = six.read_text("ascii").splitlines() if six.exists() else []
    wide = [row.split() for row in rows]
    found += [
        socket.inet_ntop(socket.AF_INET6, bytes.fromhex(row[0]))
        for row in wide
        if row[3] != "20"  # link-local ones need a zone
    ]
    return {"127.0.0.2", *found} - {"127.0.0.1"}


def get(service: Service, path: str, token: str | None = TOKEN) -> int:
    return exchange(service.port, request("GET", path, token=token)).status


@req("C-NET-01")
def test_both_routes_answer_and_nothing_else_does(service: Service) -> None:
    assert service.models().status_code == 200
    assert service.post(HELLO).status_code == 200
    others = ("/", "/v1", "/health", "/v1/health", "/v1/work", "/v1/completions")
    assert {path: get(service, path) for path in others} == dict.fromkeys(others, 404)
    for path in others:
        data = request("POST", path, token=TOKEN, body=b"{}")
        assert exchange(service.port, data).status == 404


@req("C-NET-02")
@on_linux
def test_the_port_is_open_at_the_loopback_address_only(service: Service) -> None:
    assert listeners(service.port) == ["0100007F"]
    for address in other_addresses():
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address, service.port), 5)


@req("C-NET-03")
@pytest.mark.parametrize("value", [EVERYWHERE, "127.0.0.1"])
def test_no_config_key_names_an_address(tmp_path: Path, value: str) -> None:
    keys = ("host", "address", "bind", "interface")
    engine = {"agent": binding(stub(tmp_path))}
    config = document(engine, 8480, chat=dict.fromkeys(keys, value))
    verdict = check_config(tmp_path, config)
    assert verdict.status == 1
    assert verdict.errors == {f"{CHAT}/{key}": "invalid_config" for key in keys}


@req("C-NET-03")
@on_linux
def test_a_config_with_a_public_host_opens_no_socket(tmp_path: Path) -> None:
    engine = {"agent": binding(stub(tmp_path))}
    config = document(engine, free_port(), chat={"host": EVERYWHERE})
    service = prepared(tmp_path, config)
    seen: list[str] = []
    process = serve(service)

    def is_over() -> bool:
        seen.extend(listeners(service.port))
        return process.poll() is not None

    try:
        wait_until(is_over, 20)
    finally:
        process.kill()
        output = process.communicate(timeout=10)[0]
    assert process.returncode == 78
    assert b"/config/host" in output
    assert seen == []


def serve(service: Service) -> subprocess.Popen[bytes]:
    """Start the daemon of a prepared service without waiting for it."""
    config = str(service.root / "config/config.json")
    return subprocess.Popen(
        [*PROGRAM, "serve", "--config", config, "--data-dir", str(service.state)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        env=service.environment,
    )


@req("C-NET-04")
def test_a_tls_hello_gets_no_handshake(service: Service) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(
        incoming, outgoing, server_hostname="localhost"
    )
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    with connect(service.port) as sock:
        sock.sendall(outgoing.read())
        answer = read_to_end(sock)
    # Plain HTTP or nothing: no record of TLS, be it a handshake or an alert.
    assert not answer or answer.startswith(b"HTTP/1.1 400 ")
    with connect(service.port) as sock, pytest.raises(ssl.SSLError):
        ssl.create_default_context().wrap_socket(sock, server_hostname="localhost")


@req("C-NET-04")
def test_the_entry_has_no_setting_for_certificates() -> None:
    names = [field.name for field in CHAT_SPEC.fields]
    assert "port" in names
    assert [name for name in names if re.search("cert|key|tls|ssl|pem", name)] == []


@req("C-NET-05")
def test_the_port_is_the_one_that_is_configured(tmp_path: Path) -> None:
    bindings = {"agent": binding(stub(tmp_path, ["obey"]))}
    ports = {free_port(), free_port()}
    assert len(ports) == 2
    for port in ports:
        service = prepared(tmp_path, document(bindings, port))
        service.start()
        try:
            assert service.port == port
            assert service.models().status_code == 200
            assert service.post(HELLO).status_code == 200
            for other in ports - {port}:
                with pytest.raises(ConnectionRefusedError):
                    connect(other)
        finally:
            service.stop(signal.SIGKILL)


@req("C-NET-06")
def test_a_query_string_is_ignored(service: Service) -> None:
    url = service.url
    found = requests.get(f"{url}/v1/models?x=1", headers=service.headers, timeout=30)
    assert found.status_code == 200
    assert found.json() == service.models().json()
    turn = requests.post(
        f"{url}/v1/chat/completions?api-version=2",
        json=HELLO,
        headers=service.headers,
        timeout=30,
    )
    assert turn.status_code == 200
    assert turn.json()["choices"][0]["message"]["content"] == "ok"


@req("C-NET-07")
@pytest.mark.parametrize(
    ("path", "token", "status"),
    [
        ("/nope?token=x", TOKEN, 404),
        (f"/nope?access_token={TOKEN}", None, 401),
        (f"/v1/models?access_token={TOKEN}", None, 401),
        (f"/v1/models?token={TOKEN}", "wrong", 401),
        ("/v1/chat/completions?method=POST", TOKEN, 405),
    ],
)
def test_a_query_string_changes_no_error(
    service: Service, path: str, token: str | None, status: int
) -> None:
    assert get(service, path, token) == status


@req("C-NET-08")
@pytest.mark.parametrize(
    "path",
    [
        "/v1/models/",
        "/V1/models",
        "/v1/Models",
        "/v1/./models",
        "/v1/chat/../models",
        "//v1/models",
        "/v1//models",
        "/v1/models/.",
        "/v1%2Fmodels",
        "/v1/models;x=1",
    ],
)
def test_a_path_matches_exactly_or_not_at_all(service: Service, path: str) -> None:
    assert get(service, path) == 404


def test_a_taken_port_ends_the_start_with_a_remedy(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        config = document({"agent": binding(stub(tmp_path))}, port)
        process = serve(prepared(tmp_path, config))
        try:
            output = process.communicate(timeout=20)[0].decode()
        finally:
            process.kill()
    assert process.returncode == 1
    assert f"port {port} on 127.0.0.1 is taken" in output
    assert "set another port" in output
    assert "Traceback" not in output
