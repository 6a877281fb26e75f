"""From a conversation to the message array of an OpenAI-style server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from conduck_service.base.jsonio import JsonValue
from conduck_service.domain.conversation import (
    EARLIER_IMAGE,
    IMAGE_CARRIER,
    OMITTED_ATTACHMENT,
    Conversation,
    ImagePart,
    Message,
    Part,
    Role,
    TextPart,
)
from conduck_service.executors.http.settings import HttpConfig
from conduck_service.executors.transcript import is_image_only, join_parts

_Content = str | list[JsonValue]


@dataclass(frozen=True, slots=True)
class _Said:
    """A message as the server gets it."""

    role: Role
    content: _Content


def build_messages(conversation: Conversation, config: HttpConfig) -> list[JsonValue]:
    """Return the messages of a conversation in their order (C-CONTENT-23).

    Each message stays one (C-SNAP-07), unless the server wants the sides to take
    turns; then a run of one side becomes one message that holds every part of it
    (C-SNAP-06). Servers that get no images get plain text, since many of them know
    nothing else.
    """
    newest = conversation.newest
    said = [
        *(_earlier(message, config) for message in conversation.earlier),
        _Said(newest.role, _content(_with_carrier(newest, config), config)),
    ]
    if config.alternation == "strict":
        said = [
            _Said(role, _joined([message.content for message in run]))
            for role, run in groupby(said, key=lambda message: message.role)
        ]
    return [{"role": str(item.role), "content": item.content} for item in said]


def _earlier(message: Message, config: HttpConfig) -> _Said:
    if isinstance(message.content, str):
        return _Said(message.role, message.content)
    forwards = config.history_images == "forward"
    parts = tuple(
        TextPart(EARLIER_IMAGE)  # C-IMG-09 to C-IMG-11
        if isinstance(part, ImagePart) and not (forwards and part.is_usable)
        else part
        for part in message.content
    )
    return _Said(message.role, _content(parts, config))


def _with_carrier(message: Message, config: HttpConfig) -> str | tuple[Part, ...]:
    """Return a content, the fixed sentence in it where a server needs one.

    It takes the place of an empty text beside an image, never of one that a person
    wrote (C-CONTENT-11, C-CONTENT-12).
    """
    content = message.content
    if isinstance(content, str) or config.empty_prompt != "carrier":
        return content
    if not is_image_only(content):
        return content
    images = tuple(part for part in content if isinstance(part, ImagePart))
    return (TextPart(IMAGE_CARRIER), *images)


def _content(content: str | tuple[Part, ...], config: HttpConfig) -> _Content:
    if isinstance(content, str):
        return content
    if config.images == "none":
        return join_parts([_text(part) for part in content])
    return [_part(part) for part in content]


def _part(part: Part) -> JsonValue:
    if isinstance(part, ImagePart):
        # C-IMG-35: not a byte of the URI is touched.
        return {"type": "image_url", "image_url": {"url": part.uri.decode("ascii")}}
    return {"type": "text", "text": _text(part)}


def _text(part: Part) -> str:
    return part.text if isinstance(part, TextPart) else OMITTED_ATTACHMENT


def _joined(contents: Sequence[_Content]) -> _Content:
    """Return one content that holds several; a single one stays as it is."""
    if len(contents) == 1:
        return contents[0]
    texts = [content for content in contents if isinstance(content, str)]
    if len(texts) == len(contents):
        return join_parts(texts)
    parts: list[JsonValue] = []
    for content in contents:
        if isinstance(content, str):
            parts.append({"type": "text", "text": content})
        else:
            parts.extend(content)
    return parts
