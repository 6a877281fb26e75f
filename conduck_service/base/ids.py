"""Identifiers: random ones for records, and the rule for names in config."""

from __future__ import annotations

import base64
import re
import secrets

NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")


def new_id(prefix: str) -> str:
    """Return ``<prefix>_`` and 26 characters that carry 128 random bits.

    The value comes from nothing but the system's random source: no content, no
    token, no path and no connection can be read out of it.

    Keeps: C-META-03, C-SNAP-19.
    """
    text = base64.b32encode(secrets.token_bytes(16)).decode("ascii")
    return f"{prefix}_{text.rstrip('=').lower()}"


def is_name(text: str) -> bool:
    """Say whether the text may name an entry of the config (B-NAME-06)."""
    return NAME.fullmatch(text) is not None
