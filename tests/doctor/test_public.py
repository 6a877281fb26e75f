"""``doctor --address``: what stands between the app and the service."""

from __future__ import annotations

import http.client
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.doctor.asking import Report, doctor
from tests.support.commands import run
from tests.support.service import Service, free_port, running, stub

EXPECTED = {"service_root"} if os.geteuid() == 0 else set()


class Front(BaseHTTPRequestHandler):
    """A proxy that passes on to the service, unless it is told otherwise."""

    port: int
    refuses: int = 0
    most_bytes: int | None = None
    drops_authorization: bool = False

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.pass_on()

    def do_POST(self) -> None:
        self.pass_on()

    def pass_on(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        if self.refuses or length > (self.most_bytes or length):
            self.close_connection = True
            self.send_response(self.refuses or 413)
            self.send_header("Content-Length", "0")
            self.send_header("Connection", "close")
            self.end_headers()
            return
        headers = dict(self.headers)
        if self.drops_authorization:
            headers.pop("Authorization", None)
        server = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        server.request(self.command, self.path, self.rfile.read(length), headers)
        answer = server.getresponse()
        body = answer.read()
        server.close()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.getheader("Content-Type", ""))
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def front(port: int, **options: Any) -> Iterator[str]:
    handler = type("Told", (Front,), {"port": port, **options})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def served(root: Path) -> Iterator[Service]:
    engine = stub(root, ["obey"])
    with running(root, engine, files={"port": free_port()}) as service:
        yield service


def through(service: Service, **options: Any) -> Report:
    with front(service.port, **options) as address:
        return doctor(service.root, "--check-secrets", "--address", address)


def test_a_front_that_passes_everything_on_is_fine(tmp_path: Path) -> None:
    with served(tmp_path) as service:
        found = through(service)
        assert found.codes == EXPECTED
        assert found.is_fine("public.answer")
        assert found.is_fine("public.pass")
        assert found.is_fine("public.body")
        with front(service.files_port) as address:
            lane = doctor(tmp_path, "--check-secrets", "--files-address", address)
        assert lane.codes == EXPECTED
        assert lane.is_fine("public.answer")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"refuses": 403}, "public_host_refused"),
        ({"refuses": 530}, "public_stale"),
        ({"refuses": 404}, "public_differs"),
        ({"drops_authorization": True}, "public_differs"),
        ({"most_bytes": 1 << 20}, "public_body_limit"),
    ],
)
def test_what_a_front_does_wrong_is_told_once(
    tmp_path: Path, options: dict[str, Any], code: str
) -> None:
    with served(tmp_path) as service:
        found = through(service, **options)
    assert found.codes - EXPECTED == {code}
    assert found.status == 1


def test_an_address_that_nobody_answers_is_told_once(tmp_path: Path) -> None:
    with served(tmp_path):
        gone = f"http://127.0.0.1:{free_port()}"
        found = doctor(tmp_path, "--check-secrets", "--address", gone)
    assert found.codes - EXPECTED == {"public_unreachable"}


@pytest.mark.parametrize("address", ["nas", "ftp://nas", "http://", "http://a:b"])
def test_what_is_no_address_is_refused(address: str) -> None:
    assert run("doctor", "--address", address).returncode == 2
