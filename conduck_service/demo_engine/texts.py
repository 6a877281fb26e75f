"""Which texts a message gives for the files that it asks for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from conduck_service.demo_engine.clauses import NAME, TEXT, Verdict, lowered
from conduck_service.demo_engine.wording import Mention, Wording, normal

_MOST_CONNECTIVES = 6
_COPY = (
    r"\b(?:cop(?:y|ies|ying)|duplicat\w*|clone|same|identical|byte|bytes|unchanged"
    r"|verbatim|attach\w*|back|as is|original|kopie\w*|duplizier\w*|zurück|copi\w*"
    r"|dupliqu\w*|renvo\w*|identique|octet\w*)\b"
)
_ALL = r"\b(?:each|all|both|every)\b"
_CUE = (
    r"\b(?:(?:put|write|store|place) (?:the|this|these) (?:words?|text|line|sentence)"
    r"|containing|contains|contain|saying|says|reads|reading"
    r"|with(?: (?:just|only|exactly))?(?: (?:the|this|these))?"
    r"(?: (?:following|exact|single|short|one))?"
    r" (?:texts?|contents?|words?|lines?|message|sentence|phrase)"
    r"|enthält|mit (?:dem |der )?(?:folgenden |folgendem )?(?:text|inhalt|wort|satz)"
    r"|contenant|contient|qui dit|avec (?:le |comme )?(?:texte|contenu|mot))\b"
    r"(?: (?:just|only|exactly|nothing but|nur|genau|the (?:text|words?|lines?|line"
    r"|following(?: text| lines?)?)|den text|le texte)\b){0,2}"
    rf"(?P<colon>\s*:)?|[{NAME}]['\"”`]?(?P<after>:)(?=\s)"
    r"|\b(?:text|contents?|lines?|body|following|inhalt|contenu|texte"
    r"|write|schreibe?|écris)(?P<label>:)(?=\s)"
)
_NO_CONTENT = (
    r"(?:of|from|von|aus|de|du|des|the same|a copy|an exact|below|above|attached"
    r"|listed|as|in|that|i|you|the (?:attached|file|document|input|contents?))\b"
)
_INSTRUCTION = (
    r"(?:[.!?][\"'”)]*\s+|\n|,\s|;\s|\s)"
    r"(?=(?:(?:and |und |et |then |afterwards )+(?:then )?(?:reply|tell|let me|confirm"
    r"|answer|finish|send|say|antworte|sag|réponds|dis)\b"
    r"|(?<=[.!?\n] )(?:then|please|reply|tell|finish|answer|confirm|let me know|do not"
    r"|don't|say|when|once|danach|dann|antworte|sag|bitte|puis|ensuite|réponds)\b"
    r"|(?<=\n)(?:then|please|reply|tell me|finish|answer|confirm|let me know)\b))"
)
_TRAILING = re.compile(
    r"(?:[\s,;]+(?:and|und|et|in|into|to|dans|called|named|an?|the|another|file|then"
    r"|one|a second)|[\s,;]*\n\s*(?:[-*•]|\d+[.)])?|[\s,;]+)\Z",
    re.IGNORECASE,
)


class GivenText(NamedTuple):
    """A text for a file, and where it stands in the words."""

    start: int
    end: int
    text: str


def texts_by_name(
    wording: Wording, targets: Sequence[Mention], *, has_files: bool
) -> dict[str, str]:
    """Return the text of each target that is given one, by its normal name.

    As many texts as names are paired in order. Otherwise a text belongs to the
    names before it that have none yet, or else to those after it.

    Args:
        wording: The words of the message.
        targets: The names of the files to make.
        has_files: Whether the message lists files, which may be copied instead.
    """
    wanted = {normal(item.name) for item in targets}
    places = [item for item in wording.mentions if normal(item.name) in wanted]
    given = given_texts(wording, has_files=has_files)
    names = list(dict.fromkeys(normal(item.name) for item in places))
    if len(given) == len(names):
        return {name: item.text for name, item in zip(names, given, strict=True)}
    low = lowered(wording.masked)
    is_single = has_files and re.search(_COPY, low) and not re.search(_ALL, low)
    texts: dict[str, str] = {}
    stops = [item.start for item in given[1:]] + [len(low)]
    for item, stop in zip(given, stops, strict=False):
        before = [normal(place.name) for place in places if place.start < item.start]
        free = [name for name in dict.fromkeys(before) if name not in texts]
        free = free or [
            normal(place.name) for place in places if item.end <= place.start < stop
        ]
        for name in free[-1:] if is_single else free:
            texts.setdefault(name, item.text)
    return texts


def given_texts(wording: Wording, *, has_files: bool) -> list[GivenText]:
    """Return the texts given for files, in order.

    They stand in quotes, in a fence, or after words such as "containing" and
    "with the text", up to the end of the sentence or, after a colon, the message.
    """
    return sorted(_Texts(wording, has_files=has_files).all())


class _Texts:
    def __init__(self, wording: Wording, *, has_files: bool) -> None:
        self.wording = wording
        self.has_files = has_files
        self.low = lowered(wording.masked)

    def all(self) -> Iterable[GivenText]:
        for quote in self.wording.quotes:
            is_for_file = quote.is_cued or not self._is_copying_at(quote.start)
            if is_for_file and not quote.is_reply and self._is_open(quote.start):
                yield GivenText(quote.start, quote.end, quote.text)
        yield from self._unquoted()

    def _is_open(self, place: int) -> bool:
        clause = self.wording.clause_at(place)
        return clause.verdict is not Verdict.BARS and place < clause.barred_from

    def _is_copying_at(self, place: int) -> bool:
        clause = self.wording.clause_at(place)
        text = self.low[clause.start : clause.end]
        return self.has_files and bool(re.search(_COPY, text))

    def _unquoted(self) -> Iterable[GivenText]:
        end = 0
        for cue in re.finditer(_CUE, self.low):
            if cue.start() < end or not self._is_open(cue.start()):
                continue
            start = cue.end()
            colon = cue["colon"] or cue["after"] or cue["label"]
            body = self.low[start:].lstrip()[:40] if not colon else "x"
            if re.match(_NO_CONTENT, body) or not self._may_begin(cue):
                continue
            end = self._end_of_text(start, bool(colon))
            text = self.wording.words[start:end].strip()
            if text and self.low[start:end].strip()[0] not in {TEXT, NAME}:
                yield GivenText(start, end, text if colon else text.rstrip(".!"))

    def _may_begin(self, cue: re.Match[str]) -> bool:
        """Keep descriptions of a sent file from being taken for a text."""
        return not self.has_files or any(
            item.listed is None and item.start <= cue.start()
            for item in self.wording.mentions
        )

    def _end_of_text(self, start: int, is_verbatim: bool) -> int:
        places = [item.start for item in self.wording.mentions if item.start >= start]
        next_name = min(places, default=len(self.low))
        end = next_name
        if not is_verbatim:
            stop = re.search(r"[.!?](?=\s|$)|\n", self.low[start:end])
            end = start + stop.start() if stop else end
        stop = re.search(_INSTRUCTION, self.low[start:end])
        if stop:
            end = start + stop.start() + (self.low[start + stop.start()] in ".!?")
        if not places or end < next_name:
            return end
        for _ in range(_MOST_CONNECTIVES):
            trailing = _TRAILING.search(self.wording.words, max(start, end - 80), end)
            if trailing is None or not self.low[start : trailing.start()].strip():
                break
            end = trailing.start()
        return end
