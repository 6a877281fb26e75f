"""The file lane of a running service, seen as its clients see it.

with serving_files(tmp_path) as service:
    lane = Lane.of(service)
    assert lane.put("/a.txt", b"x").status == 201
"""

from __future__ import annotations

import base64
import json
import re
import secrets
import socket
import unicodedata
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes
from xml.etree import ElementTree

import requests

from tests.support.raw_http import RawResponse, connect, exchange, request
from tests.support.service import (
    PASSWORD,
    Service,
    Stub,
    free_port,
    running,
    stub,
    user,
)

Headers = Iterable[tuple[str, str]]

CONVERSATION = "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
OUTBOUND = f"{CONVERSATION}/out-00112233445566778899aabbccddeeff"
DIRECTIVE = "[Conduck file transfer] Files you produce for this reply go in: "

METHODS = (
    "OPTIONS", "GET", "HEAD", "PUT", "DELETE", "MKCOL", "COPY", "MOVE",
    "PROPFIND", "PROPPATCH", "LOCK", "UNLOCK",
)  # fmt: skip
"""Everything that the lane knows."""

_ROWS = 200
_LISTING_BYTES = 262_144
_D = "{DAV:}"


class ListingRefused(Exception):  # noqa: N818 - named for what happened
    """Raised when the app would not believe a listing."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a listing.

    Attributes:
        href: As it came.
        properties: Local name to text, of those that were found.
        is_folder: Whether its resource type is a collection.
    """

    href: str
    properties: Mapping[str, str]
    is_folder: bool

    @property
    def name(self) -> str:
        """The last step of its path, decoded."""
        last = self.href.rstrip("/").rpartition("/")[2]
        return unquote_to_bytes(last).decode("utf-8")


@dataclass(frozen=True, slots=True)
class Lane:
    """A client of the lane that opens a connection for each request.

    Attributes:
        port: Of the lane.
        folder: The shared folder on the disk.
        user: For the Authorization header; None sends none.
    """

    port: int
    folder: Path
    user: str | None = "conduck"
    password: str = field(default=PASSWORD, repr=False)

    @classmethod
    def of(cls, service: Service) -> Lane:
        """Return the lane of a service."""
        return cls(service.files_port, service.folder)

    @property
    def credentials(self) -> list[tuple[str, str]]:
        """The Authorization header, if one is sent."""
        if self.user is None:
            return []
        pair = f"{self.user}:{self.password}".encode()
        return [("Authorization", f"Basic {base64.b64encode(pair).decode()}")]

    def head(self, method: str, target: str, *, headers: Headers = ()) -> bytes:
        """Return a request without a body; its connection closes after it."""
        fields = [("Connection", "close"), *self.credentials, *headers]
        return request(method, target, headers=fields)

    def send(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        *,
        headers: Headers = (),
        timeout: float = 20.0,
    ) -> RawResponse:
        """Send one request; the target goes out as it is."""
        fields = [("Connection", "close"), *self.credentials, *headers]
        data = request(method, target, headers=fields, body=body)
        return exchange(self.port, data, timeout=timeout)

    def own_folder(self) -> str:
        """Make a folder that no other test has; return its path in the lane."""
        path = f"/own-{secrets.token_hex(6)}"
        self.at(path).mkdir()
        return path

    def at(self, path: str) -> Path:
        """Return where a path of the lane is on the disk."""
        return self.folder / path.strip("/")

    def begin_put(
        self, path: str, size: int, first: bytes, *, headers: Headers = ()
    ) -> socket.socket:
        """Begin a PUT of that many bytes and return the open connection.

        The server has taken its head and waits for the rest when this returns.
        """
        fields = [("Content-Length", str(size)), ("Expect", "100-continue")]
        fields += [("Connection", "close"), *self.credentials, *headers]
        sock = connect(self.port)
        sock.sendall(request("PUT", target_of(path), headers=fields))
        asked = sock.recv(25)
        assert asked == b"HTTP/1.1 100 Continue\r\n\r\n", asked
        sock.sendall(first)
        return sock

    def put(self, path: str, body: bytes, **options: Any) -> RawResponse:
        """PUT a body; the path is percent-encoded here."""
        return self.send("PUT", target_of(path), body, **options)

    def get(self, path: str, **options: Any) -> RawResponse:
        """GET a path, which is percent-encoded here."""
        return self.send("GET", target_of(path), **options)

    def delete(self, path: str, **options: Any) -> RawResponse:
        """DELETE a path, which is percent-encoded here."""
        return self.send("DELETE", target_of(path), **options)

    def mkcol(self, path: str, **options: Any) -> RawResponse:
        """MKCOL a path, which is percent-encoded here."""
        return self.send("MKCOL", target_of(path), **options)

    def move(self, path: str, to: str, headers: Headers = ()) -> RawResponse:
        """MOVE a path to another; both are percent-encoded here."""
        fields = [("Destination", target_of(to)), *headers]
        return self.send("MOVE", target_of(path), headers=fields)

    def copy(self, path: str, to: str, headers: Headers = ()) -> RawResponse:
        """COPY a path to another; both are percent-encoded here."""
        fields = [("Destination", target_of(to)), *headers]
        return self.send("COPY", target_of(path), headers=fields)

    def propfind(
        self, path: str, depth: str | None = "1", body: bytes = b"", **options: Any
    ) -> RawResponse:
        """PROPFIND a path, which is percent-encoded here."""
        headers = [*options.pop("headers", ())]
        if depth is not None:
            headers.append(("Depth", depth))
        return self.send("PROPFIND", target_of(path), body or None, headers=headers)

    def rows(self, path: str, depth: str = "1", body: bytes = b"") -> list[Row]:
        """Return the rows of a listing, the folder's own first."""
        answer = self.propfind(path, depth, body)
        assert answer.status == 207, (answer.status, answer.body)
        return rows_of(answer.body)

    def names(self, path: str) -> list[str]:
        """Return what is listed in a folder, in the order of the listing."""
        return [row.name for row in self.rows(path)[1:]]

    def seen_by_app(self, path: str) -> list[str]:
        """Return the files that the app would take from an outbound folder.

        Raises:
            ListingRefused: It would take none.
        """
        answer = self.propfind(path)
        assert answer.status == 207, (answer.status, answer.body)
        return believed(path, answer.body)


def target_of(path: str) -> str:
    """Return a path as a request target, percent-encoded and from the root on."""
    return quote(path if path.startswith("/") else f"/{path}")


def rows_of(body: bytes) -> list[Row]:
    """Return the rows of a multistatus; it must be well-formed."""
    root = ElementTree.fromstring(body)  # noqa: S314 - our own answer
    assert root.tag == f"{_D}multistatus"
    return [_row(item) for item in root]


def _row(item: ElementTree.Element) -> Row:
    found: dict[str, str] = {}
    is_folder = False
    for propstat in item.iterfind(f"{_D}propstat"):
        if " 200 " not in (propstat.findtext(f"{_D}status") or ""):
            continue
        for element in propstat.iterfind(f"{_D}prop/*"):
            found[element.tag.removeprefix(_D)] = element.text or ""
            if element.tag == f"{_D}resourcetype":
                is_folder = element.find(f"{_D}collection") is not None
    return Row(item.findtext(f"{_D}href") or "", found, is_folder)


def believed(path: str, body: bytes) -> list[str]:
    """Return the files of a listing, judged as strictly as the app judges it."""
    if not body or len(body) > _LISTING_BYTES or b"<!" in body:
        raise ListingRefused("size or declarations")
    root = ElementTree.fromstring(body)  # noqa: S314 - our own answer
    if len(root) > _ROWS or any(item.tag != f"{_D}response" for item in root):
        raise ListingRefused("rows")
    names: list[str] = []
    for item in root:
        hrefs = item.findall(f"{_D}href")
        if len(hrefs) != 1 or not re.fullmatch("[!-~]+", hrefs[0].text or ""):
            raise ListingRefused("href")
        row = _row(item)
        _check_href(path, row)
        if not row.is_folder and row.properties:
            names.append(row.name)
    _check_twins(names)
    return names


def _check_href(path: str, row: Row) -> None:
    base = quote("/" + path.strip("/"))
    steps = row.href.rstrip("/").split("/")
    decoded = [unquote_to_bytes(step) for step in steps]
    if any(set(step) & set(b"/\\\0") or step in (b".", b"..") for step in decoded):
        raise ListingRefused("step")
    if row.href.rstrip("/") != base and "/".join(steps[:-1]) != base:
        raise ListingRefused("place")


def _check_twins(names: list[str]) -> None:
    if len({unicodedata.normalize("NFC", name) for name in names}) != len(names):
        raise ListingRefused("twins")


def new_conversation() -> str:
    """Return the name of a conversation's folder, as the app makes one up."""
    return str(uuid.uuid4()).upper()


def new_outbound(conversation: str | None = None) -> str:
    """Return a path as the app makes one up for one turn."""
    return f"{conversation or new_conversation()}/out-{secrets.token_hex(16)}"


def told(*steps: list[Any], path: str | None = None, text: str = "") -> str:
    """Return a message with steps for an engine that does ``["follow"]``.

    Args:
        steps: See stub_engine.py.
        path: For the line that names a folder for files, which is the last one.
        text: More text before that line.
    """
    lines = [f"do: {json.dumps(step)}" for step in steps] + [text] * bool(text)
    message = "\n".join(lines)
    return message if path is None else f"{message}\n\n{DIRECTIVE}{path}"


def file_turn(
    service: Service, path: str, *steps: list[Any], **extra: Any
) -> requests.Response:
    """Take a turn whose message names a folder for files and steps to do."""
    return service.turn(user(told(*steps, path=path)), **extra)


@contextmanager
def serving_files(
    root: Path,
    engine: Stub | None = None,
    *,
    files: Mapping[str, Any] | None = None,
    **options: Any,
) -> Iterator[Service]:
    """Run a daemon with a file lane for the block.

    Args:
        root: An empty folder.
        engine: The engine of its chat; one that obeys when left out, and does
            the steps that a message tells it (see :func:`told`).
        files: More keys of the lane's config.
        options: As for ``running``.
    """
    config = {"port": free_port(), **(files or {})}
    if engine is None and "bindings" not in options:
        engine = stub(root, ["follow"], ["obey"])
    with running(root, engine, files=config, **options) as service:
        yield service
