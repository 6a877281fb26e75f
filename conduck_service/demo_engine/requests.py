"""Which files a message asks for, and what is to be in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from conduck_service.demo_engine.clauses import (
    MAKE,
    NAME,
    TEXT,
    Verdict,
    lowered,
    refuses_files,
)
from conduck_service.demo_engine.message import Message
from conduck_service.demo_engine.texts import given_texts, texts_by_name
from conduck_service.demo_engine.wording import (
    TEXT_ONLY,
    Mention,
    Wording,
    normal,
    read_wording,
)

MOST_FILES = 20
NAMELESS = "demo.txt"

# Requests are short. Of longer messages the two ends are looked at.
_KEPT = 8192
_LEFT_OUT = "\n\n[…]\n\n"

_PREFIX = r"[0-9a-f]{8}(?:-\d+)?__"
_COPY_BACK = (
    r"\b(?:copy(?! that\b)|copies|duplicate|clone|kopie\w*|duplizier\w*|copie\w*"
    r"|dupliqu\w*|renvoie\w*|renvoy\w*)\b"
    r"|\b(?:send|give|hand|pass|mail|bring|return|schick\w*|gib|sende?)\b[^.]{0,80}"
    r"(?:\b(?:it|them|this|that|these|those|both|all|files?|documents?|attachments?"
    rf"|photos?|pictures?|images?|datei\w*|dokument\w*|sie|es|alles)\b|{NAME})"
    r"[^.]{0,80}"
    r"\b(?:back|again|zurück|wieder)\b"
    r"|\b(?:it|all|both|everything|them) back\b"
    r"|\breturn (?:it|them|both|the (?:\w+ )?(?:file|document|photo|attachment)s?)\W*$"
)
_ABOUT = re.compile(
    r"\b(?:size|hash|checksum|digest|length|number|count|summary|type|größe|taille)\b"
)
_NAMELESS = (
    rf"\b(?:{MAKE}|'d like|möchte)(?:[ -](?:me|us|it|that|this|mir|uns|moi|nous"
    r"|please|bitte|out|up|just|now)){0,3}(?: (?:to|into|in|as|als|dans))?"
    r" (?:an?|one|another|any|some|two|three|eine?n?|une?|des)"
    r" (?:(?!of|from|about|the|my|de|von|über)[\w-]+ ){0,4}"
    r"(?:files?|documents?|\w*datei(?:en)?|\w*dokumente?|fichiers?)\b"
    rf"|\b(?:{MAKE})\b[^.]{{0,80}}\b(?:into|in|to|as|dans|als) (?:an?|eine?|une?)"
    r" (?:(?!of|from|about|the|my)[\w-]+ ){0,3}(?:file|\w*datei|fichier)\b"
)
_SOURCE = (
    r"(?:(?<!the )(?<!a )"
    r"\b(?:copy|duplicate|clone|rename|convert|kopiere?|dupliziere?|copie[rz]?"
    r"|duplique)(?: (?:the|my|this|file|document|die|das|datei|le|fichier)){0,3}"
    r"|\b(?:about|regarding|concerning|from|than|über|von|aus"
    r"|cop(?:y|ies) of|kopie von|copie de|(?<!name )(?<!names )contents? of))\s*$"
)
_TOWARDS = (
    rf"[^\w{TEXT}]*(?:to|as(?! well)|into|nach|als|in|vers|en|sous|comme|dans|->|→)"
    rf"\s+(?:(?!and\b|und\b|et\b)[^\W]+\s+){{0,5}}[^\w{NAME}{TEXT}]*"
)


class Wish(NamedTuple):
    """One file to make.

    Attributes:
        name: Its name, one path component.
        text: What is to be in it, when the person said so.
        listed: Index of the listed file that it is a copy of, when it is one.
    """

    name: str
    text: str | None = None
    listed: int | None = None


class Request(NamedTuple):
    """What a message asks for.

    Attributes:
        wishes: The files to make, in the order in which they are named.
        unusable: How many names cannot be a file's name.
        missing: Names of files to copy that were not sent.
    """

    wishes: tuple[Wish, ...] = ()
    unusable: int = 0
    missing: tuple[str, ...] = ()


def read_request(message: Message) -> Request:
    """Find out, by rules and without AI, which files the person asks for.

    A name that none of the sent files bears is a file to make, unless it is only
    asked or told about, or refused.
    """
    words = message.words
    if len(words) > 2 * _KEPT:
        words = words[:_KEPT] + _LEFT_OUT + words[-_KEPT:]
    if not re.search(
        r"[.\"'“„«»\u2018\u2039`]|\b(?:cop|file|fichier|doc)|datei|kopi|back|zurück",
        words,
        re.IGNORECASE,
    ):
        return Request()
    known = dict.fromkeys(message.inlined, TEXT_ONLY)
    for index, item in reversed(list(enumerate(message.listed))):
        known |= dict.fromkeys(_names_of(item.label, item.path), index)
    wording = read_wording(words, known)
    if refuses_files(wording.masked, wording.clauses):
        return Request()
    return _Order(wording, message).request()


def file_name(text: str) -> str | None:
    """Return what of a name is safe to make in a folder; None when nothing is."""
    name = re.split(r"[/\\]", text.strip())[-1].strip()
    if not name or name in {".", ".."} or re.search(r"[\x00-\x1f\x7f-\x9f]", name):
        return None
    return name


def _names_of(label: str, path: str) -> list[str]:
    leaf = path.rsplit("/", 1)[-1]
    names = [label, leaf, re.sub(rf"\A{_PREFIX}", "", leaf), path]
    return [name for name in names if name.strip()]


class _Order:
    def __init__(self, wording: Wording, message: Message) -> None:
        self.wording = wording
        self.listed = message.listed
        self.low = lowered(wording.masked)
        self.asked = [item for item in wording.mentions if self._is_asked(item)]
        self.sources = self._sources()

    def request(self) -> Request:
        new = [item for item in self.asked if item.listed is None]
        origins = [item for item in new if self._is_origin(item)]
        targets = [item for item in new if item not in origins]
        targets += [item for item in self._renamed() if item not in targets]
        if not targets:
            return self._without_names(origins)
        once = {normal(item.name): item for item in sorted(targets, reverse=True)}
        usable = [item for item in sorted(once.values()) if file_name(item.name)]
        unusable = len(once) - len(usable)
        if origins and not self.listed:
            return Request((), unusable, tuple(item.name for item in origins))
        return Request(tuple(self._wishes(usable)), unusable)

    def _wishes(self, targets: Sequence[Mention]) -> Iterable[Wish]:
        texts = texts_by_name(self.wording, targets, has_files=bool(self.listed))
        copied = [item for item in targets if normal(item.name) not in texts]
        pairs = dict(zip(copied, self._paired(copied), strict=True))
        for item in targets:
            name = file_name(item.name) or NAMELESS
            yield Wish(name, texts.get(normal(item.name)), pairs.get(item))

    def _is_asked(self, item: Mention) -> bool:
        return self.wording.clause_at(item.start).asks_at(item.start)

    def _is_origin(self, item: Mention) -> bool:
        """Say whether a new name is what something is to be made from."""
        before = self.low[max(0, item.start - 80) : item.start]
        if re.search(_SOURCE, before):
            return True
        following = [other for other in self.asked if other.start >= item.end]
        if not following:
            return False
        between = self.low[item.end : following[0].start]
        return len(between) < 120 and bool(re.fullmatch(_TOWARDS, between))

    def _renamed(self) -> list[Mention]:
        """Return names of sent files that stand where a new name is wanted."""
        found = []
        for before, item in zip(self.asked, self.asked[1:], strict=False):
            between = self.low[before.end : item.start]
            if item.listed is not None and re.fullmatch(_TOWARDS, between[:120]):
                found.append(item)
        return found

    def _sources(self) -> list[int]:
        """Return the listed files that are spoken of, or else all of them."""
        named = [
            item.listed
            for item in self.asked
            if item.listed is not None and item.listed >= 0
        ]
        return list(dict.fromkeys(named)) or list(range(len(self.listed)))

    def _without_names(self, origins: Sequence[Mention]) -> Request:
        clauses = [
            self.low[clause.start : clause.barred_from]
            for clause in self.wording.clauses
            if clause.verdict is Verdict.ASKS
        ]
        copies = [text for text in clauses if re.search(_COPY_BACK, text)]
        if self.listed and any(not _ABOUT.search(text) for text in copies):
            return Request(tuple(self._own_names()))
        if origins and copies:
            return Request(missing=tuple(item.name for item in origins))
        if any(re.search(_NAMELESS, text) for text in clauses):
            texts = given_texts(self.wording, has_files=bool(self.listed))
            return Request((Wish(NAMELESS, texts[0].text if texts else None),))
        return Request()

    def _own_names(self) -> Iterable[Wish]:
        taken: set[str] = set()
        for index in self.sources:
            item = self.listed[index]
            leaf = re.sub(rf"\A{_PREFIX}", "", item.path.rsplit("/", 1)[-1])
            name = file_name(item.label) or file_name(leaf) or NAMELESS
            stem, dot, kind = name.rpartition(".")
            number = 2
            while name in taken:
                name = f"{stem} {number}{dot}{kind}"
                number += 1
            taken.add(name)
            yield Wish(name, listed=index)

    def _paired(self, copied: Sequence[Mention]) -> list[int | None]:
        sources = self.sources
        if not sources:
            return [None] * len(copied)
        if len(sources) == len(copied):
            return list(sources)
        if len(sources) == 1:
            return [sources[0]] * len(copied)
        return [self._nearest(item, order) for order, item in enumerate(copied)]

    def _nearest(self, target: Mention, order: int) -> int:
        named = [
            item.listed
            for item in self.asked
            if item.end <= target.start and item.listed in self.sources
        ]
        if named and named[-1] is not None:
            return named[-1]
        kind = target.name.rpartition(".")[2].lower()
        alike = [
            index
            for index in self.sources
            if self.listed[index].label.lower().endswith("." + kind)
        ]
        if len(alike) == 1:
            return alike[0]
        return self.sources[min(order, len(self.sources) - 1)]
