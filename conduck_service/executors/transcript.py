"""From a conversation to the one prompt that a command engine takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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

_LABELS = {Role.USER: "User", Role.ASSISTANT: "Assistant"}
_OPENING = "Conversation so far, oldest message first.\n\n"
_CLOSING = "The newest message, from the user and to be answered now, follows.\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt in two pieces; together they are what the engine reads.

    Attributes:
        earlier: Labelled transcript of the earlier messages, or nothing.
        newest: The newest message, bare.
    """

    earlier: str
    newest: str

    @property
    def text(self) -> str:
        """The whole prompt."""
        return self.earlier + self.newest


def build_prompt(
    conversation: Conversation,
    paths: Mapping[ImagePart, Path],
    *,
    name_paths: bool,
    carrier: bool,
) -> Prompt:
    """Return the prompt of a conversation.

    One message goes bare (C-CONTENT-22). Several become a transcript in their
    order, each with its role, same-role runs kept (C-SNAP-05), the newest one
    last and bare, so that nothing competes with it (C-CONTENT-21).

    Args:
        conversation: The snapshot.
        paths: Files of the images that are forwarded; an earlier image that has
            none is disclosed in its place.
        name_paths: Whether the text names the files of forwarded images.
        carrier: Whether a fixed sentence stands in for an empty newest text
            beside an image.
    """
    named = {
        image: f"Attached image file: {path}" if name_paths else None
        for image, path in paths.items()
    }
    newest = _newest_text(conversation.newest, named, carrier=carrier)
    if not conversation.earlier:
        return Prompt(earlier="", newest=newest)
    turns = [
        f"{_LABELS[message.role]}:\n{_earlier_text(message, named)}\n\n"
        for message in conversation.earlier
    ]
    return Prompt(earlier=_OPENING + "".join(turns) + _CLOSING, newest=newest)


def _newest_text(
    message: Message, named: Mapping[ImagePart, str | None], *, carrier: bool
) -> str:
    text = join_parts(
        [_text_of(part) for part in message.parts if not isinstance(part, ImagePart)]
    )
    if carrier and is_image_only(message.parts):
        text = IMAGE_CARRIER
    lines = [line for image in message.images if (line := named.get(image))]
    return "\n".join([text, *lines] if text else lines)


def is_image_only(parts: Sequence[Part]) -> bool:
    """Say whether a person wrote nothing at all beside an image (C-CONTENT-12)."""
    written = [part for part in parts if part != TextPart("")]
    return bool(written) and all(isinstance(part, ImagePart) for part in written)


def _earlier_text(message: Message, named: Mapping[ImagePart, str | None]) -> str:
    return join_parts(
        [
            text
            for part in message.parts
            if (text := _earlier_part(part, named)) is not None
        ]
    )


def _earlier_part(part: Part, named: Mapping[ImagePart, str | None]) -> str | None:
    """Return what stands for a part, or None for an image sent beside the text."""
    if isinstance(part, ImagePart):
        return named.get(part, EARLIER_IMAGE)  # C-IMG-09 to C-IMG-11
    return _text_of(part)


def _text_of(part: Part) -> str:
    return part.text if isinstance(part, TextPart) else OMITTED_ATTACHMENT


def join_parts(texts: Sequence[str]) -> str:
    """Join part texts with exactly one newline between parts (C-CONTENT-06)."""
    return "\n".join(texts)
