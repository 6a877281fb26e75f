"""What the app put into the newest message: words, listed files and a folder.

Part of the demo engine, which starts anew for every turn: records are named
tuples, because importing dataclasses alone would double the time to start.
"""

from __future__ import annotations

import re
from typing import NamedTuple

OUTBOUND = "[Conduck file transfer] Files you produce for this reply go in:"

_VOICE = "[Conduck voice]"
_INLINED = '--- "'
_LISTS = (
    "The following file(s) are in your working directory",
    "You can already see the attached image(s);",
    "The readable contents of the file(s) below are already included above.",
    "Earlier image(s) from this conversation are no longer attached inline",
)
_NOTES = (
    " image(s) were attached to this message but are not included",
    " file(s) were attached to this message but are not available",
)
_BULLET = re.compile(
    r'[ \t]*[-*•][ \t]*"([^"\n]*)"[ \t]*'
    r'\(saved as[ \t]+(?:"([^"\n]*)"|([^"\n]*))\)[ \t\r]*(?:\n|\Z)'
)
_LABEL = re.compile(
    r'--- "([^\n]*)" \(untrusted user-provided file contents\) ---[ \t\r]*\n'
    r"(?:[ \t\r]*\n)?(`{3,})[^`\n]*\n"
)


class Listed(NamedTuple):
    """A file that the message lists: what the person calls it, and where it is."""

    label: str
    path: str


class Message(NamedTuple):
    """The newest message, taken apart.

    Attributes:
        words: What the person wrote, without the blocks that the app appended.
        listed: The files that its lists name, in order, each path once.
        inlined: Names of the text files whose text stands in the message.
        folder: Where files of this reply go, relative to the working folder;
            None when the message names no folder.
    """

    words: str
    listed: tuple[Listed, ...] = ()
    inlined: tuple[str, ...] = ()
    folder: str | None = None


class _Blocks:
    """The blocks found so far, and the stretches of text between them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.end = 0
        self.words: list[str] = []
        self.listed: dict[str, Listed] = {}
        self.inlined: list[str] = []
        self.folder: str | None = None

    def take(self, start: int) -> None:
        """Take the block that may begin at the given offset."""
        if start < self.end:
            return
        end = self._end_of_block(start)
        if end > start:
            self._keep_words(start)
            self.end = end

    def _keep_words(self, end: int) -> None:
        stretch = self.text[self.end : end]
        if self.end:
            stretch = stretch.lstrip("\r\n")
        if end < len(self.text):
            # One blank line joins what the app appends to the words before it.
            stretch = stretch.removesuffix("\n").removesuffix("\r")
            stretch = stretch.removesuffix("\n").removesuffix("\r")
        if stretch.strip():
            self.words.append(stretch)

    def _end_of_block(self, start: int) -> int:
        text = self.text
        if text.startswith(OUTBOUND, start):
            end = self._line_end(start)
            self.folder = text[start + len(OUTBOUND) : end].strip().strip('"')
            return end
        if text.startswith(_VOICE, start):
            return self._paragraph_end(start)
        if text.startswith(_LISTS, start):
            return self._take_bullets(self._line_end(start))
        if text.startswith(_INLINED, start):
            return self._take_inlined(start)
        return self._take_bullets(self._line_end(start))

    def _take_bullets(self, at: int) -> int:
        while bullet := _BULLET.match(self.text, at):
            label, quoted, bare = bullet.groups()
            path = (quoted or bare or "").strip()
            self.listed.setdefault(path, Listed(label, path))
            at = bullet.end()
        return at

    def _take_inlined(self, start: int) -> int:
        label = _LABEL.match(self.text, start)
        if label is None:
            return start
        name, fence = label.groups()
        # The app's fence is longer than any run of backticks in the file.
        at = self.text.find("\n" + fence, label.end() - 1)
        if at < 0:
            return start
        self.inlined.append(name)
        return self._line_end(at + 1)

    def _line_end(self, start: int) -> int:
        """Return where the next line begins."""
        end = self.text.find("\n", start)
        return len(self.text) if end < 0 else end + 1

    def _paragraph_end(self, start: int) -> int:
        end = self.text.find("\n\n", start)
        return len(self.text) if end < 0 else end

    def message(self) -> Message:
        """Return the message once every block has been taken."""
        self._keep_words(len(self.text))
        return Message(
            "\n\n".join(self.words),
            tuple(self.listed.values()),
            tuple(self.inlined),
            self.folder,
        )


def read_message(text: str) -> Message:
    """Take the newest message apart; any text whatever is a message.

    A block begins where a line begins with one of the app's headers. What stands
    inside an inlined file is that file's text and never a block, so that a file
    cannot name a folder.
    """
    blocks = _Blocks(text)
    for start in sorted(_block_starts(text)):
        blocks.take(start)
    return blocks.message()


def _block_starts(text: str) -> set[int]:
    starts = set()
    for head in (OUTBOUND, _VOICE, _INLINED, *_LISTS):
        at = -1
        while (at := text.find(head, at + 1)) >= 0:
            if at == 0 or text[at - 1] == "\n":
                starts.add(at)
    for note in _NOTES:
        at = -1
        while (at := text.find(note, at + 1)) >= 0:
            start = text.rfind("\n", 0, at) + 1
            if text[start:at].isdecimal():
                starts.add(start)
    return starts
