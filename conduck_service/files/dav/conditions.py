"""Entity tags, dates, and requests that depend on them."""

from __future__ import annotations

import functools
import os
import re
import stat
import time
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Protocol

from conduck_service.files.errors import LaneError

TICK_NS = 20_000_000
"""The kernel's clock moves in steps of up to 10 ms; twice that is told apart."""

_CONDITIONS = (
    "IF_MATCH", "IF_NONE_MATCH", "IF_MODIFIED_SINCE", "IF_UNMODIFIED_SINCE",
)  # fmt: skip
_TAG = re.compile(r'(W/)?("[!#-~\x80-\xff]*")')
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = (
    "Jan", "Feb", "Mar", "Apr", "May", "Jun",
    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
)  # fmt: skip
_FIRST_SECOND = -62_135_596_800
_LAST_SECOND = 253_402_300_799
"""The years 1 to 9999; a file's time may be anything."""


class Conditional(Protocol):
    """A request that may carry conditions."""

    @property
    def method(self) -> str:
        """As sent."""
        ...

    def header(self, name: str) -> str | None:
        """Return the value of a header, or None."""
        ...


def etag_of(found: os.stat_result, now_ns: int | None = None) -> str:
    """Return the entity tag of a file, with its quotes.

    The time of its last change is in it, which nobody can set back, beside the time
    that it was written. A file that was changed within the last tick of the clock
    could be changed again without its times telling so; its tag is weak for that
    long.

    Args:
        found: State of the file.
        now_ns: Time since 1970 in nanoseconds; now when left out.
    """
    changed = found.st_ctime_ns
    now = time.time_ns() if now_ns is None else now_ns
    weak = "W/" if -TICK_NS < now - changed < TICK_NS else ""
    size, written = found.st_size, found.st_mtime_ns
    return f'{weak}"{found.st_ino:x}-{size:x}-{written:x}-{changed:x}"'


@functools.lru_cache(maxsize=4096)
def http_date(seconds: int) -> str:
    """Return a time as headers and properties write it.

    Names are English and the zone is GMT whatever the machine is set to; times
    outside the years 1 to 9999 become the nearest one inside.

    Args:
        seconds: Since 1970.
    """
    at = _calendar(seconds)
    return (
        f"{_DAYS[at.tm_wday]}, {at.tm_mday:02} {_MONTHS[at.tm_mon - 1]} "
        f"{at.tm_year:04} {at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02} GMT"
    )


@functools.lru_cache(maxsize=4096)
def iso_date(seconds: int) -> str:
    """Return a time in the form of RFC 3339, as creation dates are written."""
    at = _calendar(seconds)
    return (
        f"{at.tm_year:04}-{at.tm_mon:02}-{at.tm_mday:02}"
        f"T{at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02}Z"
    )


def _calendar(seconds: int) -> time.struct_time:
    return time.gmtime(min(max(seconds, _FIRST_SECOND), _LAST_SECOND))


def parse_date(text: str) -> int | None:
    """Return the seconds since 1970 of an HTTP date, or None if it is none."""
    try:
        return int(parsedate_to_datetime(text).timestamp())
    except (ValueError, TypeError, OverflowError):
        return None


def is_conditional(request: Conditional) -> bool:
    """Say whether a request depends on the state of what it is about."""
    return any(request.header(name) is not None for name in _CONDITIONS)


def is_not_modified(request: Conditional, found: os.stat_result | None) -> bool:
    """Evaluate the conditions of a request (RFC 9110, 13.2.2).

    Args:
        request: The request.
        found: What is at its place, if anything is.

    Returns:
        Whether a read is answered with 304.

    Raises:
        LaneError: 412, a condition does not hold.
    """
    match, unless = request.header("IF_MATCH"), request.header("IF_NONE_MATCH")
    if match is not None:
        if found is None or not _matches(match, found, weakly=False):
            raise _failed()
    elif found is not None and _is_newer(found, request.header("IF_UNMODIFIED_SINCE")):
        raise _failed()
    is_read = request.method in ("GET", "HEAD")
    if unless is not None:
        if found is None or not _matches(unless, found, weakly=True):
            return False
        if not is_read:
            raise _failed()
        return True
    since = request.header("IF_MODIFIED_SINCE")
    return (
        is_read
        and found is not None
        and (seconds := parse_date(since or "")) is not None
        and seconds <= time.time()
        and not _is_newer(found, since)
    )


def must_be_new(request: Conditional) -> bool:
    """Say whether a request may only make what is not there yet."""
    return (request.header("IF_NONE_MATCH") or "").strip() == "*"


def may_use_range(request: Conditional, found: os.stat_result) -> bool:
    """Say whether a part of a file may stand for the rest the client has.

    ``If-Range`` holds for the same strong tag, or the very same date.
    """
    value = request.header("IF_RANGE")
    if value is None:
        return True
    value = value.strip()
    if value.endswith('"'):
        return value == etag_of(found) and not value.startswith("W/")
    return parse_date(value) == int(found.st_mtime)


def _matches(value: str, found: os.stat_result, *, weakly: bool) -> bool:
    if value.strip() == "*":
        return True
    if stat.S_ISDIR(found.st_mode):
        return False
    own = etag_of(found)
    if weakly:
        own = own.removeprefix("W/")
        return any(tag == own for _, tag in _TAG.findall(value))
    return any(not weak and tag == own for weak, tag in _TAG.findall(value))


def _is_newer(found: os.stat_result, since: str | None) -> bool:
    seconds = parse_date(since) if since else None
    return seconds is not None and int(found.st_mtime) > seconds


def _failed() -> LaneError:
    return LaneError(
        HTTPStatus.PRECONDITION_FAILED,
        "precondition_failed",
        "this is not in the state that the request asks for; look at it again",
    )
