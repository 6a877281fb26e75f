"""``doctor --address``: what stands between the app and the service."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conduck_service.doctor.peer import Peer, PeerError, Silence
from tests.doctor.asking import Report, doctor
from tests.support.certificates import certificate
from tests.support.commands import run
from tests.support.fronts import front
from tests.support.service import Service, free_port, running, stub

EXPECTED = {"service_root"} if os.geteuid() == 0 else set()


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
        for check in ("answer", "pass", "body", "methods"):
            assert lane.is_fine(f"public.{check}")
    assert list((tmp_path / "folder").iterdir()) == []


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"refuses": 403}, "public_host_refused"),
        ({"refuses": 530}, "public_stale"),
        ({"refuses": 404}, "public_differs"),
        ({"refuses": 401}, "public_other_login"),
        ({"refuses": 302}, "public_other_login"),
        ({"drops_authorization": True}, "public_login_lost"),
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


def test_a_name_that_nobody_knows_is_told(tmp_path: Path) -> None:
    with served(tmp_path):
        found = doctor(tmp_path, "--address", "https://nobody.invalid")
    assert found.codes - EXPECTED == {"public_no_name"}


def test_a_certificate_that_nobody_trusts_is_told(tmp_path: Path) -> None:
    made, key = certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(made, key)
    seen: list[str] = []
    with served(tmp_path) as service, front(service.port, tls=tls, seen=seen) as url:
        found = doctor(tmp_path, "--check-secrets", "--address", url)
        assert found.codes - EXPECTED == {"public_tls"}
        assert "self-signed certificate" in found.row("public_tls")["message"]
        assert seen == []
        trusted = {"SSL_CERT_FILE": str(made)}
        good = doctor(
            tmp_path, "--check-secrets", "--address", url, environment=trusted
        )
    assert good.codes == EXPECTED
    assert good.is_fine("public.pass")


def test_who_never_answers_is_told_from_who_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        with pytest.raises(PeerError) as caught:
            Peer(f"http://127.0.0.1:{port}").ask("GET", "/", seconds=0.2)
    assert caught.value.why is Silence.TIMEOUT


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"refuses_method": "PROPFIND"}, "public_methods"),
        ({"refuses_method": "MKCOL"}, "public_methods"),
        ({"refuses_method": "DELETE"}, "public_methods"),
        ({"most_bytes": 1 << 20}, "public_body_limit"),
    ],
)
def test_what_a_front_of_the_lane_does_wrong_is_told_once(
    tmp_path: Path, options: dict[str, Any], code: str
) -> None:
    with served(tmp_path) as service, front(service.files_port, **options) as address:
        found = doctor(tmp_path, "--check-secrets", "--files-address", address)
        assert found.codes - EXPECTED == {code}
        assert list(service.folder.iterdir()) == []


def test_a_turn_is_asked_for_through_the_address(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["obey"])
    with running(tmp_path, engine) as service, front(service.port) as address:
        without = doctor(tmp_path, "--check-secrets", "--address", address)
        assert engine.records == []
        assert not without.is_fine("public.turn")
        assert doctor(tmp_path, "--turn", "--address", address).is_fine("public.turn")


def test_a_turn_that_fails_behind_the_address_is_told(tmp_path: Path) -> None:
    engine = stub(tmp_path, ["exit", 3])
    with running(tmp_path, engine) as service, front(service.port) as address:
        found = doctor(tmp_path, "--turn", "--address", address)
    assert "public_turn" in found.codes


def test_no_other_server_is_sent_a_token(tmp_path: Path) -> None:
    seen: list[str] = []
    with served(tmp_path) as service:
        lane = service.files_port
        with front(lane, seen=seen) as address:
            found = doctor(tmp_path, "--check-secrets", "--address", address)
    assert found.codes - EXPECTED == {"public_other_login"}
    assert seen == []


@pytest.mark.parametrize("address", ["nas", "ftp://nas", "http://", "http://a:b"])
def test_what_is_no_address_is_refused(address: str) -> None:
    assert run("doctor", "--address", address).returncode == 2
