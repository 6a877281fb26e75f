"""A model server for tests: loopback, scripted, with a record of what it was sent.

with model_server(Reply("pong")) as server:
    ...ask ``server.url`` + "/v1/chat/completions"...
    assert server.only.json["messages"][0]["content"] == "ping"

A script is replies in their order, the last one for all that follow; an element may
be a function from the request to a reply instead. Each protocol is a dialect: it
says which paths it answers and how a reply looks, whole and in pieces.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from tests.support.model_chat import ChatDialect
from tests.support.model_gemini import GeminiDialect
from tests.support.model_messages import MessagesDialect
from tests.support.model_reply import Reply
from tests.support.model_responses import ResponsesDialect

LOOK_SECONDS = 0.02
"""Between two looks at a client that is kept waiting."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came.

    Attributes:
        headers: By names in lower case.
        gone: Is set when the client closed the connection before the end of its
            reply.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    gone: threading.Event = field(default_factory=threading.Event)

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


Step = Reply | Callable[[Asked], Reply]


class Dialect(Protocol):
    """A protocol that models are asked in."""

    def takes(self, path: str) -> bool:
        """Say whether a POST to the path is in this dialect."""
        ...

    def is_streamed(self, path: str, asked: Any) -> bool:
        """Say whether the answer to this parsed body is wanted in pieces."""
        ...

    def whole(self, reply: Reply, asked: Any) -> Any:
        """Return the body of an answer, as JSON."""
        ...

    def events(self, reply: Reply, asked: Any) -> Iterator[bytes]:
        """Yield the pieces of an answer as they go over the wire."""
        ...

    def error(self, reply: Reply) -> Any:
        """Return the body of an error status, as JSON."""
        ...


DIALECTS: tuple[Dialect, ...] = (
    ChatDialect(),
    MessagesDialect(),
    ResponsesDialect(),
    GeminiDialect(),
)


class ModelServer:
    """A running server.

    Attributes:
        asked: The requests so far, those for lists of models included.
        script: The steps that are left; tests may replace it.
    """

    def __init__(self, *script: Step, tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        self.script = list(script) or [Reply()]
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.model = self
        if tls is not None:
            self._http.socket = tls.wrap_socket(
                self._http.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,))

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        port: int = self._http.server_address[1]
        return port

    @property
    def url(self) -> str:
        """The base address, without ``/v1``."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def only(self) -> Asked:
        """The one request that there was."""
        (asked,) = self.asked
        return asked

    def play(self, *script: Step) -> None:
        """Forget the requests so far and begin a new script."""
        with self._lock:
            self.asked = []
            self.script = list(script) or [Reply()]

    def next_reply(self, asked: Asked) -> Reply:
        """Note a request and return what it gets."""
        with self._lock:
            self.asked.append(asked)
            step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return step if isinstance(step, Reply) else step(asked)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """End; clients that are kept waiting are left alone with it."""
        self.stopping.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    model: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that leave, or do not trust us."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer with the list of models."""
        self.server.model.asked.append(self._read())
        listed = {"object": "list", "data": [{"id": "stub", "object": "model"}]}
        self._send(200, json.dumps(listed).encode())

    def do_POST(self) -> None:
        """Answer as the script says."""
        asked = self._read()
        reply = self.server.model.next_reply(asked)
        with contextlib.suppress(ConnectionError):
            self._answer(asked, reply)

    def _read(self) -> Asked:
        size = int(self.headers.get("Content-Length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Asked(self.command, self.path, headers, self.rfile.read(size))

    def _answer(self, asked: Asked, reply: Reply) -> None:
        if reply.fault == "hold" and not reply.gate.is_set():
            self._wait(asked, reply.gate)
        if asked.gone.is_set() or reply.fault == "drop":
            self.close_connection = True
            return
        if reply.fault in ("dribble", "endless", "dribble_head"):
            self._go_on(asked, reply.fault)
            return
        path = asked.path.partition("?")[0]
        dialect = next((item for item in DIALECTS if item.takes(path)), None)
        if dialect is None:
            self._send(404, b'{"error": {"message": "no such path"}}')
        elif reply.body is not None:
            self._send(reply.status, reply.body, reply)
        elif reply.status != 200:
            self._send(reply.status, json.dumps(dialect.error(reply)).encode(), reply)
        elif dialect.is_streamed(path, asked.json):
            self._stream(dialect.events(reply, asked.json), reply)
        else:
            whole = json.dumps(dialect.whole(reply, asked.json), ensure_ascii=False)
            self._send(200, whole.encode("utf-8", "surrogatepass"), reply)

    def _send(self, status: int, body: bytes, reply: Reply | None = None) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": "application/json",
            **(reply.headers if reply else {}),
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if reply is not None and reply.fault == "drop_mid":
            body = body[: len(body) // 2]
            self.close_connection = True
        self.wfile.write(body)

    def _stream(self, events: Iterator[bytes], reply: Reply) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        pieces = list(events)
        if reply.fault == "drop_mid":
            pieces = pieces[: len(pieces) // 2]
        for piece in pieces:
            self._chunk(piece)
        if reply.fault == "drop_mid":
            self.close_connection = True
        else:
            self._chunk(b"")

    def _chunk(self, piece: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))

    def _go_on(self, asked: Asked, fault: str) -> None:
        """Send a response that never ends, slowly or as fast as it is taken."""
        self.close_connection = True
        if fault == "dribble_head":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        else:
            self.wfile.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                b"Connection: close\r\n\r\n"
            )
        never = threading.Event()
        piece = b" " * 65536 if fault == "endless" else b"a"
        try:
            while not self.server.model.stopping.is_set():
                self.wfile.write(piece)
                if fault != "endless":
                    never.wait(LOOK_SECONDS)
        except OSError:
            asked.gone.set()

    def _wait(self, asked: Asked, gate: threading.Event) -> None:
        """Keep the client waiting until the gate opens or the client has gone."""
        while not gate.wait(LOOK_SECONDS) and not self.server.model.stopping.is_set():
            readable, _, _ = select.select([self.connection], [], [], 0)
            if readable and not self._peek():
                asked.gone.set()
                return

    def _peek(self) -> bytes:
        try:
            return bytes(self.connection.recv(1, socket.MSG_PEEK))
        except OSError:
            return b""


@contextmanager
def model_server(
    *script: Step, tls: ssl.SSLContext | None = None
) -> Iterator[ModelServer]:
    """Run a server with a script for the block; with ``tls`` it speaks that."""
    server = ModelServer(*script, tls=tls)
    server.start()
    try:
        yield server
    finally:
        server.stop()
