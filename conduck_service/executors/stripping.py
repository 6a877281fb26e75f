"""Removes rendered machinery from an answer: thoughts and tool calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

STRIP_WORDS = ("think", "tool_lines")
"""What can be removed: reasoning blocks, and lines such as ``@save(call_1): {…}``."""

# What matters at the beginning of a line; everything else is passed over in one go.
_SIGN = (
    r"(?: {0,3}(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})"
    r"|[ \t]*<(?P<thought>think|thinking|reasoning)>"
    r"|[ \t]*@[A-Za-z_][\w.-]*\([\w.:-]*\):[ \t]*(?=\{))"
)
_HERE = re.compile(_SIGN, re.MULTILINE)
_NEXT = re.compile("^" + _SIGN, re.MULTILINE)
_FENCE_END = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t\r]*$", re.MULTILINE)
_GAP = re.compile(r"[ \t]*(?:\r?\n)?")
_REST_OF_LINE = re.compile(r".*")
_LONGEST_ARGUMENTS = 65_536  # of a call that goes over several lines
_DECODER = json.JSONDecoder()


def strip_machinery(text: str, words: Sequence[str]) -> str:
    """Return the answer without the machinery that the words name.

    Only what begins a line outside a code fence counts, so that an answer which
    talks about tags or addresses stays whole (C-RESP-30). Text from which
    nothing is removed comes back as it is.
    """
    kept: list[str] = []
    done = 0
    for start, end in _machinery(text, words):
        kept.append(text[done:start])
        done = end
    if done == 0:
        return text
    return "".join([*kept, text[done:]]).strip("\r\n")


def _machinery(text: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield beginning and end of each piece of machinery, in order."""
    sign = _NEXT.search(text)
    while sign is not None:
        end = 0
        if sign["fence"]:
            passed = _fence_end(text, sign)
        elif end := _machinery_end(text, sign, words):
            passed = end = _behind_gap(text, end)
            yield sign.start(), end
        else:
            passed = sign.end()
        # What stands behind machinery on its line is the beginning of a line.
        follower = _HERE.match(text, end) if end else None
        sign = follower or _NEXT.search(text, passed)


def _fence_end(text: str, sign: re.Match[str]) -> int:
    for end in _FENCE_END.finditer(text, sign.end()):
        if end[1].startswith(sign["fence"]):
            return end.end()
    return len(text)


def _machinery_end(text: str, sign: re.Match[str], words: Sequence[str]) -> int:
    """Return where the machinery of a sign ends; 0 when it is none."""
    if sign["thought"]:
        if "think" not in words:
            return 0
        closing = f"</{sign['thought']}>"
        end = text.find(closing, sign.end())
        # A thought that never ends has no answer behind it.
        return len(text) if end < 0 else end + len(closing)
    return _call_end(text, sign.end()) if "tool_lines" in words else 0


def _call_end(text: str, start: int) -> int:
    rest = _REST_OF_LINE.match(text, start)
    line = rest[0].rstrip() if rest else ""
    # Bounded pieces, since the decoder counts the lines before every error.
    for piece in (line, text[start : start + _LONGEST_ARGUMENTS]):
        try:
            return start + _DECODER.raw_decode(piece)[1]
        except (ValueError, RecursionError):
            continue
    return start + len(line) if line.endswith("}") else 0


def _behind_gap(text: str, position: int) -> int:
    gap = _GAP.match(text, position)
    return gap.end() if gap else position
