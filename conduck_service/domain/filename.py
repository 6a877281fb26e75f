"""Names of files that the app takes; what has another is offered to nobody."""

from __future__ import annotations

import unicodedata

NAME_SIZE = 200
"""Longest name that the app takes, in characters and in bytes."""

_REFUSED = frozenset('"\\$[]!`')
_JOINERS = frozenset("\u200c\u200d")


def is_taken_by_app(name: str) -> bool:
    """Say whether the app takes a file of this name.

    Letters, marks, numbers, punctuation, symbols and plain spaces, less a few
    signs; no dot, dash or mark in front and no space at either end.
    """
    return (
        0 < len(name) <= NAME_SIZE
        and name[0] not in ".- "
        and name[-1] != " "
        and not unicodedata.category(name[0]).startswith("M")
        and all(map(_is_allowed, name))
        and len(name.encode("utf-8")) <= NAME_SIZE
    )


def _is_allowed(sign: str) -> bool:
    if sign in _REFUSED:
        return False
    return sign == " " or sign in _JOINERS or unicodedata.category(sign)[0] in "LMNPS"
