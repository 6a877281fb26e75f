"""Reads QR codes with a decoder that is not ours, from where our program puts them."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from collections.abc import Sequence
from itertools import chain, pairwise, repeat
from typing import Any
from xml.etree import ElementTree

import zxingcpp

PREFIX = "conduck-setup:v1:"

Pixels = Sequence[Sequence[int]]
"""Rows of grey values from 0, which is black, to 255."""

_SCALE = 4
_ANSI = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])")
_GREY = {16: 0, 231: 255}
_HALVES = {" ": (0, 0), "▀": (1, 0), "▄": (0, 1), "█": (1, 1)}


def read_code(pixels: Pixels) -> str:
    """Return the text of the one QR code in a picture."""
    rows = [
        bytes(chain.from_iterable(repeat(x, _SCALE) for x in row)) for row in pixels
    ]
    data = b"".join(row * _SCALE for row in rows)
    shape = (len(rows) * _SCALE, len(rows[0]))
    picture: Any = memoryview(data).cast("B", shape=shape)
    # A phone looks for codes as they should be; an inverted one may be passed by.
    (found,) = zxingcpp.read_barcodes(picture, try_invert=False, try_downscale=False)
    assert found.format == zxingcpp.BarcodeFormat.QRCode
    text: str = found.text
    return text


def payload(code: str) -> Any:
    """Return what a setup code says."""
    assert code.startswith(PREFIX)
    data = base64.b64decode(code.removeprefix(PREFIX), validate=True)
    text = data.decode("ascii")
    value = json.loads(text)
    assert text == json.dumps(value, separators=(",", ":"))
    return value


def of_png(data: bytes) -> Pixels:
    """Return the pixels of a PNG that has one bit for each."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert (depth, kind) == (1, 0)
    place, packed = 8, b""
    while place < len(data):
        (size,) = struct.unpack(">I", data[place : place + 4])
        if data[place + 4 : place + 8] == b"IDAT":
            packed += data[place + 8 : place + 8 + size]
        place += size + 12
    raw = zlib.decompress(packed)
    step = (width + 7) // 8 + 1
    rows = [bytearray(raw[at * step : (at + 1) * step]) for at in range(height)]
    for above, row in pairwise([bytearray(step), *rows]):
        assert row[0] in {0, 2}, "a filter that is not read here"
        if row[0] == 2:  # the difference to the row above
            row[1:] = bytes(
                (a + b) % 256 for a, b in zip(above[1:], row[1:], strict=True)
            )
    return [
        [255 * (row[1 + x // 8] >> (7 - x % 8) & 1) for x in range(width)]
        for row in rows
    ]


def of_svg(data: bytes) -> Pixels:
    """Return the modules of an SVG that draws lines of dark ones on a light ground."""
    root = ElementTree.fromstring(data)  # noqa: S314 - our own answer
    paths = root.findall(".//{http://www.w3.org/2000/svg}path")
    ground, dark = (path.attrib["d"] for path in paths)
    (size,) = re.findall(r"^M0 0h(\d+)v\1h-\1z$", ground)
    pixels = [[255] * int(size) for _ in range(int(size))]
    x = y = 0.0
    for kind, one, two in re.findall(r"([Mmh])(-?[\d.]+)(?: (-?[\d.]+))?", dark):
        if kind == "h":
            for column in range(int(x), int(x) + int(one)):
                pixels[int(y)][column] = 0
            x += float(one)
        else:
            x, y = (0.0, 0.0) if kind == "M" else (x, y)
            x, y = x + float(one), y + float(two)
    return pixels


def of_terminal(text: str, *, columns: int, paper: int) -> Pixels:
    """Return what a terminal shows: two pixels for each cell.

    Args:
        text: What was printed.
        columns: Width of the terminal; a longer line is cut off.
        paper: The grey value of its background, with letters of the other.
    """
    rows: list[list[int]] = []
    for line in text.replace("\r\n", "\n").rstrip("\n").split("\n"):
        ink, ground, place = 255 - paper, paper, 0
        upper, lower = [paper] * columns, [paper] * columns
        for part in re.split(r"(\x1b\[[0-9;]*m)", line):
            if match := _ANSI.fullmatch(part):
                ink, ground = _colours(match[1], ink, ground, paper)
                continue
            for sign in part[: columns - place]:
                pair = _HALVES.get(sign, (0, 1))
                upper[place], lower[place] = (ink if bit else ground for bit in pair)
                place += 1
        rows += [upper, lower]
    return rows


def _colours(codes: str, ink: int, ground: int, paper: int) -> tuple[int, int]:
    if codes == "0":
        return 255 - paper, paper
    numbers = [int(code) for code in codes.split(";")]
    while numbers:
        what, five, colour, *numbers = numbers
        assert five == 5, "colours that a theme may change"
        if what == 38:
            ink = _GREY[colour]
        else:
            assert what == 48
            ground = _GREY[colour]
    return ink, ground


def quiet_zone(pixels: Pixels) -> int:
    """Return how many light pixels there are on each side of what is dark, at least."""
    size = len(pixels)
    dark = [(x, y) for y in range(size) for x in range(size) if pixels[y][x] == 0]
    across, down = [x for x, _ in dark], [y for _, y in dark]
    return min(*across, *down, size - 1 - max(across), size - 1 - max(down))
