"""Every way in which the chat listener refuses, provoked once and collected.

:func:`collected` starts a daemon whose engines fail in every way that there is,
asks it for each refusal, stops it, and returns what was answered.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.documents import document
from tests.support.raw_http import (
    RawResponse,
    connect,
    exchange,
    read_response,
    request,
)
from tests.support.service import (
    TOKEN,
    Service,
    binding,
    free_port,
    image,
    prepared,
    stub,
    user,
    wait_until,
)

REPOSITORY = Path(__file__).parents[2]
MODELS = "/v1/models"
CHAT = "/v1/chat/completions"
CAP = 536_870_912
MARK = "zebra-4711"
"""A text that stands in requests and must stand in no answer."""

BREAK = "break the handler"
"""A body that holds this makes the handler of the daemon raise."""

FAULT = f"""
import conduck_service.chat.completions as completions
read = completions.read_request
def broken(body):
    if b"{BREAK}" in body:
        raise ZeroDivisionError("{MARK} in the exception")
    return read(body)
completions.read_request = broken
"""


@dataclass(frozen=True, slots=True)
class Refused:
    """An answer, with the status and the code that it should have."""

    status: int
    code: str
    response: RawResponse


@dataclass(frozen=True, slots=True)
class Collection:
    """Everything that the listener answered.

    Attributes:
        refusals: By a name of its own.
        answers: Good answers, likewise.
        log: What the daemon printed.
        records: The folder of the stubs' records by the model's name.
    """

    refusals: dict[str, Refused]
    answers: dict[str, RawResponse]
    log: str
    records: dict[str, Path]

    def named(self, *names: str) -> list[Refused]:
        """Return some of the refusals."""
        return [self.refusals[name] for name in names]


def chat(model: str = "good", content: Any = f"hello {MARK}", **more: Any) -> bytes:
    """Return a whole chat request with the right token."""
    body = {"messages": [user(content)], "model": model, **more}
    return request("POST", CHAT, token=TOKEN, body=json.dumps(body).encode())


def post(body: bytes = b"", *headers: tuple[str, str], token: str = TOKEN) -> bytes:
    """Return a chat request; the body is framed unless a header frames it."""
    return request("POST", CHAT, token=token, headers=headers, body=body)


def declared(length: str) -> bytes:
    """Return the head of a chat request with this Content-Length."""
    return post(b"", ("Content-Length", length))


PLAIN: dict[str, tuple[int, str, bytes]] = {
    "no token": (401, "", request("GET", MODELS)),
    "wrong token": (401, "", post(b"{}", token="wrong")),
    "no token, unknown path": (401, "", request("GET", f"/{MARK}")),
    "no token, wrong method": (401, "", request("GET", CHAT)),
    "no token, bad length": (401, "", post(b"", ("Content-Length", "x"), token="no")),
    "unknown path": (404, "", request("GET", f"/{MARK}", token=TOKEN)),
    "unknown path, body": (404, "", request("POST", "/x", token=TOKEN, body=b"{}")),
    "longer path": (404, "", request("GET", f"{MODELS}/{MARK}", token=TOKEN)),
    "no path": (404, "", request("OPTIONS", "*", token=TOKEN)),
    "get chat": (405, "", request("GET", CHAT, token=TOKEN)),
    "odd method": (405, "", request("BREW", MODELS, token=TOKEN)),
    "garbage": (400, "", b"GARBAGE\r\n\r\n"),
    "tls": (400, "", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    "long head": (400, "", request("GET", "/" + "x" * 300_000, token=TOKEN)),
    "bare lf": (400, "", b"GET / HTTP/1.1\nHost: x\n\n"),
    "no colon": (400, "", b"GET / HTTP/1.1\r\nHost\r\n\r\n"),
    "http 3": (400, "", request("GET", MODELS, token=TOKEN, version="HTTP/3.0")),
    "two hosts": (
        400,
        "",
        request("GET", MODELS, token=TOKEN, headers=[("Host", "x")]),
    ),
    "letters as length": (400, "", declared("abc")),
    "negative length": (400, "", declared("-1")),
    "two lengths": (
        400,
        "",
        post(b"", ("Content-Length", "1"), ("Content-Length", "2")),
    ),
    "length and chunks": (
        400,
        "",
        post(b"", ("Content-Length", "0"), ("Transfer-Encoding", "chunked")),
    ),
    "no length": (400, "", request("POST", CHAT, token=TOKEN)),
    "broken chunks": (400, "", post(b"zz\r\n", ("Transfer-Encoding", "chunked"))),
    "no json": (400, "", post(f"{{{MARK}".encode())),
    "empty body": (400, "", post()),
    "nan": (400, "", post(b'{"messages": NaN}')),
    "no messages": (400, "", post(b'{"messages": []}')),
    "bad role": (400, "", chat(messages=[{"role": MARK, "content": "x"}])),
    "last from assistant": (
        400,
        "",
        chat(messages=[{"role": "assistant", "content": MARK}]),
    ),
    "bad content": (400, "", chat(content=7)),
    "bad model": (400, "", chat(model=[MARK])),  # type: ignore[arg-type] # malformed on purpose
    "remote image": (
        400,
        "",
        chat(
            "sighted",
            [{"type": "image_url", "image_url": {"url": f"http://{MARK}.test/"}}],
        ),
    ),
    "image type": (400, "", chat("sighted", [image(media_type="image/webp")])),
    "unknown model": (400, "model_not_found", chat(MARK)),
    "image to the blind": (400, "image_unsupported", chat("good", [image()])),
    "large image": (413, "image_too_large", chat("sighted", [image("AAAA" * 2000)])),
    "too long for engine": (400, "context_too_long", chat("small", "x" * 400)),
    "too long for argv": (400, "context_too_long", chat("argument", "x" * 3_000_000)),
    "declared too large": (413, "body_too_large", declared(str(CAP + 1))),
    "declared too large, image": (
        413,
        "body_too_large",
        declared(str(CAP + 1)) + json.dumps({"messages": [user([image()])]}).encode(),
    ),
    "chunks too large": (
        413,
        "body_too_large",
        post(f"{CAP + 1:x}\r\n".encode(), ("Transfer-Encoding", "chunked")),
    ),
    "internal": (500, "", chat("good", BREAK)),
    "engine exits": (502, "upstream_failure", chat("crash")),
    "engine killed": (502, "upstream_failure", chat("killed")),
    "engine says nothing": (502, "upstream_failure", chat("blank")),
    "engine floods": (502, "upstream_failure", chat("flood")),
    "engine reports failure": (502, "upstream_failure", chat("failed")),
    "engine absent": (502, "upstream_failure", chat("absent")),
    "secret absent": (502, "upstream_failure", chat("unsecret")),
    "folder absent": (502, "upstream_failure", chat("homeless")),
    "no room for images": (502, "upstream_failure", chat("homeless", [image()])),
    "engine too slow": (504, "upstream_timeout", chat("slow")),
} | {
    f"{method} {path}": (405, "", request(method, path, token=TOKEN, body=b"{}"))
    for path, methods in {
        MODELS: ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"),
        CHAT: ("PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"),
    }.items()
    for method in methods
}
"""Name of each refusal that one request provokes: status, code and request."""

BODILESS = (f"HEAD {MODELS}", f"HEAD {CHAT}")


def _bindings(root: Path) -> dict[str, dict[str, Any]]:
    steps: dict[str, list[list[Any]]] = {
        "good": [["obey"]],
        "crash": [["print", MARK], ["exit", 3]],
        "killed": [["signal", int(signal.SIGKILL)]],
        "blank": [["print", " \n"]],
        "flood": [["flood"]],
        "failed": [["print", json.dumps({"ok": False, "text": f"{MARK} failed"})]],
        "unsecret": [["obey"]],
        "small": [["obey"]],
        "argument": [["obey"]],
        "sighted": [["obey"]],
        "homeless": [["obey"]],
        "slow": [["print", "half an answer"], ["sleep", 30]],
        "held": [["wait_for", str(root / "release")], ["obey"]],
    }
    config: dict[str, dict[str, Any]] = {
        "flood": {"max_output_bytes": 10_000},
        "failed": {
            "output": {
                "format": "json",
                "answer": "/text",
                "success": {"pointer": "/ok", "equals": True},
            }
        },
        "unsecret": {"secret_names": ["lost"]},
        "small": {"max_request_bytes": 300},
        "argument": {"prompt": "argument"},
        "sighted": {"images": {"mode": "file", "types": ["image/png"]}},
        "homeless": {"cwd": "../gone", "images": {"mode": "file", "dir": "working"}},
        "slow": {"timeout_seconds": 1, "kill_grace_seconds": 0.5},
    }
    bindings = {
        name: binding(stub(root, *lines, name=name), name=name, **config.get(name, {}))
        for name, lines in steps.items()
    }
    absent = {"argv": [str(root / "no-such-engine")], "cwd": "../folder"}
    bindings["absent"] = {"name": "absent", "executor": "command", "config": absent}
    return bindings


def _switched_off(root: Path) -> dict[str, Any]:
    """Return a scope that takes no turns, with a listener of its own."""
    engine = stub(root, ["obey"], name="off")
    scope: dict[str, Any] = document({"good": binding(engine)}, free_port())["scopes"][
        0
    ]
    scope |= {"id": "off", "enabled": False}
    scope["extensions"][0]["config"] |= {"scope": "off", "namespace": "off_chat"}
    return scope


@contextmanager
def _troubled(root: Path) -> Iterator[tuple[Service, int]]:
    """Run the daemon; also yields the port of a scope that is switched off."""
    (root / "fault").mkdir()
    (root / "fault" / "sitecustomize.py").write_text(FAULT, encoding="utf-8")
    config = document(
        _bindings(root),
        free_port(),
        chat={
            "queue_depth": 1,
            "start_within_seconds": 2,
            "body_idle_seconds": 2,
            "max_body_bytes": CAP,
            "max_image_bytes": 5000,
        },
        settings={"concurrency": 1},
        secret_refs={"lost": "env:NO_SUCH_VARIABLE"},
    )
    config["scopes"].append(_switched_off(root))
    service = prepared(
        root,
        config,
        environment={"PYTHONPATH": f"{root / 'fault'}{os.pathsep}{REPOSITORY}"},
    )
    (root / "gone").mkdir()
    service.start()
    (root / "gone").rmdir()
    try:
        yield service, config["scopes"][1]["extensions"][0]["config"]["port"]
    finally:
        (root / "release").touch()
        if service.process.poll() is None:
            service.process.kill()
            service.process.wait(10)


class _Collector:
    """Provokes what needs more than one request."""

    def __init__(self, service: Service, stack: ExitStack) -> None:
        self.refusals: dict[str, Refused] = {}
        self._service = service
        self._stack = stack
        self._threads = stack.enter_context(ThreadPoolExecutor(8))

    def send(self, data: bytes, port: int = 0) -> RawResponse:
        return exchange(port or self._service.port, data, timeout=60)

    def later(self, data: bytes) -> Future[RawResponse]:
        return self._threads.submit(self.send, data)

    def keep(self, name: str, status: int, code: str, response: RawResponse) -> None:
        self.refusals[name] = Refused(status, code, response)

    def opened(self, data: bytes) -> socket.socket:
        """Return a connection on which a part of a request was sent."""
        sock = self._stack.enter_context(connect(self._service.port, timeout=60))
        sock.sendall(data)
        return sock

    def half_closed(self) -> None:
        for name, status, code, data in (
            ("client gone", 502, "upstream_failure", chat("slow")),
            ("body cut", 400, "", declared("9") + b"{"),
        ):
            sock = self.opened(data)
            sock.shutdown(socket.SHUT_WR)
            self.keep(name, status, code, read_response(sock))

    def full(self, is_held: Callable[[], bool]) -> Future[RawResponse]:
        """Fill the slot and the queue; returns the turn that has the slot."""
        held = self.later(chat("held"))
        wait_until(is_held)
        waiting = self.later(chat("good"))
        # The queue is seen to be full before a body is read.
        wait_until(lambda: self.send(declared("0")).status == 429)
        began = time.monotonic()
        self.keep("queue full", 429, "overloaded", self.send(declared("1000")))
        assert time.monotonic() - began < 1, "declined without waiting for the body"
        self.keep("not started", 503, "overloaded", waiting.result(60))
        return held

    def crowded(self) -> None:
        large = self.opened(declared(str(CAP)) + b"{")
        wait_until(lambda: self.send(declared(str(CAP))).status == 503)
        self.keep("no memory", 503, "overloaded", self.send(declared(str(CAP))))
        large.close()
        stalled = [self.opened(declared("9") + b"{") for _ in range(16)]
        wait_until(lambda: self.send(post(b"{")).status == 503)
        self.keep("too many uploads", 503, "overloaded", self.send(post(b"{")))
        self.keep("stalled upload", 400, "", read_response(stalled[0]))
        for sock in stalled[1:]:
            read_response(sock)

    def stopping(self, held: Future[RawResponse]) -> None:
        half = self.opened(chat("good")[:-9])
        head = self.opened(chat("good")[:20])
        time.sleep(0.2)  # until both are accepted: nothing tells so from outside
        self._service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: " stopping " in self._service.log)
        for name, sock, rest in (
            ("stopping, body under way", half, chat("good")[-9:]),
            ("stopping, head under way", head, chat("good")[20:]),
        ):
            sock.sendall(rest)
            self.keep(name, 503, "overloaded", read_response(sock))
        self._service.process.send_signal(signal.SIGTERM)
        self.keep("stopped", 502, "upstream_failure", held.result(60))
        assert self._service.process.wait(20) == 0


def collected(root: Path) -> Collection:
    """Return every refusal of the chat listener, and a good answer of each route."""
    with ExitStack() as stack:
        service, off = stack.enter_context(_troubled(root))
        collector = _Collector(service, stack)
        for name, (status, code, data) in PLAIN.items():
            collector.keep(name, status, code, collector.send(data))
        collector.keep("switched off", 503, "overloaded", collector.send(chat(), off))
        collector.half_closed()
        collector.crowded()
        answers = {
            "models": collector.send(request("GET", MODELS, token=TOKEN)),
            "turn": collector.send(chat()),
        }
        held = collector.full(lambda: any((root / "records-held").glob("*.json")))
        collector.stopping(held)
        return Collection(
            refusals=collector.refusals,
            answers=answers,
            log=service.log,
            records={name: root / f"records-{name}" for name in _bindings(root)},
        )
