"""Takes inline images out of a request body before it becomes text.

A body of 50 MiB is nearly all base64. Decoded to text together with one emoji it
would take four bytes a character, so the images never become text: they are cut
out of the bytes, and each is held once.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

_OPENING = re.compile(rb'"url"[ \t\n\r]*:[ \t\n\r]*"(?=(?i:data:))')
"""What stands in front of a data URI; blanks may be many, so no loop of ours."""

# What may stand in a JSON string without an escape, within ASCII.
_PLAIN = bytes(ord(char) for char in map(chr, range(0x20, 0x7F)) if char not in '"\\')


@dataclass(frozen=True, slots=True)
class Carved:
    """A body without its inline images.

    Attributes:
        text: The JSON text, with a short unguessable word for each image.
        images: The data URI that each word stands for.
    """

    text: bytes
    images: Mapping[str, bytes]


def carve(body: bytearray) -> Carved:
    r"""Cut the data URIs of ``"url"`` keys out of a body.

    In valid JSON the bytes ``"url"``, a colon and a quote can only be a key and
    the beginning of its value (or the tail of a longer key, which nobody reads):
    inside a string every quote is escaped. What is cut out holds no quote, no
    control character and no escape but ``\/``, so the text is valid JSON after
    the cut exactly when it was before. Anything unusual stays for the parser.
    """
    nonce = secrets.token_hex(16)
    pieces: list[bytes | bytearray] = []
    images: dict[str, bytes] = {}
    done = 0
    for opening in _OPENING.finditer(body):
        start = opening.end()
        end = body.find(b'"', start)
        uri = _unescaped(body, start, end)
        if uri is None:
            continue
        word = f"{nonce}-{len(images)}"
        images[word] = uri
        pieces += (body[done:start], word.encode("ascii"))
        done = end
    pieces.append(body[done:])
    return Carved(b"".join(pieces), images)


def _unescaped(body: bytearray, start: int, end: int) -> bytes | None:
    if end < 0:
        return None
    uri = bytes(memoryview(body)[start:end]).replace(b"\\/", b"/")
    return None if uri.translate(None, _PLAIN) else uri
