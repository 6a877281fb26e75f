"""How fast the list of models is answered while everything else is busy."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import requests

from tests.bench.round import Row
from tests.support.service import Service, running, stub, user, wait_until
from tests.support.trace import ROOT

SAMPLES = 1000
SLOTS, QUEUE, UPLOADS, IDLE = 4, 4, 8, 64


def ask(service: Service) -> list[float]:
    """Return the seconds of each sample; a refusal fails the bench."""
    argv = [sys.executable, "-m", "tests.bench.asker", str(service.port)]
    asker = subprocess.run(
        [*argv, service.token, str(SAMPLES)],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    return list(json.loads(asker.stdout))


def p99(values: list[float]) -> float:
    """Return the 99th percentile in milliseconds."""
    return round(sorted(values)[int(len(values) * 0.99)] * 1000, 2)


def models_under_load(root: Path) -> Row:
    """Ask again and again, idle first and then under the whole load."""
    gate = root / "gate"
    engine = stub(root, ["wait_for", str(gate)], ["print", "done"])
    chat = {"start_within_seconds": 200, "queue_depth": QUEUE}
    with running(root, engine, chat=chat, serialize=False) as service:
        idle = ask(service)
        with load(service, engine.folder):
            busy = ask(service)
            gate.touch()
    ours, peer = p99(busy), p99(idle)
    return Row(
        name="models_under_load",
        what=f"`/v1/models` while {SLOTS} turns run, {QUEUE} wait, {UPLOADS} uploads "
        f"dribble and {IDLE} connections idle; none refused",
        ours=ours,
        peer=peer,
        peer_name="the same request to the same service without load",
        unit="ms, p99",
        ratio=round(ours / peer, 2),
        bound=50.0,
        samples=SAMPLES,
        notes={"median_ms": round(sorted(busy)[SAMPLES // 2] * 1000, 2)},
    )


@contextmanager
def load(service: Service, records: Path) -> Iterator[None]:
    """Fill every slot and the queue, and hold uploads and connections."""
    stop = threading.Event()
    with ExitStack() as stack:
        senders = [
            threading.Thread(target=service.turn, args=(user("x"),))
            for _ in range(SLOTS + QUEUE)
        ]
        uploads = [
            stack.enter_context(socket.create_connection(("127.0.0.1", service.port)))
            for _ in range(UPLOADS)
        ]
        dribbler = threading.Thread(target=dribble, args=(service, uploads, stop))
        for thread in (dribbler, *senders):
            thread.start()
        for _ in range(IDLE):
            address = ("127.0.0.1", service.port)
            stack.enter_context(socket.create_connection(address))
        wait_until(lambda: len(list(records.glob("*.json"))) == SLOTS)
        wait_until(lambda: is_full(service))
        yield
        stop.set()
        for thread in (dribbler, *senders):
            thread.join(60)


def is_full(service: Service) -> bool:
    """Say whether the queue takes no more."""
    try:
        response = service.turn(user("one too many"))
    except requests.RequestException:
        return False
    return response.status_code == 429


def dribble(
    service: Service, uploads: list[socket.socket], stop: threading.Event
) -> None:
    """Send a body byte by byte on every connection until told to stop."""
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n"
        f"Authorization: Bearer {service.token}\r\n\r\n"
    )
    for upload in uploads:
        upload.sendall(head.encode())
    while not stop.is_set():
        for upload in uploads:
            upload.sendall(b" ")
        time.sleep(0.05)
