"""TLS to a server behind the executor ``http``: certificates are checked."""

from __future__ import annotations

import shutil
import ssl
from pathlib import Path

import pytest

from tests.support.certificates import certificate
from tests.support.model_reply import Reply
from tests.support.model_server import model_server
from tests.support.service import user
from tests.support.upstreams import asking

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl makes the certificate"
)


@pytest.mark.req("B-EXECUTOR-03")
@pytest.mark.parametrize("is_trusted", [True, False])
def test_only_a_server_that_can_prove_its_name_is_asked(
    is_trusted: bool, tmp_path: Path
) -> None:
    made, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    with model_server(Reply("pong"), tls=context) as secure:
        others = {
            "right": f"https://localhost:{secure.port}/v1",
            "wrong": f"https://127.0.0.1:{secure.port}/v1",
        }
        environment = {"SSL_CERT_FILE": str(made)} if is_trusted else {}
        configs = {name: {"server": name} for name in others}
        with asking(tmp_path, configs, others=others, environment=environment) as them:
            good = them.run("right", user("x"))
            assert good.status == (200 if is_trusted else 502)
            assert them.run("wrong", user("x")).error == (502, "upstream_failure")
            assert "the certificate is not accepted" in them.service.log
        assert len(secure.asked) == int(is_trusted)


def test_a_turn_that_ends_early_ends_the_request_over_tls_too(tmp_path: Path) -> None:
    made, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    with model_server(Reply(fault="dribble"), tls=context) as secure:
        others = {"right": f"https://localhost:{secure.port}/v1"}
        configs = {"hasty": {"server": "right", "timeout_seconds": 1}}
        environment = {"SSL_CERT_FILE": str(made)}
        with asking(tmp_path, configs, others=others, environment=environment) as them:
            assert them.run("hasty", user("x")).error == (504, "upstream_timeout")
            assert secure.only.gone.wait(10)
