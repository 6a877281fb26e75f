"""A parsed chat request: messages and their parts, in the shape they came in."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

EARLIER_IMAGE = (
    "An image was attached in this earlier message, but this adapter cannot "
    "inspect it. Do not infer its contents."
)
"""Stands in the place of an earlier image that is not forwarded (C-IMG-09)."""

OMITTED_ATTACHMENT = "An unsupported attachment was omitted."
"""Stands in the place of a part of unknown type (C-CONTENT-17)."""

IMAGE_CARRIER = "The user sent an image with no accompanying text."
"""Text of an image-only turn, for engines that refuse empty prompts."""

TRANSFER_LINE = "[Conduck file transfer] "
"""Begins the line of the newest message that names a folder for files."""


class Role(StrEnum):
    """Who wrote a message."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text that a person or an engine wrote, kept character by character."""

    text: str


@dataclass(frozen=True, slots=True, eq=False)
class ImagePart:
    """An inline image; each one is itself, equal bytes or not.

    Attributes:
        uri: The whole data URI as the sender wrote it, in ASCII.
        media_type: Its media type in lower case, such as ``image/jpeg``; empty
            when the URI is not a usable image, which only an earlier message
            may hold (C-IMG-14).
        data_start: Where the base64 text begins in ``uri``.
        size: Number of bytes that the base64 text decodes to.
    """

    uri: bytes
    media_type: str = ""
    data_start: int = 0
    size: int = 0

    @property
    def is_usable(self) -> bool:
        """Whether the URI holds an image that can be decoded."""
        return bool(self.media_type)


@dataclass(frozen=True, slots=True)
class UnsupportedPart:
    """A part of a type that this version does not know."""


Part = TextPart | ImagePart | UnsupportedPart


@dataclass(frozen=True, slots=True)
class Message:
    """One message; ``content`` keeps the shape it came in, text or parts."""

    role: Role
    content: str | tuple[Part, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content as parts; plain text is one text part."""
        if isinstance(self.content, str):
            return (TextPart(self.content),)
        return self.content

    @property
    def images(self) -> tuple[ImagePart, ...]:
        """The images of the message, in order."""
        return tuple(part for part in self.parts if isinstance(part, ImagePart))


@dataclass(frozen=True, slots=True)
class Conversation:
    """A whole conversation as one request carries it, oldest message first.

    ``messages`` is never empty and its last element is from the user; the chat
    ingress sees to that before it makes one.
    """

    messages: tuple[Message, ...]

    @property
    def newest(self) -> Message:
        """The current turn."""
        return self.messages[-1]

    @property
    def earlier(self) -> tuple[Message, ...]:
        """All messages before the current turn."""
        return self.messages[:-1]

    @property
    def names_folder(self) -> bool:
        """Whether the current turn names a folder for files.

        This yes or no is all that is ever read out of message text; the folder
        itself identifies nothing.
        """
        texts = (part.text for part in self.newest.parts if isinstance(part, TextPart))
        return any(
            text.startswith(TRANSFER_LINE) or f"\n{TRANSFER_LINE}" in text
            for text in texts
        )
