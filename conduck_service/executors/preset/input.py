"""What an engine of a preset reads: its prompt, and photos of the newest message."""

from __future__ import annotations

import binascii
import json
import zlib
from collections.abc import Iterator

from conduck_service.domain.conversation import (
    OMITTED_ATTACHMENT,
    Conversation,
    ImagePart,
    TextPart,
)
from conduck_service.executors.preset.frame import Input, Preset
from conduck_service.executors.transcript import build_prompt, join_parts

ASK_FOR_WORDS = (
    "Your last turn ended without a word to the user. What it did is done; do not do "
    "it again. Answer the user's message now, in words."
)
"""The prompt of a second round, after a bare tool turn."""

_MARK = "\ufeff"
"""Byte order mark: in front of a text it says nothing that UTF-8 needs to be told."""


def written_prompt(preset: Preset, conversation: Conversation) -> str:
    """Return what stands on standard input.

    What a person wrote is in it character by character (C-SEC-05).
    """
    prompt = build_prompt(conversation, {}, name_paths=False, carrier=False)
    if preset.input is Input.TEXT:
        return _framed(preset, prompt.text)
    blocks = [_text_block(prompt.earlier)] if prompt.earlier else []
    return _message_line([*blocks, *_newest_blocks(conversation)])


def written_request(preset: Preset, text: str) -> str:
    """Return a prompt of our own as it stands on standard input."""
    if preset.input is Input.TEXT:
        return _framed(preset, text)
    return _message_line([_text_block(text)])


def _framed(preset: Preset, text: str) -> str:
    before, behind = preset.frame
    framed = before + text + behind
    is_short = preset.drops_mark and framed.startswith(_MARK)
    return _MARK + framed if is_short else framed


def _message_line(blocks: list[dict[str, object]]) -> str:
    # The engine looks for commands and references in the last block only.
    message = {"role": "user", "content": [*blocks, _text_block("")]}
    return json.dumps({"type": "user", "message": message}) + "\n"


def _newest_blocks(conversation: Conversation) -> Iterator[dict[str, object]]:
    """Yield the newest message in its order; texts without a picture between join."""
    texts: list[str] = []
    for part in conversation.newest.parts:
        if not isinstance(part, ImagePart):
            texts.append(
                part.text if isinstance(part, TextPart) else OMITTED_ATTACHMENT
            )
            continue
        yield from _joined(texts)
        texts = []
        data = str(memoryview(part.uri)[part.data_start :], "ascii")
        source = {"type": "base64", "media_type": part.media_type, "data": data}
        yield {"type": "image", "source": source}
    yield from _joined(texts)


def _joined(texts: list[str]) -> Iterator[dict[str, object]]:
    if text := join_parts(texts):
        yield _text_block(text)


def _text_block(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


def is_sound(image: ImagePart) -> bool:
    """Say whether an image is what its media type says, and whole as far as one sees.

    Most engines leave a broken one out without a word and answer, which would be an
    answer about a picture that nobody saw (C-IMG-06).
    """
    check = _CHECKS.get(image.media_type)
    data = binascii.a2b_base64(memoryview(image.uri)[image.data_start :])
    return check is None or check(data)


def _is_png(data: bytes) -> bool:
    """Walk through the chunks, with their check sums, to the last."""
    if not data.startswith(b"\x89PNG\r\n\x1a\n") or data[12:16] != b"IHDR":
        return False
    start = 8
    while start + 12 <= len(data):
        end = start + 12 + int.from_bytes(data[start : start + 4], "big")
        if int.from_bytes(data[end - 4 : end], "big") != zlib.crc32(
            memoryview(data)[start + 4 : end - 4]
        ):
            return False
        if data[start + 4 : start + 8] == b"IEND":
            return True
        start = end
    return False


def _is_jpeg(data: bytes) -> bool:
    """Walk through the segments to the scan; cameras add bytes behind the end."""
    start = 2
    if not data.startswith(b"\xff\xd8"):
        return False
    has_frame = False
    while data[start : start + 1] == b"\xff":
        kind = data[start + 1] if start + 1 < len(data) else 0
        if kind == 0xFF:
            start += 1
            continue
        if kind == 0xDA:
            return has_frame and b"\xff\xd9" in data[-65_536:]
        has_frame = has_frame or (0xC0 <= kind <= 0xCF and kind not in _NO_FRAMES)
        start += 2 + int.from_bytes(data[start + 2 : start + 4], "big")
    return False


_NO_FRAMES = (0xC4, 0xC8, 0xCC)


def _is_gif(data: bytes) -> bool:
    return data.startswith((b"GIF87a", b"GIF89a")) and data.rstrip(b"\0")[-1:] == b";"


def _is_webp(data: bytes) -> bool:
    size = int.from_bytes(data[4:8], "little")
    return data.startswith(b"RIFF") and data[8:12] == b"WEBP" and size + 8 <= len(data)


_CHECKS = {
    "image/png": _is_png,
    "image/jpeg": _is_jpeg,
    "image/jpg": _is_jpeg,
    "image/gif": _is_gif,
    "image/webp": _is_webp,
}
