"""Images of a turn as private files that an engine can open."""

from __future__ import annotations

import binascii
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from conduck_service.base.ids import new_id
from conduck_service.domain.conversation import ImagePart

_EXTENSIONS = {
    "image/jpeg": ".jpg",
    "image/jpg": ".jpg",
    "image/png": ".png",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "image/heic": ".heic",
    "image/heif": ".heif",
    "image/bmp": ".bmp",
    "image/tiff": ".tiff",
    "image/svg+xml": ".svg",
    "image/avif": ".avif",
}
_UNKNOWN_EXTENSION = ".bin"


def write_images(
    images: Iterable[ImagePart], folder: Path, interrupted: Callable[[], object]
) -> dict[ImagePart, Path]:
    """Write each image to a file of its own and return the files.

    It stops early, with some of the files, when the turn has to end.

    The bytes are exactly what the data URI decodes to (C-IMG-23). Names are
    random with an extension from a fixed table, so nothing of the request gets
    into a path (C-IMG-31). Files are readable by their owner only (C-IMG-28).

    Raises:
        OSError: A file could not be written; the turn must not go on.
    """
    written = {}
    for image in images:
        if interrupted():
            break
        written[image] = _write(image, folder)
    return written


def _write(image: ImagePart, folder: Path) -> Path:
    extension = _EXTENSIONS.get(image.media_type, _UNKNOWN_EXTENSION)
    path = folder / (new_id("image") + extension)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "wb") as file:  # noqa: PTH123 - a descriptor
        file.write(binascii.a2b_base64(memoryview(image.uri)[image.data_start :]))
    return path
