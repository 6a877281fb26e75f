"""Folders that a turn was told to write to, and what the app takes from them."""

from __future__ import annotations

import re
import unicodedata

NAME_SIZE = 200
"""Longest name that the app takes, in characters and in bytes."""

CONVERSATION = re.compile(rb"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")
"""Names of the folders that the app makes, one a conversation."""

OUTBOUND = re.compile(rb"out-[0-9a-f]{32}")
"""Names of the folders in them, one a turn, that engines make."""

_REFUSED = frozenset('"\\$[]!`')
_JOINERS = frozenset("\u200c\u200d")


def is_outbound(names: tuple[bytes, ...]) -> bool:
    """Say whether these steps lead to a folder that a turn was told to write to."""
    return (
        len(names) == 2
        and CONVERSATION.fullmatch(names[0]) is not None
        and OUTBOUND.fullmatch(names[1]) is not None
    )


def is_taken_by_app(name: str) -> bool:
    """Say whether the app takes a file of this name.

    Letters, marks, numbers, punctuation, symbols and plain spaces, less a few
    signs; no dot, dash or mark in front and no space at either end.
    """
    return (
        0 < len(name) <= NAME_SIZE
        and len(name.encode("utf-8", "surrogateescape")) <= NAME_SIZE
        and name[0] not in ".- "
        and name[-1] != " "
        and not unicodedata.category(name[0]).startswith("M")
        and all(map(_is_allowed, name))
    )


def _is_allowed(sign: str) -> bool:
    if sign in _REFUSED:
        return False
    return sign == " " or sign in _JOINERS or unicodedata.category(sign)[0] in "LMNPS"
