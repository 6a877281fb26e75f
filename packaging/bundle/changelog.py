"""The changelog of the package for Debian: its version, and the time of a release."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime

from bundle.pins import PACKAGING

FILE = PACKAGING / "deb/changelog"


def text(number: str | None = None) -> str:
    """Return the changelog, with another version on top if one is named."""
    kept = FILE.read_text(encoding="utf-8")
    return kept if number is None else re.sub(r"\(.*?\)", f"({number})", kept, count=1)


def version() -> str:
    """Return the version of the newest entry."""
    found = re.match(r"conduck \((.*?)\) ", text())
    assert found
    return found[1]


def epoch() -> int:
    """Return when the newest entry was written, in seconds since 1970.

    Every file of a release bears that time, so that who builds it again gets the same
    bytes.
    """
    found = re.search(r"^ -- .*>  (.*)$", text(), re.MULTILINE)
    assert found
    return int(parsedate_to_datetime(found[1]).timestamp())
