"""How much memory a large request takes, and whether it is given back."""

from __future__ import annotations

import base64
import json
import os
import threading
from pathlib import Path

from tests.bench.round import Row
from tests.support.service import Service, assistant, image, running, stub, text, user

BODY_BYTES = 52_428_800
PHOTO_BYTES = 2_500_000


def large_body() -> bytes:
    """Return a body of 50 MiB: photos in two messages, and text with an emoji."""
    photo = base64.b64encode(os.urandom(PHOTO_BYTES)).decode()
    earlier = [text("look \U0001f600")] + [image(photo, "image/jpeg")] * 7
    newest = [text("and now?")] + [image(photo, "image/jpeg")] * 7
    messages = [user(earlier), assistant("I see."), user(newest)]
    body = json.dumps({"messages": messages}, ensure_ascii=False).encode()
    padding = json.dumps({"x": "y" * (BODY_BYTES - len(body) - 9)})[1:-1]
    return body[:-1] + b", " + padding.encode() + b"}"


def memory(service: Service, field: str) -> int:
    """Return VmHWM (peak) or VmRSS (now) of the daemon in bytes."""
    status = Path(f"/proc/{service.process.pid}/status").read_text("ascii")
    (line,) = [line for line in status.splitlines() if line.startswith(field)]
    return int(line.split()[1]) * 1024


def forget_peak(service: Service) -> None:
    """Begin a new peak from now on."""
    Path(f"/proc/{service.process.pid}/clear_refs").write_text("5", "ascii")


def large_request(root: Path, at_once: int) -> Row:
    """Send large requests, one or two at once, and watch the daemon."""
    engine = stub(root, ["print", "seen"])
    images = {"mode": "argument", "flag": "--image"}
    body = large_body()
    statuses: list[int] = []
    with running(root, engine, images=images, serialize=False) as service:
        service.chat("warm")
        forget_peak(service)
        before = memory(service, "VmRSS")
        senders = [
            threading.Thread(
                target=lambda: statuses.append(service.post(body).status_code)
            )
            for _ in range(at_once)
        ]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join(120)
        growth = memory(service, "VmHWM") - before
        kept = memory(service, "VmRSS") - before
    assert statuses and set(statuses) <= {200, 503}, statuses
    total = len(body) * at_once
    return Row(
        name="large_request" if at_once == 1 else "two_large_requests",
        what=f"peak memory growth of the daemon for {at_once} request(s) of 50 MiB "
        "with photos at once",
        ours=round(growth / 2**20, 1),
        peer=round(total / 2**20, 1),
        peer_name="the size of the bodies",
        unit="MiB",
        ratio=round(growth / total, 2),
        limit=3.5,
        samples=1,
        notes={"kept_mib": round(kept / 2**20, 1), "refused": statuses.count(503)},
    )
