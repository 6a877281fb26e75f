"""Fronts that stand between the app and the service, good ones and others."""

from __future__ import annotations

import http.client
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.lane import METHODS

_OWN = {"connection", "transfer-encoding", "content-length", "server", "date"}


class Front(BaseHTTPRequestHandler):
    """A proxy that passes on to the service, unless it is told otherwise."""

    port: int
    refuses: int = 0
    refuses_method: str = ""
    most_bytes: int | None = None
    drops_authorization: bool = False
    seen: list[str]

    def log_message(self, *_: Any) -> None:
        pass

    def handle_any(self) -> None:
        if "Authorization" in self.headers:
            self.seen.append(self.headers["Authorization"])
        length = int(self.headers.get("Content-Length", 0))
        status = self.refuses or (405 if self.command == self.refuses_method else 0)
        if status or length > (self.most_bytes or length):
            self.close_connection = True
            self.send_response(status or 413)
            self.send_header("Content-Length", "0")
            self.send_header("Connection", "close")
            self.end_headers()
            return
        self.pass_on(length)

    def pass_on(self, length: int) -> None:
        headers = dict(self.headers)
        if self.drops_authorization:
            headers.pop("Authorization", None)
        server = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        server.request(self.command, self.path, self.rfile.read(length), headers)
        answer = server.getresponse()
        body = answer.read()
        server.close()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _OWN:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def front(
    port: int,
    *,
    tls: ssl.SSLContext | None = None,
    seen: list[str] | None = None,
    **options: Any,
) -> Iterator[str]:
    """Run a front of a port for the block, which is told its address.

    Args:
        port: Of the service.
        tls: Speak HTTPS.
        seen: Gets every Authorization header that comes.
        options: Attributes of :class:`Front`.
    """
    told = {"port": port, "seen": [] if seen is None else seen, **options}
    methods = {f"do_{method}": Front.handle_any for method in (*METHODS, "POST")}
    handler = type("Told", (Front,), methods | told)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        if tls:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            name = "https://localhost" if tls else "http://127.0.0.1"
            yield f"{name}:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
