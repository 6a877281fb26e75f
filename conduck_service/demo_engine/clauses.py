"""Which clauses of a message ask for something, by rules and without AI.

English, with the commonest German and French words. A clause is taken for a
request unless it is plainly a question, a refusal or a statement.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

NAME = "\x01"
"""Stands for every character of a file name in masked text."""

TEXT = "\x02"
"""Stands for every character of a quoted text in masked text."""

MAKE = (
    r"(?:mak(?:e|ing)(?! sense| sure)|creat(?:e|ing)|writ(?:e|ing)|sav(?:e|ing)"
    r"|send(?:e|en|ing)?|giv(?:e|ing)|produc(?:e|ing)|generat(?:e|ing)|build|want"
    r"|put(?:ting)?|stor(?:e|ing)|export|copy(?:ing)?|duplicat(?:e|ing)|clone|need"
    r"|draft|prepare|return|hand|deliver|drop|place|output|print|record|dump"
    r"|compose|provide|render|rename|convert|turn|append|get|have|leave|call|name"
    r"|erstelle?n?|erzeuge?n?|schreibe?n?|kopiere?n?|speicher[en]*|mache?n?|lege?n?"
    r"|schicke?n?|gib|generiere?n?|dupliziere?n?|verfasse?n?|brauche|benenne?n?"
    r"|cré\w*|écri\w*|copi(?:e|er|ez)|fai(?:s|re|tes)|enregistr\w*|gén[éè]r\w*"
    r"|envo\w*|donne\w*|mets|mettre|dupliqu\w*|sauvegard\w*|prépar\w*|rédig\w*)"
)
_ADDRESSED = (
    r"\b(?:(?:can|could|would|will|may|might) (?:you|i|we)|please|mind|how about"
    r"|(?:kannst|könntest|würdest|magst) du|(?:können|könnten|würden) sie"
    r"|(?:whether|if) you (?:can|could|would)"
    r"|kann ich|bitte|peux|pouvez|pourrais|pourriez|s'il)\b"
)
_ACTION = (
    rf"\b(?:{MAKE}|into|as|named|called|under|als|namens|unter|sous|back"
    r"|zurück\w*|please|bitte)\b"
)
_INQUIRY = (
    r"\b(?:tell|explain|show|know|say|remember|describe|understand|sagen?|erklär\w*"
    r"|dire|dis|expliqu\w*)\b.*\b(?:what|how|why|where|if|whether|wie|was|warum|wo"
    r"|ob|comment|pourquoi|ce que)\b|\bhow to\b|\bwie man\b"
)
_ASKING_START = (
    r"(?:what|what's|how(?! about)|why(?! not)|where|who|whose|which|does|did|is"
    r"|are|was|were|has|wie|warum|wo|welche\w*|gibt|ist|sind|hat|qu'\w+|que|quel\w*"
    r"|comment|pourquoi|où|est-ce)\b"
)
_WISH = (
    r"\b(?:whether you|if you could"
    r"|(?:the (?:first|second|third|last|other)(?: one)?|it) (?:is|'s) (?:call|nam)ed"
    r"|want|wants|need|needs|require|would like|should|must|shall|please|wish"
    r"|has to|have to|expect|bitte|möchte\w*|brauch\w*|ich will|soll\w*|muss"
    r"|hätte gern\w*|s'il|voudrais|aimerais|veux|besoin|doit|faut)\b|'d like"
)
_LOOKING = (
    r"(?:tell|explain|check|find|search|look|open|compare|refer|delete|remove"
    r"|remember|consider|forget|erklär\w*|such\w*|öffne\w*|vergleich\w*|lösch\w*"
    r"|prüf\w*|sag\w*|explique\w*|ouvre\w*|supprime\w*|cherche\w*|vérifie\w*|dis)\b"
)
_READING = (
    r"(?:read|describe|summari[sz]e|list|count|translate|review|show|analy[sz]e|lies"
    r"|lis|beschreib\w*|zeig\w*|zähl\w*|montre\w*|résume\w*|décris)\b"
)
_TARGET = (
    r"\b(?:in|into|to|as|under|called|named|nach|als|unter|namens|genannt|dans|sous"
    rf"|nommé\w*|appelé\w*)\s+(?:\w+\s+){{0,5}}{NAME}"
)
_SUBJECT = (
    r"(?s:(?:i|we|he|she|they|you|thanks?|yesterday|ich|wir|danke|gestern|je|j'|nous"
    r"|merci(?! de)"
    r"|hier|(?:it|this|that|these|those|there|my|our|your|his|her|their|the"
    rf"|er|sie|es|das|die|der|mein\w*|il|elle|mon|ma|mes|le|la|les|{NAME}+)"
    r"(?=.*(?:\b(?:is|are|was|were|has|had|looks?|seems?|works?|contains|says|came|got"
    r"|went|saw|found|made|wrote|sent|ist|sind|war|hat|est|sont|était"
    r"|(?!attach|list|need|upload|enclos|request|nam|call)[a-z]{2,}ed)\b"
    r"|'(?:s|ve|re)\b))))(?!\w)"
)
_HARMLESS = (
    r"(?! (?:ever |even |just |only )?(?:chang|alter|modif|guess|reconstruct|forget"
    r"|skip|reformat|edit|lose|hesitat|omit|drop|add|wait|worry|mind|invent|touch))"
)
_REFUSAL = (
    rf"(?:\b(?:(?:do|does|did|should|must|need|will|would|can) ?(?:not|n'?t)|dont"
    rf"|can't|cannot|won't|never){_HARMLESS}"
    r"|\b(?:without (?:mak|creat|writ|sav|send|produc)|instead of|rather than|avoid"
    r"|refrain|no (?:copy|copies|need)\b)|^\W*(?:not|no|nor)\b)"
)
_REFUSAL_ANYWHERE = (
    r"\b(?:nicht|nichts|keine?[nmrs]?|niemals)\b(?! (?:zu )?(?:ver)?(?:änder|gess))"
    r"|\b(?:ne |n')(?!modifi|chang|oubli|invent).*\b(?:pas|jamais|rien|aucun\w*)\b"
)
_NO_FILES = (
    r"\b(?:any|an?|new) (?:new )?(?:files?|documents?)\b"
    r"|(?:^\W*|\b(?:make|create|write|send|want|need) )no (?:new )?files?\b"
    r"|\bkeine?n? (?:neuen? )?datei\w*|\baucun fichier|\bpas de fichiers?"
)
_SENTENCE_END = (
    r"(?<!\.\w)[.!?…]+[\"'”\u2019)]*(?=\s|$)|;|\n\s*\n|\n(?=\s*(?:[-*•]|\d+[.)])\s)"
    r"|(?<=:)\n|\n(?=\s*[A-ZÄÖÜÉÀ])"
)
_CLAUSE_END = (
    r"[,\s](?=(?:but|however|aber|sondern|mais)\b)"
    rf"|(?:,|\band|\bund|\bet|\bthen|\bdann|\bpuis)\s+(?=(?:{MAKE}|not)\b)"
    rf"|,\s+(?=(?:i|we|please|then|just|and|or|so|bitte|don't|do not)"
    rf" (?:\w+ )?{MAKE}\b)"
    rf"|(?<={NAME})\s(?={MAKE}\b)"
    r"|,\s+(?=(?:do not|don't|never)\b)"
)
_BULLET = r"\s*(?:[-*•]|\d+[.)])\s"
_OPENER = (
    r"(?:[^\w\x01\x02]|(?:hi|hello|hey|ok|okay|great|nice|cool|so|well|now|and|but|also|then"
    r"|please|hallo|bonjour|salut|alors|dann|und|et|bitte|aber|mais)\b)*"
)


class Verdict(Enum):
    """What a clause does."""

    ASKS = "asks"
    TELLS = "tells"
    BARS = "bars"


class Clause(NamedTuple):
    """A stretch of the masked text and what it does.

    ``barred_from`` is where a refusal in it begins; what stands before is asked.
    """

    start: int
    end: int
    verdict: Verdict
    barred_from: int

    def asks_at(self, place: int) -> bool:
        """Say whether something named at this place is asked for."""
        return self.verdict is Verdict.ASKS and place < self.barred_from


def read_clauses(masked: str) -> list[Clause]:
    """Return the clauses of a text whose names and quotes are masked."""
    low = lowered(masked)
    clauses: list[Clause] = []
    is_barred = False
    for start, end in _pieces(masked, _SENTENCE_END, 0, len(masked)):
        sentence = low[start:end]
        if not re.match(_BULLET, sentence):
            is_barred = _is_question(sentence) or _opens_refused_list(sentence)
        for first, last in _pieces(low, _CLAUSE_END, start, end):
            clauses.append(_read_clause(low, first, last, is_barred=is_barred))
    return clauses


def lowered(text: str) -> str:
    """Return the text in lower case with plain apostrophes, each at its place."""
    return text.replace("\u0130", "I").replace("\u2019", "'").lower()


def refuses_files(masked: str, clauses: Sequence[Clause]) -> bool:
    """Say whether the text wants no file at all."""
    low = lowered(masked)
    return any(
        re.search(_NO_FILES, low[clause.barred_from : clause.end])
        for clause in clauses
        if clause.barred_from < clause.end
    )


def _pieces(text: str, boundary: str, start: int, end: int) -> list[tuple[int, int]]:
    pieces = []
    first = start
    for found in re.finditer(boundary, text[start:end]):
        pieces.append((first, start + found.end()))
        first = start + found.end()
    pieces.append((first, end))
    return [(first, last) for first, last in pieces if text[first:last].strip()]


def _opens_refused_list(sentence: str) -> bool:
    return sentence.rstrip().endswith(":") and bool(re.search(_REFUSAL, sentence))


def _is_question(sentence: str) -> bool:
    body = _without_opener(sentence)
    if re.search(_INQUIRY, body):
        return True
    if sentence.rstrip().rstrip("\"'”)").endswith("?"):
        is_polite = re.search(_ADDRESSED, sentence) and re.search(_ACTION, body)
        return not is_polite or bool(re.match(_ASKING_START, body))
    return bool(re.match(_ASKING_START, body)) and not re.search(_WISH, body)


def _without_opener(text: str) -> str:
    found = re.match(_OPENER, text)
    return text[found.end() :] if found else text


def _read_clause(low: str, start: int, end: int, *, is_barred: bool) -> Clause:
    text = low[start:end]
    if is_barred or re.search(_REFUSAL_ANYWHERE, text):
        return Clause(start, end, Verdict.BARS, start)
    refusal = re.search(_REFUSAL, text)
    barred_from = start + refusal.start() if refusal else end
    return Clause(start, end, _verdict(text), barred_from)


def _verdict(text: str) -> Verdict:
    body = _without_opener(text)
    if re.match(_LOOKING, body):
        return Verdict.BARS
    if re.match(_READING, body) and not re.search(_TARGET, body):
        return Verdict.BARS
    is_wish = re.search(_WISH, text)
    if re.match(_ASKING_START, body) and not is_wish:
        return Verdict.BARS
    if re.match(_SUBJECT, body) and not is_wish:
        return Verdict.TELLS
    return Verdict.ASKS
