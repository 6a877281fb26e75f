"""What the executor ``http`` adds to a server's own time, beside what LiteLLM adds."""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import statistics
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

from tests.bench.round import Row
from tests.bench.turns import BODY, seconds, send_turn
from tests.presets.recording import ENGINES
from tests.support.model_reply import Reply
from tests.support.model_server import model_server
from tests.support.service import Service, free_port, prepared, started, wait_until
from tests.support.upstreams import KEY, upstream_document

LITELLM = ENGINES / "litellm" / "bin" / "litellm"
"""PyPI's ``litellm[proxy]`` in an environment of its own."""

PROXY_KEY = f"sk-{KEY}-of-the-whole-proxy"
"""LiteLLM does not start without one, nor with a weak one."""

ROUNDS = 60
WARM = 10
START_SECONDS = 120.0


def added(root: Path) -> Row:
    """What a turn through ``http`` takes longer than the server asked directly."""
    direct, ours, _ = _medians(root, litellm=False)
    return Row(
        name="http_adds",
        what="a turn through `http`, less the same request to its server",
        ours=round((ours - direct) * 1000, 2),
        peer=round(direct * 1000, 2),
        peer_name="the request to the server itself",
        unit="ms, median",
        ratio=round((ours - direct) / direct, 3),
        bound=5.0,
        samples=ROUNDS,
        notes={},
    )


def against_litellm(root: Path) -> Row:
    """The same beside what the LiteLLM proxy adds to the same server's time."""
    direct, ours, theirs = _medians(root, litellm=True)
    return Row(
        name="http_beside_litellm",
        what="a turn through `http`, less the same request to its server",
        ours=round((ours - direct) * 1000, 2),
        peer=round((theirs - direct) * 1000, 2),
        peer_name="the LiteLLM proxy in place of the service",
        unit="ms, median",
        ratio=round((ours - direct) / (theirs - direct), 3),
        limit=0.5,
        samples=ROUNDS,
        notes={"server_ms": round(direct * 1000, 2)},
    )


def _medians(root: Path, *, litellm: bool) -> tuple[float, float, float]:
    """Return the seconds of the server itself, through us, and through LiteLLM."""
    with ExitStack() as stack:
        url = stack.enter_context(_model())
        service = stack.enter_context(_service(root, url))
        asks: list[Callable[[], None]] = [
            partial(_ask, url, "stub"),
            partial(send_turn, service),
        ]
        if litellm:
            proxy = stack.enter_context(_litellm(root, url))
            asks.append(partial(_ask, proxy, "stub"))
        for ask in asks * WARM:
            ask()
        taken = [[seconds(ask) for ask in asks] for _ in range(ROUNDS)]
    medians = [statistics.median(times) for times in zip(*taken, strict=True)]
    return medians[0], medians[1], medians[-1]


def _ask(url: str, model: str) -> None:
    """Send one request on a connection of its own, as ``send_turn`` does."""
    body = json.dumps(json.loads(BODY) | {"model": model})
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {PROXY_KEY}",
    }
    where = urlsplit(url)
    connection = http.client.HTTPConnection(
        where.hostname or "", where.port, timeout=60
    )
    connection.request("POST", "/v1/chat/completions", body, headers)
    response = connection.getresponse()
    answer = response.read()
    connection.close()
    assert response.status == 200, answer


@contextmanager
def _model() -> Iterator[str]:
    """Run a server that answers at once, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    near, far = context.Pipe()
    process = context.Process(target=_serve, args=(far,))
    process.start()
    try:
        yield near.recv()
    finally:
        near.send("stop")
        process.join()


def _serve(far: Connection) -> None:
    with model_server(Reply("pong")) as server:
        far.send(server.url)
        far.recv()


@contextmanager
def _service(root: Path, url: str) -> Iterator[Service]:
    config = upstream_document({"main": f"{url}/v1"}, {"stub": {"model": "stub"}})
    place = root / "ours"
    place.mkdir(mode=0o700)
    service = prepared(place, config, secrets={"key_main": KEY})
    with started(service):
        yield service


@contextmanager
def _litellm(root: Path, url: str) -> Iterator[str]:
    port = free_port()
    config = root / "litellm.json"
    parameters = {"model": "openai/stub", "api_base": f"{url}/v1", "api_key": KEY}
    models = [{"model_name": "stub", "litellm_params": parameters}]
    config.write_text(json.dumps({"model_list": models}), "utf-8")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(root),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_LOG": "ERROR",
        "LITELLM_MASTER_KEY": PROXY_KEY,
    }
    argv = [str(LITELLM), "--config", str(config), "--host", "127.0.0.1"]
    with (root / "litellm.log").open("wb") as log:
        process = subprocess.Popen(
            [*argv, "--port", str(port), "--telemetry", "False"],
            env=environment,
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until(partial(_answers, address), START_SECONDS)
        yield address
    finally:
        process.terminate()
        process.wait()


def _answers(url: str) -> bool:
    with suppress(OSError, AssertionError, http.client.HTTPException):
        _ask(url, "stub")
        return True
    return False


MEASUREMENTS = {"http_adds": added} | (
    {"http_beside_litellm": against_litellm} if LITELLM.exists() else {}
)
