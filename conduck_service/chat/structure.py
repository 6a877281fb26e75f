"""Refuses a body whose structure would cost far more than its size.

Parsing holds up every other thread, and a list of nothing but empty lists makes
twenty-six bytes of memory out of each of its own. A real request has a few
thousand values, whatever its size.
"""

from __future__ import annotations

from conduck_service.domain.errors import ErrorCode, ServiceError

MOST_VALUES = 100_000

_MARKS = (b"[", b"{", b",")
_KEY = b'"url"'


def check_structure(body: bytearray) -> None:
    """Refuse a body with more than 100,000 values.

    Counting the marks is quick. Only when there are too many is what stands in
    strings left out, since text may hold any number of commas.

    Raises:
        ServiceError: MALFORMED_REQUEST.
    """
    # Unescaped quotes cannot stand inside a string, so this counts keys.
    if body.count(_KEY) <= MOST_VALUES and (
        _marks(body) <= MOST_VALUES or _marks(_outside_strings(body)) <= MOST_VALUES
    ):
        return
    raise ServiceError(
        ErrorCode.MALFORMED_REQUEST, f"the body has more than {MOST_VALUES} JSON values"
    )


def _marks(data: bytes | bytearray) -> int:
    return sum(data.count(mark) for mark in _MARKS)


def _outside_strings(body: bytearray) -> bytes | bytearray:
    """Return what stands between the strings; the body itself if those are many."""
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    if plain.count(b'"') > 4 * MOST_VALUES:  # keys and values, two quotes each
        return body
    return b"".join(plain.split(b'"')[::2])
