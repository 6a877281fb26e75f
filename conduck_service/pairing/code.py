"""The setup code, byte for byte as the app and the public tool spell it."""

from __future__ import annotations

import base64
import json
import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any

from conduck_service.pairing.address import Address
from conduck_service.pairing.refusal import RefusedError

PREFIX = "conduck-setup:v1:"
VERSION = 1
LONGEST_NAME = 120
KEPT_NAME = 40
"""So much of a name the app keeps."""

TRANSPORTS = ("tailscale", "funnel", "cloudflare", "public")
"""Hints for the app about what stands in front; nothing depends on them."""

_FRONTS = {".ts.net": "tailscale", ".trycloudflare.com": "cloudflare"}
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_STEERING = {"Cc", "Cs", "Zl", "Zp"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupCode:
    """What the app is told: where the service is, and how to sign in.

    Attributes:
        name: How the app calls it.
        chat: Address of the chat listener, as the app reaches it.
        token: Its token.
        model: The id that the app is to choose; empty leaves that to the app.
        files: Address of the file lane; None without a lane.
        password: The lane's password.
        transport: One of TRANSPORTS.
    """

    name: str
    chat: Address
    token: str = field(repr=False)
    model: str = ""
    files: Address | None = None
    password: str = field(default="", repr=False)
    transport: str = "public"

    def text(self) -> str:
        """Return the code: whoever reads it can do all that the app can."""
        gateway: dict[str, Any] = {
            "kind": "custom",
            "url": self.chat.text,
            "auth": "bearer",
            "name": self.name,
            "token": self.token,
        }
        if self.model:
            gateway["model"] = self.model
        value: dict[str, Any] = {
            "v": VERSION,
            "gateway": gateway,
            "transport": self.transport,
        }
        if self.files is not None:
            value["fileServer"] = {
                "url": self.files.text,
                "credential": self.password,
            }
        # Plain ASCII and this order of keys, as the public tool writes it.
        document = json.dumps(value, separators=(",", ":"), allow_nan=False)
        return PREFIX + base64.b64encode(document.encode("ascii")).decode("ascii")


def check_name(name: str) -> str:
    """Return a name that the app shows.

    Raises:
        RefusedError: The app does not accept it.
    """
    name = name.strip()
    if not 0 < len(name) <= LONGEST_NAME:
        raise RefusedError(
            "name_length",
            "the name is empty, or too long for the app",
            f"choose one of 1 to {LONGEST_NAME} characters",
        )
    steers = any(unicodedata.category(sign) in _STEERING for sign in name)
    if steers or _BIDI.search(name):
        raise RefusedError(
            "name_characters",
            "the name holds characters that steer the text around them",
            "choose one of letters, digits and blanks",
        )
    return name


def guess_transport(chat: Address) -> str:
    """Return the hint that fits an address."""
    for ending, front in _FRONTS.items():
        if chat.host.endswith(ending):
            return front
    return "public"
