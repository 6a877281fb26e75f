"""A plain HTTP client: one connection a request, no proxy, no redirect, no cookie."""

from __future__ import annotations

import base64
import contextlib
import http.client
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import urlsplit

from conduck_service.base.jsonio import JsonError, JsonValue, parse

SECONDS = 30.0
"""How long an answer may take that needs no turn."""

MOST_BYTES = 16 << 20
"""The app reads no more of an answer."""


class Silence(Enum):
    """Why there is no answer."""

    NO_NAME = "the name of the host is not known"
    NOBODY = "nobody listens there"
    TLS = "the certificate or the encryption is not accepted"
    TIMEOUT = "no answer in time"
    CLOSED = "the connection was closed without an answer"
    NO_WAY = "the host cannot be reached"
    NO_REQUEST = "it cannot be asked this"


class PeerError(Exception):
    """Raised when there is no answer at all; the text says why in a few words.

    Attributes:
        why: The same for programs.
        detail: What more is known.
    """

    def __init__(self, why: Silence, detail: str = "") -> None:
        super().__init__(f"{why.value}: {detail}" if detail else why.value)
        self.why = why
        self.detail = detail


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer.

    Attributes:
        status: Its code.
        headers: By name in small letters; of several the last.
        body: At most 16 MiB of it.
        seconds: From the first byte sent to the last one received.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    seconds: float

    @property
    def media_type(self) -> str:
        """The media type without its parameters, in small letters."""
        kind = self.headers.get("content-type", "")
        return kind.partition(";")[0].strip().lower()

    @property
    def json(self) -> JsonValue:
        """The body as strict JSON; None when it is none."""
        try:
            return parse(self.body.decode())
        except (JsonError, UnicodeDecodeError):
            return None

    @property
    def error(self) -> dict[str, JsonValue] | None:
        """The error object of a refusal; None when it has not the shape of one."""
        value = self.json
        error = value.get("error") if isinstance(value, dict) else None
        if not isinstance(error, dict):
            return None
        texts = (error.get("message"), error.get("type"))
        return error if all(isinstance(item, str) and item for item in texts) else None

    @property
    def code(self) -> str:
        """The code of the error; empty without one."""
        code = (self.error or {}).get("code")
        return code if isinstance(code, str) else ""


@dataclass(frozen=True, slots=True)
class Peer:
    """A server at an address.

    Attributes:
        base: Such as ``http://127.0.0.1:8480``, perhaps with a path.
        authorization: Value of the header of that name; none when it is empty.
    """

    base: str
    authorization: str = field(default="", repr=False)

    def with_token(self, token: str) -> Peer:
        """Return the same server, asked with a bearer token."""
        return Peer(self.base, f"Bearer {token}")

    def with_password(self, password: str, user: str = "conduck") -> Peer:
        """Return the same server, asked as the app asks its file lane."""
        pair = f"{user}:{password}".encode("utf-8", "surrogateescape")
        return Peer(self.base, f"Basic {base64.b64encode(pair).decode('ascii')}")

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        seconds: float = SECONDS,
    ) -> Reply:
        """Send a request and return the answer.

        An answer that comes before the whole body was sent counts as well.

        Raises:
            PeerError: There is none.
        """
        with contextlib.closing(self.connect(seconds)) as connection:
            return self.exchange(connection, method, path, body, headers)

    def connect(self, seconds: float = SECONDS) -> http.client.HTTPConnection:
        """Return a connection that is opened by the first request."""
        parts = urlsplit(self.base)
        host, port = parts.hostname or "", parts.port
        if parts.scheme == "https":
            trusted = ssl.create_default_context()
            return http.client.HTTPSConnection(
                host, port, timeout=seconds, context=trusted
            )
        return http.client.HTTPConnection(host, port, timeout=seconds)

    def exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send a request over a connection and return the answer.

        Raises:
            PeerError: There is none.
        """
        fields: dict[str, str | bytes] = dict(headers or {})
        if self.authorization:
            # Bytes, since a token from a variable need not be UTF-8.
            value = self.authorization.encode("utf-8", "surrogateescape")
            fields["Authorization"] = value
        target = urlsplit(self.base).path.rstrip("/") + path
        begin = time.monotonic()
        try:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, target, body, fields)
            response = connection.getresponse()
            content = response.read(MOST_BYTES)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _silence(error) from None
        known = {name.lower(): value for name, value in response.getheaders()}
        seconds = time.monotonic() - begin
        return Reply(
            status=response.status, headers=known, body=content, seconds=seconds
        )


def _silence(error: Exception) -> PeerError:
    if isinstance(error, TimeoutError):
        return PeerError(Silence.TIMEOUT)
    if isinstance(error, ConnectionRefusedError):
        return PeerError(Silence.NOBODY)
    if isinstance(error, ssl.SSLCertVerificationError):
        return PeerError(Silence.TLS, error.verify_message)
    if isinstance(error, ssl.SSLError):
        return PeerError(Silence.TLS)
    if isinstance(error, socket.gaierror):
        return PeerError(Silence.NO_NAME)
    if isinstance(error, http.client.HTTPException | ConnectionError):
        return PeerError(Silence.CLOSED)
    if isinstance(error, OSError):
        return PeerError(Silence.NO_WAY)
    return PeerError(Silence.NO_REQUEST)
