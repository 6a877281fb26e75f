"""Code fences of Markdown, as far as needed to know what is quoted."""

from __future__ import annotations

import re

OPENING = (
    r"(?P<indent>(?>[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*))"
    r"(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})"
)
"""An opening fence, with the indent and the bullet that a list gives it."""

_CLOSING = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t\r]*$", re.MULTILINE)
_DEEPER = 3  # columns that a closing fence may stand further in


def fence_end(text: str, sign: re.Match[str]) -> int:
    """Return where the block of an opening fence ends; the text's end if nowhere.

    A fence in a list is indented with its item, so any lesser indent closes it.
    """
    most = len(sign["indent"].expandtabs(4)) + _DEEPER
    for end in _CLOSING.finditer(text, sign.end()):
        if end[2].startswith(sign["fence"]) and len(end[1].expandtabs(4)) <= most:
            return end.end()
    return len(text)
