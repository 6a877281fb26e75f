"""Pictures of six digits, drawn as PNG without any library."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
import struct
import zlib

_SEGMENTS = {
    "0": "abcdef",
    "1": "bc",
    "2": "abged",
    "3": "abgcd",
    "4": "fgbc",
    "5": "afgcd",
    "6": "afgedc",
    "7": "abc",
    "8": "abcdefg",
    "9": "abcdfg",
}
"""Which of the seven bars of a display a digit has, a to f clockwise, g across."""

_BAR = 16
_LONG = 64
_CELL = 100
_MARGIN = 24
_BARS = {
    "a": (0, 0, _LONG, _BAR),
    "b": (_LONG - _BAR, 0, _BAR, _LONG),
    "c": (_LONG - _BAR, _LONG - _BAR, _BAR, _LONG),
    "d": (0, 2 * _LONG - 2 * _BAR, _LONG, _BAR),
    "e": (0, _LONG - _BAR, _BAR, _LONG),
    "f": (0, 0, _BAR, _LONG),
    "g": (0, _LONG - _BAR, _LONG, _BAR),
}
"""Left, top, width and height of each bar, in points."""

DIGITS = 6


def random_digits() -> str:
    """Return six digits that nobody can guess."""
    return "".join(secrets.choice("0123456789") for _ in range(DIGITS))


def picture_of(digits: str) -> bytes:
    """Return a grey PNG with digits of black bars on white."""
    width = 2 * _MARGIN + _CELL * len(digits)
    height = 2 * _MARGIN + 2 * _LONG - _BAR
    rows = [bytearray(b"\xff" * width) for _ in range(height)]
    for index, digit in enumerate(digits):
        for bar in _SEGMENTS[digit]:
            left, top, across, down = _BARS[bar]
            start = _MARGIN + index * _CELL + left
            for row in rows[_MARGIN + top : _MARGIN + top + down]:
                row[start : start + across] = bytes(across)
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    chunks = (_chunk(b"IHDR", head), _chunk(b"IDAT", data), _chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def data_uri(picture: bytes) -> str:
    """Return a PNG as the app hands over its photos."""
    return "data:image/png;base64," + base64.b64encode(picture).decode("ascii")


def names_digits(answer: str, digits: str) -> bool:
    """Say whether an answer has the digits, as a run or one by one."""
    runs = re.findall(r"\d(?:[ .,-]?\d)*", answer)
    return digits in {re.sub(r"\D", "", run) for run in runs}


def names_digest(answer: str, digits: str) -> bool:
    """Say whether an answer has the SHA-256 of the picture of these digits.

    An engine without AI, such as the demo's, can prove in this way that it got it.
    """
    return hashlib.sha256(picture_of(digits)).hexdigest() in answer.lower()


def _chunk(name: bytes, data: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(name + data))
    return struct.pack(">I", len(data)) + name + data + check
