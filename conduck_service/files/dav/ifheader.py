"""The ``If`` header of WebDAV: which locks and tags a request counts on."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from conduck_service.files.dav.destination import as_target
from conduck_service.files.disk.paths import Place, parse_place
from conduck_service.files.errors import LaneError, bad_request

_WORD = re.compile(
    r"\s*(?:<([^<>]*)>|\[\s*([^\]]*?)\s*\]|([()])|(not)(?=[\s<\[]))", re.IGNORECASE
)
_ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that has to be so, or not so.

    Attributes:
        value: A state token, or an entity tag without its ``W/``.
        is_tag: Whether it is an entity tag.
        is_wanted: Whether it has to match.
    """

    value: str
    is_tag: bool
    is_wanted: bool


@dataclass(frozen=True, slots=True)
class Alternative:
    """Conditions that have to hold together.

    Attributes:
        place: What they are about; None for what the request is about.
        conditions: At least one.
    """

    place: Place | None
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class State:
    """What conditions are compared with.

    Attributes:
        tag: Entity tag with its quotes; None when there is nothing.
        tokens: Those of the locks that hold.
    """

    tag: str | None
    tokens: frozenset[str]


class IfHeader:
    """A parsed header.

    Attributes:
        tokens: All state tokens that the request shows.
    """

    def __init__(self, alternatives: tuple[Alternative, ...]) -> None:
        self._alternatives = alternatives
        self.tokens = frozenset(
            condition.value
            for alternative in alternatives
            for condition in alternative.conditions
            if not condition.is_tag
        )

    @classmethod
    def parse(cls, text: str) -> IfHeader:
        """Return the parsed header; of a URL in it only the path counts.

        Raises:
            LaneError: 400, when it is malformed.
        """
        alternatives: list[Alternative] = []
        place: Place | None = None
        words = _words(text)
        while words:
            url, _, bracket, _ = words.popleft()
            if bracket == "(":
                alternatives.append(Alternative(place, _read_list(words)))
            elif url is not None and words and words[0][2] == "(":
                if alternatives and place is None:
                    raise _malformed()
                place = _place_of(url)
            else:
                raise _malformed()
        if not alternatives:
            raise _malformed()
        return cls(tuple(alternatives))

    def holds(self, state_of: Callable[[Place | None], State]) -> bool:
        """Say whether one of the alternatives holds.

        Args:
            state_of: Gives the state of a place, or of what the request is about.
        """
        return any(
            all(
                _matches(condition, state_of(alternative.place))
                for condition in alternative.conditions
            )
            for alternative in self._alternatives
        )


_Word = tuple[str | None, str | None, str | None, str | None]
"""What stood in angle brackets, in square ones, a parenthesis, or a ``Not``."""


def _words(text: str) -> deque[_Word]:
    words: deque[_Word] = deque()
    position, end = 0, len(text.rstrip())
    while position < end:
        found = _WORD.match(text, position)
        if found is None:
            raise _malformed()
        words.append((found[1], found[2], found[3], found[4]))
        position = found.end()
    return words


def _read_list(words: deque[_Word]) -> tuple[Condition, ...]:
    conditions: list[Condition] = []
    is_wanted = True
    while words:
        token, tag, bracket, negation = words.popleft()
        if negation and is_wanted:
            is_wanted = False
        elif token is not None:
            conditions.append(Condition(token.strip(), False, is_wanted))
            is_wanted = True
        elif tag is not None:
            conditions.append(Condition(tag.removeprefix("W/"), True, is_wanted))
            is_wanted = True
        elif bracket == ")" and conditions and is_wanted:
            return tuple(conditions)
        else:
            break
    raise _malformed()


def _place_of(url: str) -> Place:
    path = url.strip()
    if origin := _ORIGIN.match(path):
        path = path[origin.end() :] or "/"
    if not path.startswith("/"):
        raise _malformed()
    return parse_place(as_target(path))


def _matches(condition: Condition, state: State) -> bool:
    if condition.is_tag:
        own = state.tag and state.tag.removeprefix("W/")
        return (own == condition.value) is condition.is_wanted
    return (condition.value in state.tokens) is condition.is_wanted


def _malformed() -> LaneError:
    return bad_request("the If header is malformed", "bad_if")
