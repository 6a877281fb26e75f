"""Folders that a turn was told to write to, known by their names."""

from __future__ import annotations

import re

CONVERSATION = re.compile(rb"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")
"""Names of the folders that the app makes, one a conversation."""

OUTBOUND = re.compile(rb"out-[0-9a-f]{32}")
"""Names of the folders in them, one a turn, that engines make."""


def is_outbound(names: tuple[bytes, ...]) -> bool:
    """Say whether these steps lead to a folder that a turn was told to write to."""
    return (
        len(names) == 2
        and CONVERSATION.fullmatch(names[0]) is not None
        and OUTBOUND.fullmatch(names[1]) is not None
    )
