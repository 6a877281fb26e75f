"""How long a turn takes beside the same program run bare."""

from __future__ import annotations

import http.client
import json
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.round import Row
from tests.support.service import Service, Stub, running

BODY = json.dumps({"messages": [{"role": "user", "content": "hello"}]}).encode()


def seconds(action: Callable[[], None]) -> float:
    """Return how long an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def send_turn(service: Service) -> None:
    """Send one turn on a connection of its own and read the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    connection.request("POST", "/v1/chat/completions", BODY, service.headers)
    response = connection.getresponse()
    answer = response.read()
    connection.close()
    assert response.status == 200, answer


def measure(root: Path, name: str, script: str, rounds: int, limit: float) -> Row:
    """Measure a shell engine through the service and bare, by turns."""
    argv = ("sh", "-c", script)

    def bare() -> None:
        subprocess.run(argv, input=b"hello", capture_output=True, check=True)

    with running(root, Stub(argv, root)) as service:
        for _ in range(min(rounds, 5)):
            send_turn(service)
            bare()
        ours, peer = [], []
        for _ in range(rounds):
            peer.append(seconds(bare))
            ours.append(seconds(lambda: send_turn(service)))
    median, median_peer = statistics.median(ours), statistics.median(peer)
    return Row(
        name=name,
        what=f"one turn whose engine is `{script}`",
        ours=round(median * 1000, 2),
        peer=round(median_peer * 1000, 2),
        peer_name="the same argv, `subprocess.run`",
        unit="ms, median",
        ratio=round(median / median_peer, 3),
        limit=limit,
        samples=rounds,
        notes={"p95_ms": round(sorted(ours)[int(rounds * 0.95)] * 1000, 2)},
    )


def short_turn(root: Path) -> Row:
    """A turn whose engine does nothing: what the service itself costs."""
    return measure(root, "turn_short", "cat >/dev/null; echo hi", 200, 6.0)


def second_turn(root: Path) -> Row:
    """A turn whose engine takes a second."""
    script = "cat >/dev/null; sleep 1; echo hi"
    return measure(root, "turn_second", script, 7, 1.03)
