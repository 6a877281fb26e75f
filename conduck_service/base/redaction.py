"""Takes the secret values that are in use out of any text."""

from __future__ import annotations

import re
from threading import Lock

MARK = "[redacted]"
"""Stands in the place of a secret."""

SHORTEST = 4
"""Characters that a value must have to be taken out.

Taking out shorter ones would spoil every line and thereby give them away.
"""


class Redactor:
    """Knows secret values and cleans texts of them; used from many threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._values: frozenset[str] = frozenset()
        self._pattern: re.Pattern[str] | None = None

    def register(self, value: str) -> None:
        """Take this value out of every text from now on.

        A value of less than :data:`SHORTEST` characters is not taken out.
        """
        if len(value) < SHORTEST or value in self._values:
            return
        with self._lock:
            self._values |= {value}
            longest_first = sorted(self._values, key=len, reverse=True)
            choices = "|".join(re.escape(item) for item in longest_first)
            # Looking ahead finds values that overlap; a plain search would
            # leave the rest of the second one standing.
            self._pattern = re.compile(f"(?=({choices}))")

    def clean(self, text: str) -> str:
        """Return the text with every registered value replaced by the mark."""
        pattern = self._pattern
        if pattern is None:
            return text
        kept: list[str] = []
        end = 0
        for found in pattern.finditer(text):
            first, last = found.span(1)
            if first >= end:
                kept += [text[end:first], MARK]
            end = max(end, last)
        return "".join(kept) + text[end:]
