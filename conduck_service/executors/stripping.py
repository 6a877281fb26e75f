"""Removes rendered machinery from an answer: thoughts and tool calls.

What is cut out of a real answer is lost to its reader, so in doubt text stays.
Every step is linear in the length of the text.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from conduck_service.executors.fences import OPENING, fence_end

STRIP_WORDS = ("think", "tool_lines")
"""What can be removed: reasoning blocks, and lines such as ``@save(call_1): {…}``."""

_NAMES = "think|thinking|reasoning"
# What matters at the beginning of a line; everything else is passed over in one go.
# Four columns or a tab before it make it code, unless a list explains the indent of
# a fence.
_SIGN = (
    rf"(?:{OPENING}"
    rf"| {{0,3}}<(?P<thought>{_NAMES})>"
    r"| {0,3}@[A-Za-z_][\w.-]*\((?P<id>[\w.:-]*)\):[ \t]*(?=\{(?:\s*[\"}]|\.)))"
)
_HERE = re.compile(_SIGN, re.MULTILINE)
_NEXT = re.compile("^" + _SIGN, re.MULTILINE)
_NEXT_FENCE = re.compile(rf"^{OPENING}", re.MULTILINE)
_TAG = re.compile(rf"<(/?)({_NAMES})>")
_LIKE_OPENING = re.compile(rf"<\s*(?:{_NAMES})\b")
# Dots for arguments are what some engines print in place of long ones.
_DOTS = re.compile(r"\{\.\.\.\}(?=[ \t\r]*$)", re.MULTILINE)
_GAP = re.compile(r"[ \t]*(?:\r?\n)?")
_QUOTES = frozenset("`'\"([{<>*\\ \t")
_MOST_CALLS = 10_000  # that are looked at in one answer
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
    thoughts = _Thoughts(text) if "think" in words else None
    calls = _Calls(text) if "tool_lines" in words else None
    passed = end = 0
    if thoughts and (end := thoughts.unopened_end()):
        passed = end = _behind_gap(text, end)
        yield 0, end
    is_first = True
    # What stands behind machinery on its line is the beginning of a line.
    while sign := (_HERE.match(text, end) if end else None) or _NEXT.search(
        text, passed
    ):
        is_first = is_first and not text[passed : sign.start()].strip()
        end = 0
        passed = sign.end()
        if sign["fence"]:
            passed = fence_end(text, sign)
        elif sign["thought"]:
            end = thoughts.end(sign, is_first=is_first) if thoughts else 0
        elif calls:
            end = calls.end(sign)
        if end:
            passed = end = _behind_gap(text, end)
            yield sign.start(), end
        is_first = is_first and bool(end)


class _Thoughts:
    """Where the thoughts of a text end.

    A thought in a thought is a part of it. Where the tags do not balance, a tag
    was mentioned, and the first closing tag ends the thought.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: dict[int, int] = {}
        self._closings: dict[str, list[int]] = {name: [] for name in _NAMES.split("|")}
        self._first_tag = _TAG.search(text)
        opened: dict[str, list[int]] = {name: [] for name in self._closings}
        for tag in _TAG.finditer(text) if self._first_tag else ():
            if not tag[1]:
                opened[tag[2]].append(tag.end())
                continue
            self._closings[tag[2]].append(tag.end())
            if opened[tag[2]]:
                self._ends[opened[tag[2]].pop()] = tag.end()

    def end(self, sign: re.Match[str], *, is_first: bool) -> int:
        """Return where the thought of an opening tag ends; 0 keeps it.

        One that never ends has no answer behind it when it stands at the very
        beginning; anywhere else the answer may be about such a tag.
        """
        if (end := self._ends.get(sign.end())) is not None:
            return end
        closings = self._closings[sign["thought"]]
        index = bisect_left(closings, sign.end())
        if index < len(closings):
            return closings[index]
        return len(self._text) if is_first else 0

    def unopened_end(self) -> int:
        """Return where a thought ends that began before the answer did, or 0.

        Some models are given the opening tag with their prompt, and print the
        closing one only. It begins a line or ends the text before it; one with
        a blank or a quote before it is mentioned.
        """
        tag = self._first_tag
        if tag is None or not tag[1]:
            return 0
        line = self._text[self._text.rfind("\n", 0, tag.start()) + 1 : tag.start()]
        is_in_line = line not in ("", " ", "  ", "   ")
        if is_in_line and (line[-1] in _QUOTES or line.startswith(">")):
            return 0
        if _LIKE_OPENING.search(self._text, 0, tag.start()):
            return 0
        behind = self._text[tag.end() : tag.end() + 1]
        if behind and behind in "`'\"":
            return 0
        return 0 if self._is_fenced(tag.start()) else tag.end()

    def _is_fenced(self, position: int) -> bool:
        end = 0
        while (sign := _NEXT_FENCE.search(self._text, end)) is not None:
            if sign.start() >= position:
                return False
            end = fence_end(self._text, sign)
            if end > position:
                return True
        return False


class _Calls:
    """Where the calls of a text end.

    A call holds one JSON object, which reaches at most to the next sign that
    begins a line. Up to there the text is cut out once: the decoder counts the
    lines before every error.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._region = ""
        self._start = self._stop = 0
        self._count = 0

    def end(self, sign: re.Match[str]) -> int:
        """Return where the call of a sign ends; 0 when it is none."""
        self._count += 1
        if self._count > _MOST_CALLS:
            return 0
        position = sign.end()
        if sign["id"].startswith("call_") and (
            dots := _DOTS.match(self._text, position)
        ):
            return dots.end()
        if position >= self._stop:
            follower = _NEXT.search(self._text, position)
            self._start = position
            self._stop = follower.start() if follower else len(self._text)
            self._region = self._text[self._start : self._stop]
        try:
            _, end = _DECODER.raw_decode(self._region, position - self._start)
        except (ValueError, RecursionError):
            return 0
        return self._start + end


def _behind_gap(text: str, position: int) -> int:
    gap = _GAP.match(text, position)
    return gap.end() if gap else position
