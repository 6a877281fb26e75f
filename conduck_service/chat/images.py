"""Inline images of a request: what a data URI says, and what may be forwarded."""

from __future__ import annotations

import re

from conduck_service.domain.conversation import Conversation, ImagePart
from conduck_service.domain.errors import ErrorCode, ServiceError
from conduck_service.extension.executor import Capabilities

_HEAD = re.compile(
    rb"data:(?P<type>image/[a-z0-9][a-z0-9.+-]*)(?:;[^;,]*)*;base64,", re.IGNORECASE
)
_HEAD_LIMIT = 4096
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def is_inline(uri: bytes) -> bool:
    """Say whether the address is a ``data:`` URI, in any case (C-IMG-21)."""
    return uri[:5].lower() == b"data:"


def read_image(uri: bytes) -> ImagePart:
    """Return the image of a ``data:`` URI.

    One that is no base64 image comes back unusable; whether that is an error
    depends on which message it is in (C-IMG-14, C-IMG-20).
    """
    head = _HEAD.match(uri[:_HEAD_LIMIT])
    if head is None:
        return ImagePart(uri)
    size = _decoded_size(uri, head.end())
    if size == 0:
        return ImagePart(uri)
    media_type = head["type"].decode("ascii").lower()
    return ImagePart(uri, media_type, head.end(), size)


def _decoded_size(uri: bytes, start: int) -> int:
    """Return how many bytes the base64 text decodes to; 0 when it is none."""
    length = len(uri) - start
    if length == 0 or length % 4:
        return 0
    padding = 2 if uri.endswith(b"==") else 1 if uri.endswith(b"=") else 0
    # Deleting the alphabet is several times faster than a regular expression.
    foreign = uri[start:].translate(None, _ALPHABET)
    return 0 if len(foreign) != padding else length // 4 * 3 - padding


def check_images(
    conversation: Conversation, capabilities: Capabilities, max_image_bytes: int
) -> None:
    """Refuse the request when an image of the current turn cannot be forwarded.

    All or nothing: one bad image refuses the whole request (C-IMG-01, C-IMG-08).
    Earlier images never refuse anything (C-IMG-12, C-IMG-13).

    Raises:
        ServiceError: IMAGE_UNSUPPORTED, IMAGE_TOO_LARGE or MALFORMED_REQUEST.
    """
    images = conversation.newest.images
    if not images:
        return
    if not capabilities.images:
        raise ServiceError(
            ErrorCode.IMAGE_UNSUPPORTED,
            "the engine behind this model does not support image input",
        )
    wanted = capabilities.image_types
    for image in images:
        if image.size > max_image_bytes:
            raise ServiceError(
                ErrorCode.IMAGE_TOO_LARGE,
                f"an image is too large; the limit is {max_image_bytes} bytes",
            )
        if wanted and image.media_type not in wanted:  # C-IMG-36
            raise ServiceError(
                ErrorCode.MALFORMED_REQUEST,
                "a picture has a media type other than " + ", ".join(wanted),
            )
