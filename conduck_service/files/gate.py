"""The gate of the lane: HTTP Basic, one user, one password."""

from __future__ import annotations

import binascii
import hashlib
import hmac
from collections.abc import Sequence

from conduck_service.serving.bearer import Gate

USER = b"conduck"
"""The app knows no other, and no config changes it (F-USER-01, F-USER-05)."""


def basic_gate(password: bytes | None) -> Gate:
    """Return a gate that the user ``conduck`` opens with one exact password.

    Without a password nobody passes. User and password are compared as one, by
    their digests in constant time, so neither which of them is wrong nor how
    long the right one is can be measured; what cannot be read takes the same way.

    Keeps: F-USER-02, F-USER-03, F-USER-04, F-USER-09.
    """
    expected = _digest(USER + b":" + (password or b""))

    def admits(values: Sequence[bytes]) -> bool:
        given = _decoded(values[0]) if len(values) == 1 else b""
        return hmac.compare_digest(_digest(given), expected) and bool(password)

    return admits


def _decoded(value: bytes) -> bytes:
    scheme, _, coded = value.partition(b" ")
    if scheme.lower() != b"basic":
        return b""
    try:
        return binascii.a2b_base64(coded.strip(), strict_mode=True)
    except binascii.Error:
        return b""


def _digest(value: bytes) -> bytes:
    return hashlib.sha256(value).digest()
