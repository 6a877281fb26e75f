"""The app's own way with the lane, over the connections that its system keeps."""

from __future__ import annotations

import http.client
import re
import secrets
import ssl
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.support.lane import Lane, believed, told
from tests.support.service import Service

ALLPROP = (
    b'<?xml version="1.0" encoding="utf-8"?>'
    b'<d:propfind xmlns:d="DAV:"><d:allprop/></d:propfind>'
)
XML = "application/xml; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as the app sees it."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


class Counted(http.client.HTTPConnection):
    """Counts how often it had to connect."""

    count = 0

    def connect(self) -> None:
        self.count += 1
        super().connect()


class CountedSecure(http.client.HTTPSConnection):
    """The same, over TLS."""

    count = 0

    def connect(self) -> None:
        self.count += 1
        super().connect()


class App:
    """The app's half of the lane.

    Args:
        lane: Where it is, with its credentials.
        secure: The port of a front on ``localhost``, with the certificates to
            trust; the lane itself is asked without.
    """

    def __init__(
        self, lane: Lane, secure: tuple[int, ssl.SSLContext] | None = None
    ) -> None:
        self.connection: Counted | CountedSecure
        if secure is None:
            self.connection = Counted("127.0.0.1", lane.port, timeout=15)
        else:
            port, trusted = secure
            self.connection = CountedSecure(
                "localhost", port, timeout=15, context=trusted
            )
        self._headers = dict(lane.credentials)

    def call(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> Reply:
        fields = {name.replace("_", "-"): text for name, text in headers.items()}
        address = quote(f"/{path}")
        self.connection.request(method, address, body, self._headers | fields)
        answer = self.connection.getresponse()
        return Reply(answer.status, answer.headers, answer.read())

    def look(self, path: str, depth: int) -> Reply:
        return self.call("PROPFIND", path, ALLPROP, Depth=str(depth), Content_Type=XML)

    def is_absent(self, path: str) -> bool:
        """Say whether a collection is a definite miss; anything else is no answer."""
        return self.look(path, 0).status == 404

    def exists(self, path: str) -> bool:
        """Probe a file with one byte, and the lane with a file that is nowhere."""
        found = self._probe(path)
        if found.status == 206:
            span = re.fullmatch(r"bytes 0-0/\d+", found.headers["Content-Range"])
            assert span
            assert len(found.body) == 1
        elif found.status == 416:
            assert found.headers["Content-Range"] == "bytes */0"
        elif found.status != 200:
            return False
        assert "Content-Encoding" not in found.headers
        assert path.endswith("html") or "html" not in found.headers["Content-Type"]
        absent = f"__conduck_absent_{secrets.token_hex(8)}.txt"
        return self._probe(absent).status == 404

    def _probe(self, path: str) -> Reply:
        return self.call("GET", path, Range="bytes=0-0", Accept_Encoding="identity")

    def upload(self, conversation: str, name: str, body: bytes) -> str:
        """Upload a file into its conversation's folder; return its path."""
        self.call("MKCOL", conversation)
        path = f"{conversation}/{secrets.token_hex(4)}__{name}"
        answer = self.put(path, body)
        if answer.status == 409:
            self.call("MKCOL", conversation)
            answer = self.put(path, body)
        assert answer.is_good, answer.status
        return path

    def put(self, path: str, body: bytes) -> Reply:
        return self.call("PUT", path, body, Content_Type="application/octet-stream")

    def listing(self, path: str) -> list[str]:
        """Return the files of an outbound folder; the lane must be able to say no."""
        answer = self.look(path, 1)
        if answer.status == 404:
            return []
        assert answer.status == 207
        conversation = path.partition("/")[0]
        assert self.is_absent(f"{conversation}/__conduck_absent_{secrets.token_hex(8)}")
        return believed(path, answer.body)


def self_test(app: App) -> None:
    """Do what "Test Connection" does."""
    tag = secrets.token_hex(4)
    file, folder = f"__conduck_probe_{tag}.txt", f"__conduck_probe_{tag}__"
    assert app.put(file, b"conduck-probe").is_good
    read = app.call("GET", file)
    assert (read.status, read.body) == (200, b"conduck-probe")
    assert app.call("DELETE", file).is_good
    made = app.call("MKCOL", folder)
    assert made.status == 201
    assert app.put(f"{folder}/{tag}.txt", b"conduck-nested-probe").is_good
    assert app.call("GET", f"{folder}/{tag}.txt").body == b"conduck-nested-probe"
    assert app.call("DELETE", f"{folder}/{tag}.txt").is_good
    assert app.call("DELETE", f"{folder}/").is_good
    assert app.look("", 0).status == 207
    assert app.is_absent(f"__conduck_absent_{secrets.token_hex(8)}")


def chat_turn(service: Service, sent: str, path: str) -> str:
    """Take a turn whose engine reads what was sent and hands files back."""
    steps: list[list[Any]] = [
        ["cat", sent],
        ["make", path],
        ["write", f"{path}/report.csv", "a,b\n1,2\n"],
        ["write", f"{path}/the blue whale.MD", "# Größe 🐳\n"],
        ["write", f"{path}/notes.bin", "\0"],
        ["write", f"{path}/scratch/not this.txt", "x"],
    ]
    listed = (
        "The following file(s) are in your working directory \N{EM DASH} use them "
        f'for this request:\n- "in.txt" (saved as {sent})'
    )
    return service.chat(told(*steps, path=path, text=listed))
