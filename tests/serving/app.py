"""A small WSGI application and a dialect, to serve something in tests."""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from conduck_service.serving.body import (
    Body,
    BodyCut,
    BodyMalformed,
    BodyStalled,
    BodyTooLarge,
)
from conduck_service.serving.dialect import Cause, Refusal, Response
from conduck_service.serving.sending import FileRange

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

TOKEN = "correct-horse"
BODY_LIMIT = 64 * 1024 * 1024
JSON = ("Content-Type", "application/json")

STATUS = {
    Cause.UNAUTHORIZED: "401 Unauthorized",
    Cause.BAD_REQUEST: "400 Bad Request",
    Cause.INTERNAL: "500 Internal Server Error",
}


class JsonDialect:
    """Refusals as small JSON objects."""

    def refusal(self, refusal: Refusal) -> Response:
        text = {"error": refusal.cause.value, "message": refusal.message}
        return Response(
            status=STATUS[refusal.cause],
            headers=(JSON,),
            body=json.dumps(text).encode(),
        )


class App:
    """Answers a few paths; notes what the tests ask about.

    Attributes:
        running: Requests that are inside the application.
        left: Set when ``/wait`` has seen its peer leave.
        go: Ends ``/hold``.
        growths: What the last body was announced to grow to.
        file: What ``/file?OFFSET,SIZE,LENGTH`` sends a range of.
        closed: Set when the last range was closed.
    """

    def __init__(self) -> None:
        self.running = 0
        self.left = threading.Event()
        self.go = threading.Event()
        self.growths: list[int] = []
        self.file = Path("/nowhere")
        self.closed = threading.Event()
        self._lock = threading.Lock()

    def __call__(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        with self._lock:
            self.running += 1
        try:
            return self._answer(environ, start_response)
        finally:
            with self._lock:
                self.running -= 1

    def _answer(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        handlers: dict[str, Callable[[WSGIEnvironment, StartResponse], object]] = {
            "/ok": lambda _environ, _start: "ok",
            "/body": self._body,
            "/spool": _spool,
            "/hold": lambda _environ, _start: self.go.wait(20),
            "/wait": self._wait,
            "/env": _env,
            "/fail": _fail,
            "/exit": _exit,
        }
        path = environ["PATH_INFO"]
        if path in RAW:
            return RAW[path](start_response)
        if path == "/file":
            return self._file(environ, start_response)
        handler = handlers.get(path)
        if handler is None:
            return _json(start_response, {"path": path}, "404 Not Found")
        try:
            return _json(start_response, handler(environ, start_response))
        except (BodyCut, BodyMalformed, BodyStalled, BodyTooLarge) as error:
            status = "413 Content Too Large" if isinstance(error, BodyTooLarge) else ""
            return _json(
                start_response,
                {"body": type(error).__name__},
                status or "400 Bad Request",
            )

    def _body(self, environ: WSGIEnvironment, _start: StartResponse) -> object:
        body: Body = environ["conduck.body"]
        limit = int(environ["QUERY_STRING"] or BODY_LIMIT)
        self.growths = []
        data = body.read_all(limit, on_growth=self.growths.append)
        return {
            "length": len(data),
            "sum": sum(data[:1000]),
            "framed": body.framed,
            "complete": body.complete,
            "received": body.received,
        }

    def _file(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> FileRange:
        offset, size, length = map(int, environ["QUERY_STRING"].split(","))
        result = FileRange(os.open(self.file, os.O_RDONLY), offset, size)
        result.on_close(self.closed.set)
        start_response("200 OK", [("Content-Length", str(length))])
        return result

    def _wait(self, environ: WSGIEnvironment, _start: StartResponse) -> object:
        deadline = time.monotonic() + 20
        while not environ["conduck.client_gone"]():
            if self.go.is_set() or time.monotonic() > deadline:
                return "still there"
            time.sleep(0.005)
        self.left.set()
        return "left"


def _json(
    start_response: StartResponse, value: object, status: str = "200 OK"
) -> list[bytes]:
    text = json.dumps(value).encode()
    start_response(status, [JSON, ("Content-Length", str(len(text)))])
    return [text]


def _spool(environ: WSGIEnvironment, _start: StartResponse) -> object:
    with tempfile.TemporaryFile() as file:
        size = environ["conduck.body"].read_to(file.fileno(), BODY_LIMIT)
        return {"length": size, "stored": os.fstat(file.fileno()).st_size}


def _env(environ: WSGIEnvironment, _start: StartResponse) -> object:
    return {name: value for name, value in environ.items() if isinstance(value, str)}


def _fail(environ: WSGIEnvironment, _start: StartResponse) -> object:
    raise ValueError(environ["QUERY_STRING"])


def _exit(_environ: WSGIEnvironment, _start: StartResponse) -> object:
    raise SystemExit("the application wants to leave")


def _late(start_response: StartResponse) -> Iterator[bytes]:
    start_response("200 OK", [("Content-Length", "20")])
    yield b"half of it"
    raise ValueError("the rest is missing")


def _early(start_response: StartResponse) -> Iterator[bytes]:
    start_response("200 OK", [("Content-Length", "20")])
    yield b""
    raise ValueError("before the first byte")


def _plain(status: str, *headers: tuple[str, str], body: bytes = b"text") -> RawHandler:
    def answer(start_response: StartResponse) -> Iterable[bytes]:
        start_response(status, list(headers))
        return [body]

    return answer


def _stream(start_response: StartResponse) -> Iterator[bytes]:
    start_response("200 OK", [])
    yield from (b"one ", b"", b"two ", b"three")


if TYPE_CHECKING:
    RawHandler = Callable[[StartResponse], Iterable[bytes]]

RAW: dict[str, RawHandler] = {
    "/late": _late,
    "/early": _early,
    "/stream": _stream,
    "/none": _plain("204 No Content", ("Content-Length", "4")),
    "/inject": _plain("200 OK", ("X-Name", "a\r\nX-Forged: b")),
    "/inject-name": _plain("200 OK", ("X-Name\r\nX-Forged", "b")),
    "/inject-status": _plain("200 OK\r\nX-Forged: b"),
    "/keep": _plain("200 OK", ("Connection", "keep-alive"), ("Content-Length", "4")),
    "/closing": _plain("200 OK", ("Connection", "close"), ("Content-Length", "4")),
    "/short": _plain("200 OK", ("Content-Length", "9")),
    "/long": _plain("200 OK", ("Content-Length", "2")),
    "/unmeasured": _plain("200 OK"),
    "/nothing": _plain("200 OK", body=b""),
    "/silent": lambda _start_response: [],
    "/large": _plain("200 OK", body=bytes(32 * 1024 * 1024)),
}
"""Answers that are written by hand, most of them badly."""
