"""Listeners that do one thing wrong, in the place of those of a service."""

from __future__ import annotations

import base64
import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.service import PASSWORD, PIXEL, TOKEN

REFUSAL = b'{"error":{"message":"no","type":"invalid_request_error"}}'
MODELS = b'{"object":"list","data":[{"id":"agent","object":"model"}]}'


class Liar(BaseHTTPRequestHandler):
    """Answers like the service, but for one lie."""

    lie = ""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def read(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def send(
        self, status: int, body: bytes = b"", kind: str = "application/json"
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if self.lie != "keeps":
            self.send_header("Connection", "close")
            self.close_connection = True
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.end_headers()
            self.wfile.write(body)


class LyingChat(Liar):
    """A chat listener."""

    def do_GET(self) -> None:
        is_owner = self.headers.get("Authorization") == f"Bearer {TOKEN}"
        if not is_owner and self.lie != "open":
            self.send(401, REFUSAL)
        elif self.path == "/v1/models":
            self.send(200, b'{"data":[]}' if self.lie == "shape" else MODELS)
        else:
            self.send(404, REFUSAL)

    def do_POST(self) -> None:
        is_owner = self.headers.get("Authorization") == f"Bearer {TOKEN}"
        if not is_owner:
            self.send(401, REFUSAL)  # and the body stays where it is
            return
        self.read()
        self.send(413 if self.lie == "body" else 400, REFUSAL)


class LyingLane(Liar):
    """A file lane over a folder."""

    root: Path

    @property
    def place(self) -> Path:
        return self.root / self.path.strip("/")

    def is_owner(self) -> bool:
        self.body = self.read()
        pair = base64.b64encode(f"conduck:{PASSWORD}".encode()).decode()
        given = self.headers.get("Authorization")
        if self.lie == "open" or given == f"Basic {pair}":
            return True
        self.send(401)
        return False

    def do_GET(self) -> None:
        if not self.is_owner():
            return
        hidden = self.lie == "stale" and "fresh" in self.path
        if hidden or not self.place.is_file():
            self.send(404)
        else:
            content = self.place.read_bytes()
            self.send(200, PIXEL.encode() if self.lie == "bytes" else content)

    def do_PUT(self) -> None:
        if not self.is_owner():
            return
        if self.lie == "write":
            self.send(403)
            return
        self.place.write_bytes(self.body)
        self.place.chmod(0o644 if self.lie == "modes" else 0o600)
        self.send(201)

    def do_MKCOL(self) -> None:
        if self.is_owner():
            self.place.mkdir(mode=0o700)
            self.send(201)

    def do_DELETE(self) -> None:
        if not self.is_owner():
            return
        if self.lie != "delete" and self.place.is_file():
            self.place.unlink()
        elif self.lie != "delete" and self.place.is_dir():
            for file in self.place.iterdir():
                file.unlink()
            self.place.rmdir()
        self.send(204)

    def do_PROPFIND(self) -> None:
        if not self.is_owner():
            return
        if not self.place.exists() and self.lie != "catch_all":
            self.send(404)
            return
        entries = sorted(self.place.iterdir()) if self.place.is_dir() else []
        shown = (
            [] if self.lie == "listing" else [f"{self.path}/{x.name}" for x in entries]
        )
        self.send(207, "\n".join(shown).encode())


@contextmanager
def lying(kind: type[Liar], port: int, lie: str, **more: Any) -> Iterator[None]:
    """Let a listener tell its lie on a port during the block."""
    handler = type("Telling", (kind,), {"lie": lie, **more})
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
