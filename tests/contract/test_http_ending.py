"""How turns of the executor ``http`` end: in time, and with the server told so."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.model_reply import Reply
from tests.support.model_server import Asked, model_server
from tests.support.raw_http import connect, request
from tests.support.service import free_port, user, wait_until
from tests.support.upstreams import KEY, Upstreams, asking, key_of

FAULTS = ("hold", "dribble", "dribble_head")
FAILURE = (502, "upstream_failure")
CONFIGS: dict[str, dict[str, Any]] = {
    "patient": {},
    "pieces": {"stream": True},
    "hasty": {"timeout_seconds": 1},
    "bounded": {"max_response_bytes": 1000},
    "bounded_pieces": {"max_response_bytes": 1000, "stream": True},
    "missing": {"server": "missing"},
    "nameless": {"server": "nameless"},
    "silent": {"server": "silent", "connect_seconds": 1},
    "via_proxy": {"server": "far", "pass_env": ["HTTP_PROXY", "NO_PROXY"]},
    "straight": {"server": "far"},
    "spared": {"server": "spared", "pass_env": ["HTTP_PROXY", "NO_PROXY"]},
    "tunnelled": {"server": "secure", "pass_env": ["HTTPS_PROXY"]},
    "local": {"pass_env": ["HTTP_PROXY"]},
}


@pytest.fixture(scope="module")
def proxy() -> Iterator[Any]:
    with model_server() as server:
        yield server


@pytest.fixture(scope="module")
def silent() -> Iterator[int]:
    """Yield a port where connections are taken and nothing is said."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture(scope="module")
def upstreams(
    tmp_path_factory: pytest.TempPathFactory, proxy: Any, silent: int
) -> Iterator[Upstreams]:
    others = {
        "missing": f"http://127.0.0.1:{free_port()}/v1",
        "nameless": "http://no-such-host.invalid/v1",
        "silent": f"https://127.0.0.1:{silent}/v1",
        "far": "http://models.invalid:8000/v1",
        "spared": "http://spared.invalid/v1",
        "secure": "https://models.invalid/v1",
    }
    named = f"http://me:word@127.0.0.1:{proxy.port}"
    environment = {
        "HTTP_PROXY": named,
        "HTTPS_PROXY": named,
        "NO_PROXY": "spared.invalid",
    }
    root = tmp_path_factory.mktemp("http_ending")
    with asking(root, CONFIGS, others=others, environment=environment) as them:
        yield them


def first_asked(upstreams: Upstreams) -> Asked:
    wait_until(lambda: upstreams.server.asked)
    return upstreams.server.asked[0]


@pytest.mark.req("C-TIME-07", "C-TIME-14", "B-EXECUTOR-05")
@pytest.mark.parametrize("fault", FAULTS)
def test_the_deadline_ends_the_turn_and_the_request(
    upstreams: Upstreams, fault: str
) -> None:
    run = upstreams.run("hasty", user("x"), script=[Reply(fault=fault)])
    assert run.error == (504, "upstream_timeout")
    assert run.asked[0].gone.wait(10)


@pytest.mark.req("C-TIME-16")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_client_that_leaves_ends_the_request(
    upstreams: Upstreams, fault: str
) -> None:
    upstreams.server.play(Reply(fault=fault))
    body = b'{"model": "patient", "messages": [{"role": "user", "content": "x"}]}'
    with connect(upstreams.service.port) as client:
        client.sendall(
            request(
                "POST",
                "/v1/chat/completions",
                token=upstreams.service.token,
                body=body,
                headers=[("Content-Type", "application/json")],
            )
        )
        asked = first_asked(upstreams)
        assert not asked.gone.is_set()
    assert asked.gone.wait(10)


def test_an_answer_that_takes_its_time_is_waited_for(upstreams: Upstreams) -> None:
    reply = Reply("late", fault="hold")
    opener = threading.Timer(0.3, reply.gate.set)
    opener.start()
    assert upstreams.run("patient", user("x"), script=[reply]).answer == "late"
    opener.join()


@pytest.mark.req("C-SEC-13", "B-EXECUTOR-05")
@pytest.mark.parametrize("model", ["bounded", "bounded_pieces", "patient"])
def test_a_response_without_end_is_cut_off(upstreams: Upstreams, model: str) -> None:
    run = upstreams.run(model, user("x"), script=[Reply(fault="endless")])
    assert run.error == FAILURE
    assert run.asked[0].gone.wait(10)


@pytest.mark.req("B-EXECUTOR-05")
@pytest.mark.parametrize("model", ["bounded", "bounded_pieces"])
def test_a_response_is_read_up_to_its_bound(upstreams: Upstreams, model: str) -> None:
    run = upstreams.run(model, user("x"), script=[Reply("x" * 1000)])
    assert run.error == FAILURE
    run = upstreams.run("bounded", user("x"), script=[Reply("x" * 600)])
    assert run.answer == "x" * 600


@pytest.mark.req("C-RESP-18")
@pytest.mark.parametrize("model", ["missing", "nameless"])
def test_a_server_that_is_not_there_is_a_failure(
    upstreams: Upstreams, model: str
) -> None:
    assert upstreams.run(model, user("x")).error == FAILURE


@pytest.mark.req("B-EXECUTOR-05")
def test_a_connection_that_is_not_made_in_time_is_a_failure(
    upstreams: Upstreams,
) -> None:
    began = time.monotonic()
    assert upstreams.run("silent", user("x")).error == FAILURE
    assert time.monotonic() - began < 20  # and not when the deadline comes


@pytest.mark.req("B-EXECUTOR-04")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(upstreams: Upstreams, status: int) -> None:
    with model_server(Reply("elsewhere")) as elsewhere:
        headers = {"Location": f"{elsewhere.url}/v1/chat/completions"}
        reply = Reply(status=status, headers=headers)
        assert upstreams.run("patient", user("x"), script=[reply]).error == FAILURE
        assert elsewhere.asked == []


@pytest.mark.req("B-EXECUTOR-04")
def test_a_proxy_is_used_where_the_binding_may_see_its_variable(
    upstreams: Upstreams, proxy: Any
) -> None:
    proxy.play(Reply("through the proxy"))
    assert upstreams.run("via_proxy", user("x")).answer == "through the proxy"
    asked = proxy.only
    assert asked.path == "http://models.invalid:8000/v1/chat/completions"
    assert asked.headers["host"] == "models.invalid:8000"
    assert asked.headers["proxy-authorization"] == "Basic bWU6d29yZA=="
    assert asked.headers["authorization"] == f"Bearer {key_of('far')}"


@pytest.mark.req("B-EXECUTOR-04")
@pytest.mark.parametrize("model", ["straight", "spared"])
def test_a_proxy_is_left_alone_otherwise(
    upstreams: Upstreams, proxy: Any, model: str
) -> None:
    proxy.play()
    assert upstreams.run(model, user("x")).error == FAILURE
    assert proxy.asked == []


@pytest.mark.req("B-EXECUTOR-04")
def test_what_is_on_this_machine_is_asked_straight(
    upstreams: Upstreams, proxy: Any
) -> None:
    proxy.play()
    assert upstreams.run("local", user("x"), script=[Reply("pong")]).answer == "pong"
    assert proxy.asked == []


def test_a_proxy_that_refuses_to_connect_is_a_failure_and_sees_no_key(
    upstreams: Upstreams, proxy: Any
) -> None:
    proxy.play()
    assert upstreams.run("tunnelled", user("canary")).error == FAILURE
    assert "the proxy answered with status 501" in upstreams.service.log
    assert proxy.asked == []


@pytest.mark.req("C-SEC-18", "C-SEC-20")
def test_nothing_of_a_conversation_is_in_the_log(upstreams: Upstreams) -> None:
    for reply in (Reply("canary-answer"), Reply("canary-answer", fault="drop_mid")):
        upstreams.run("patient", user("canary-words"), script=[reply])
    assert "canary" not in upstreams.service.log
    assert KEY not in upstreams.service.log


@pytest.mark.req("B-TURN-20")
def test_a_stop_ends_the_request(tmp_path: Path) -> None:
    with asking(tmp_path, {"patient": {}}) as them:
        them.server.play(Reply(fault="hold"))
        answers: list[Any] = []
        asker = threading.Thread(
            target=lambda: answers.append(them.service.turn(user("x"), timeout=60))
        )
        asker.start()
        asked = first_asked(them)
        them.service.process.terminate()
        wait_until(lambda: "another signal" in them.service.log)
        them.service.process.terminate()
        assert asked.gone.wait(20)
        asker.join(30)
        assert answers[0].status_code == 502
