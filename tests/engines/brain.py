"""A model with just enough sense for a conformance run: it obeys, reads and copies."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.support.model_reply import Reply
from tests.support.model_server import Asked

_EXACTLY = re.compile(r"[Rr]eply with exactly:? (\w+)")
_NAMED = re.compile(r"into a new file named (\S+?),")
_INPUT = re.compile(r'- "[^"\n]*" \(saved as ([^)\n]+)\)')
_FOLDER = re.compile(r"^\[Conduck file transfer\] .* go in: (\S+)$", re.MULTILINE)
_PICTURE = re.compile(r"[A-Za-z0-9+/]{200,}={0,2}")

_ACROSS, _DOWN = 5, 7
_SHAPES = (
    "01110 10001 10001 10001 10001 10001 01110",
    "00100 01100 00100 00100 00100 00100 01110",
    "01110 10001 00001 00010 00100 01000 11111",
    "11110 00001 00001 01110 00001 00001 11110",
    "00010 00110 01010 10010 11111 00010 00010",
    "11111 10000 11110 00001 00001 10001 01110",
    "00110 01000 10000 11110 10001 10001 01110",
    "11111 00001 00010 00100 01000 01000 01000",
    "01110 10001 10001 01110 10001 10001 01110",
    "01110 10001 10001 01111 00001 00010 01100",
)
"""Digits of five by seven blocks, as most displays had them."""

Write = Callable[[Path, str], Reply]


def texts_of(value: Any) -> Iterator[str]:
    """Yield every text of a request, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_of(item)


def brain(folder: Path, write: Write) -> Callable[[Asked], Reply]:
    """Return what answers as a helpful model would.

    Args:
        folder: The working folder of the engine.
        write: Returns what a model says that writes a file.
    """

    def think(asked: Asked) -> Reply:
        kinds = ("messages", "input", "contents")
        turns: list[Any] = next(
            (asked.json[kind] for kind in kinds if kind in asked.json), []
        )
        said = [
            text
            for turn in turns
            if turn.get("role") == "user"
            for text in texts_of(turn)
        ]
        words = "\n".join(said)
        named, given, place = (
            pattern.findall(words) for pattern in (_NAMED, _INPUT, _FOLDER)
        )
        if named and given and place:
            target = folder / place[-1] / named[-1]
            if target.exists():
                return Reply("Done.")
            content = (folder / given[-1]).read_text("utf-8")
            return write(target, content)
        if "digits shown in the image" in words:
            pictures = [text for text in said if _PICTURE.search(text)]
            return Reply(digits_of(pictures[-1]) if pictures else "no picture")
        exact = _EXACTLY.findall(words)
        return Reply(exact[-1] if exact else "pong")

    return think


def digits_of(text: str) -> str:
    """Return the digits in a grey PNG of black blocks, given in base64."""
    found = _PICTURE.search(text)
    assert found is not None
    rows = _pixels(base64.b64decode(found[0]))
    dark = [any(row[column] < 128 for row in rows) for column in range(len(rows[0]))]
    lines = [
        number for number, row in enumerate(rows) if any(pixel < 128 for pixel in row)
    ]
    top, bottom = lines[0], lines[-1] + 1
    starts = [at for at, is_dark in enumerate(dark) if is_dark and not dark[at - 1]]
    ends = [at + 1 for at, is_dark in enumerate(dark) if is_dark and not dark[at + 1]]
    width = max(end - start for start, end in zip(starts, ends, strict=True))
    # A narrow digit stands in the middle of its place.
    return "".join(
        _digit(rows, (start + end - width) // 2, width, top, bottom)
        for start, end in zip(starts, ends, strict=True)
    )


def _digit(rows: list[bytes], left: int, width: int, top: int, bottom: int) -> str:
    height = bottom - top
    seen = [
        rows[top + (2 * down + 1) * height // (2 * _DOWN)][
            left + (2 * across + 1) * width // (2 * _ACROSS)
        ]
        < 128
        for down in range(_DOWN)
        for across in range(_ACROSS)
    ]

    def distance(digit: int) -> int:
        shape = [sign == "1" for sign in _SHAPES[digit].replace(" ", "")]
        return sum(one is not other for one, other in zip(seen, shape, strict=True))

    return str(min(range(10), key=distance))


def _pixels(data: bytes) -> list[bytes]:
    width, height = struct.unpack(">II", data[16:24])
    packed, start = b"", 8
    while start < len(data):
        size = int.from_bytes(data[start : start + 4], "big")
        if data[start + 4 : start + 8] == b"IDAT":
            packed += data[start + 8 : start + 8 + size]
        start += 12 + size
    flat = zlib.decompress(packed)
    assert all(flat[row * (width + 1)] == 0 for row in range(height)), "no filter"
    return [
        flat[row * (width + 1) + 1 : (row + 1) * (width + 1)] for row in range(height)
    ]
