"""Where a COPY or MOVE leads: the Destination header, read like a request target."""

from __future__ import annotations

import re
from http import HTTPStatus

from conduck_service.files.disk.paths import Place, parse_place
from conduck_service.files.errors import LaneError, bad_request, forbidden
from conduck_service.files.request import LaneRequest

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)(.*)", re.DOTALL)
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(?::[0-9]*)?")


def read_destination(request: LaneRequest) -> Place:
    """Return the place that a Destination header names.

    A full URL has to name this server, by whatever name the client knows it; its
    scheme and port may be those of a front that speaks TLS (F-METH-09).

    Raises:
        LaneError: 400 for a missing or malformed header or a name that nothing
            new may have, 403 for the shared folder itself, 502 for another host.
    """
    value = (request.header("DESTINATION") or "").strip()
    if not value:
        raise bad_request("the Destination header is missing", "bad_destination")
    path = value
    if url := _URL.fullmatch(value):
        scheme, authority, path = url.groups()
        if scheme.lower() not in ("http", "https") or not _is_here(request, authority):
            raise LaneError(
                HTTPStatus.BAD_GATEWAY,
                "other_server",
                "the Destination is on another server; only places here can be reached",
            )
        path = path or "/"
    if not path.startswith("/"):
        raise bad_request(
            "the Destination header is neither a full URL nor a path from /",
            "bad_destination",
        )
    place = parse_place(as_target(path))
    place.check_creatable()
    if place.is_root:
        raise forbidden("the shared folder itself cannot be replaced")
    return place


def as_target(text: str) -> str:
    """Return a header's value with the bytes that are no ASCII percent-encoded.

    WSGI gives every byte of a header as one character.
    """
    if text.isascii():
        return text
    return "".join(
        char if char < "\x80" else "".join(f"%{byte:02X}" for byte in _bytes(char))
        for char in text
    )


def _bytes(char: str) -> bytes:
    return bytes([ord(char)]) if char < "\u0100" else char.encode("utf-8")


def _is_here(request: LaneRequest, authority: str) -> bool:
    name = _name(authority)
    names = [request.header("HOST") or ""]
    names += (request.header("X_FORWARDED_HOST") or "").split(",")
    return bool(name) and name in {_name(one.strip()) for one in names}


def _name(authority: str) -> str:
    """Return the host of an authority without its port, or nothing."""
    host = _HOST.fullmatch(authority)
    return host[1].lower() if host else ""
