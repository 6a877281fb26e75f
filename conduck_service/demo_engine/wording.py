"""The words of a person, taken apart: file names, quoted texts and clauses.

Nothing here knows what a message means; it says where a name stands, what stands
in quotes, and which stretches are masked so that their dots end no sentence.
"""

# ruff: noqa: RUF001 - quotation marks of every kind are the subject here

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping
from typing import NamedTuple

from conduck_service.demo_engine.clauses import (
    NAME,
    TEXT,
    Clause,
    lowered,
    read_clauses,
)

_QUOTED = (
    r"(?<!`)(?P<fence>`{3,})[^`\n]*\n(?P<block>(?s:.*?))\n?(?P=fence)(?!`)"
    r"|`([^`\n]{1,300})`"
    r"|(?<![\w{\[])\"([^\"]{1,20000})\"(?!\w)"
    r"|[“„]([^“”„]{1,20000})[“”\"](?!\w)"
    r"|«\s?([^«»]{1,20000}?)\s?»|»([^«»]{1,20000})«|‹([^‹›]{1,20000})›"
    r"|[‘‚]([^\n]{1,300}?)[’‘](?!\w)"
    r"|(?<![\w'’])'(?=\S)([^\n]{1,300}?)(?<=\S)'(?![\w'’])"
)
_WORD = r"[^\s\x00-\x02\"“”„«»‹›`<>|*?,;:→]+"
_LONGEST_NAME = 300
TEXT_ONLY = -1
"""Index of a file whose text stands in the message, without a file beside it."""

_NAMED = r"(?s:.*\S)\.(?=\w*[^\W\d])\w{1,12}"
_BARE = r"(?P<stem>.*\w.*)\.(?P<type>[A-Za-z0-9]{1,8})"
_DOMAINS = frozenset(
    ["com", "org", "net", "edu", "gov", "io", "app", "dev", "eu", "de", "fr", "uk"]
)
_PRODUCTS = frozenset(
    ["node.js", "vue.js", "next.js", "react.js", "three.js", "express.js", "asp.net"]
)
_NAMING = (
    r"\b(?:(?:named?|call(?:ed)?|titled|entitled|namens|genannt|nenn\w*|heißt|heissen"
    r"|nommée?s?|nomme|appelée?s?|intitulée?s?)(?: (?:it|them|sie|es|ihn|le))?"
    r"|file|document|datei|dokument|fichier|name|nom|filename|dateinamen?|as|als)"
    r"\s*:?\s*$"
)
_TARGET = (
    r"\b(?:as(?! well)|into|in|to|under|by|named?|call(?:ed)?|titled|nach|als|unter"
    r"|namens|genannt|dans|vers|en|sous|nommé\w*|appelé\w*|file|datei|fichier)"
    r"\s*:?\s*$"
)
_SPACED = (
    r"\b(?:named|called|titled|namens|genannt|nommée?s?|appelée?s?|as|als|sous"
    r"|file:|datei:|fichier:)\s+"
    r"((?:[^\s\x00-\x02,;:\"]+[ ]+){1,6})$"
)
_NOT_IN_NAMES = re.compile(
    r"\b(?:an?|the|this|and|or|to|in|into|as|file|files|text|plain|document|copy|pdf"
    r"|csv|new|named|called|ein\w*|der|die|das|und|oder|datei|une?|le|la|et|ou"
    r"|fichier|it|well|with|of|from|for)\b",
    re.IGNORECASE,
)
_BARE_NAMING = (
    r"\b(?:file|document|datei|dokument|fichier)s?\s+"
    r"(?:named|called|titled|namens|genannt|nommé|appelé|intitulé)\s+"
    r"(?P<name>[^\s\x00-\x02\"“”„«»‹›`<>|*?,;:→.]+)(?=[\s,;:.!?]|$)"
)
_CONTENT = (
    r"\b(?:contain(?:s|ing)?|contents?|texts?|saying|says|reads?|words?|lines?"
    r"|message|sentence|phrase|inhalt|wort|satz|contenus?|textes?|mots?|contenant"
    r"|contient|enthält|steht)\s*[:=]?\s*$"
)
_REPLY = (
    r"\b(?:reply|replying|respond|answer|antworte\w*|réponds|répondez)\b"
    r"(?:\s+\w+){0,4}\s*:?\s*$"
    r"|(?<!should )(?<!must )(?<!to )\b(?:say|tell me|sag\w*|dis)(?:\s+\w+){0,2}"
    r"\s*:?\s*$"
)


class Mention(NamedTuple):
    """A file name in the words.

    Attributes:
        start: Where it begins, quotes included.
        end: Where it ends.
        name: The name as it is written.
        listed: Index of the listed file that bears it, TEXT_ONLY when only its
            text was sent, None for a new name.
    """

    start: int
    end: int
    name: str
    listed: int | None


class Quote(NamedTuple):
    """A quoted stretch that is no name: a text for a file, or for the reply."""

    start: int
    end: int
    text: str
    is_reply: bool
    is_cued: bool


class Wording(NamedTuple):
    """The words and what stands in them; positions are offsets of ``words``."""

    words: str
    masked: str
    mentions: tuple[Mention, ...]
    quotes: tuple[Quote, ...]
    clauses: tuple[Clause, ...]

    def clause_at(self, place: int) -> Clause:
        """Return the clause that an offset of the words lies in."""
        index = bisect_right(self.clauses, place, key=lambda clause: clause.start)
        return self.clauses[max(0, index - 1)]


def read_wording(words: str, known: Mapping[str, int]) -> Wording:
    """Take the words apart.

    Args:
        words: What the person wrote.
        known: Names of files that the person sent, each with the index of the
            listed file, or TEXT_ONLY.
    """
    reading = _Reading(words, known)
    reading.find_quotes()
    reading.find_known()
    reading.find_bare()
    masked = reading.masked
    return Wording(
        words,
        masked,
        tuple(sorted(reading.mentions)),
        tuple(reading.quotes),
        tuple(read_clauses(masked)),
    )


def normal(name: str) -> str:
    """Return the name as it is compared: composed, without blanks around it."""
    return unicodedata.normalize("NFC", name.strip())


class _Reading:
    def __init__(self, words: str, known: Mapping[str, int]) -> None:
        self.words = words
        self.masked = words
        self.names = {normal(name): index for name, index in known.items()}
        self.spellings = {*known, *self.names}
        self.mentions: list[Mention] = []
        self.quotes: list[Quote] = []

    def _mask(self, spans: list[tuple[int, int, str]]) -> None:
        pieces = []
        at = 0
        for start, end, mark in sorted(spans):
            pieces += [self.masked[at:start], mark * (end - start)]
            at = end
        self.masked = "".join([*pieces, self.masked[at:]])

    def _mention(self, start: int, end: int, name: str) -> tuple[int, int, str]:
        self.mentions.append(Mention(start, end, name, self.names.get(normal(name))))
        return start, end, NAME

    def find_quotes(self) -> None:
        """Find what stands in quotes, and tell names from texts."""
        spans = []
        for found in re.finditer(_QUOTED, self.words):
            start, end = found.span()
            if found["fence"]:
                text = found["block"]
                self.quotes.append(Quote(start, end, text, False, True))
                spans.append((start, end, TEXT))
                continue
            text = next(group for group in found.groups() if group is not None)
            before = lowered(self.words[max(0, start - 80) : start])
            if self._is_name(text, before):
                spans.append(self._mention(start, end, text.strip()))
                continue
            is_reply = re.search(_REPLY, before) is not None
            is_cued = bool(re.search(_CONTENT, before)) or before.rstrip()[-1:] == ":"
            self.quotes.append(Quote(start, end, text, is_reply, is_cued))
            spans.append((start, end, TEXT))
        self._mask(spans)

    def _is_name(self, text: str, before: str) -> bool:
        if normal(text) in self.names:
            return True
        if re.search(_REPLY, before) or "\n" in text or len(text) > _LONGEST_NAME:
            return False
        if re.fullmatch(_NAMED, text.strip()) and ". " not in text:
            return not re.search(_CONTENT, before)
        return re.search(_NAMING, before) is not None

    def find_known(self) -> None:
        """Find names of sent files that stand outside quotes, blanks and all."""
        for name in sorted(self.spellings, key=len, reverse=True):
            if len(name) < 4 and "." not in name:
                continue
            spans = []
            at = -1
            while (at := self.masked.find(name, at + 1)) >= 0:
                end = at + len(name)
                if _stands_alone(self.masked, at, end):
                    spans.append(self._mention(at, end, name))
            if spans:
                self._mask(spans)

    def find_bare(self) -> None:
        """Find names outside quotes: a token with an extension, or a named one."""
        spans = []
        for found in re.finditer(_WORD, self.masked):
            if "." not in found[0] or len(found[0]) > _LONGEST_NAME:
                continue
            start, end = _trim(self.masked, *found.span())
            before = self.masked[max(0, start - 150) : start]
            token = self.masked[start:end]
            if _is_bare_name(token, is_cued=bool(re.search(_TARGET, lowered(before)))):
                start -= _blanks_before(before, token)
                spans.append(self._mention(start, end, self.masked[start:end]))
        self._mask(spans)
        spans = [
            self._mention(*found.span("name"), found["name"])
            for found in re.finditer(_BARE_NAMING, self.masked, re.IGNORECASE)
        ]
        self._mask(spans)


def _stands_alone(text: str, start: int, end: int) -> bool:
    before = text[start - 1 : start]
    after = text[end : end + 2]
    if before and (before.isalnum() or before in "_-./\\"):
        return False
    if after[:1].isalnum() or after[:1] in {"_", "-"}:
        return False
    return not (after[:1] == "." and after[1:].isalnum())


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Leave out punctuation around a token, but not the brackets of a pair."""
    while start < end:
        token = text[start:end]
        first, last = token[0], token[-1]
        if first in "'‘’—–=" or (first in "([{" and not set(")]}") & set(token)):
            start += 1
            continue
        if last in ".!'‘’…" or (last in ")]}" and not set("([{") & set(token)):
            end -= 1
            continue
        if token.endswith(("'s", "’s")):
            end -= 2
            continue
        break
    return start, end


def _is_bare_name(token: str, *, is_cued: bool) -> bool:
    if _is_address(token):
        return False
    leaf = re.split(r"[/\\]", token)[-1]
    found = re.fullmatch(_BARE, leaf)
    if found is None:
        return False
    stem, kind = found["stem"], found["type"]
    if kind.isdigit() or kind.lower() in {"com", "org", "net"}:
        return False
    if is_cued:
        return len(leaf) > 3 or not leaf.replace(".", "").isalpha()
    if stem.startswith(".") or not (kind.islower() or kind.isupper()):
        return False
    if lowered(leaf) in _PRODUCTS or kind.lower() in _DOMAINS:
        return False
    if len(kind) == 1 and len(stem.split(".")[-1]) == 1:
        return False
    return not (kind[0].isdigit() and stem[-1].isdigit())


def _is_address(token: str) -> bool:
    """Say whether a token is a web or mail address rather than a path."""
    if "@" in token or token.lower().startswith(("//", "www.")):
        return True
    host, slash, _ = token.partition("/")
    return bool(slash) and "." in host.strip(".")


def _blanks_before(before: str, token: str) -> int:
    """Return how far a name with blanks reaches back from its last token."""
    found = re.search(_SPACED, before, re.IGNORECASE)
    if token.startswith("("):
        # "copy (1).pdf" is what a browser calls a second download.
        found = found or re.search(r"(?<=\s)([\w.-]+ )$", before)
    if found is None or _NOT_IN_NAMES.search(found[1]):
        return 0
    return len(found[1])
