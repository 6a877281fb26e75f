"""What kind of content a file is said to have, by its name alone."""

from __future__ import annotations

import functools
import mimetypes

DEFAULT = "application/octet-stream"

# Our own table instead of the machine's, so that answers are alike everywhere.
_TYPES = mimetypes.MimeTypes()
for _ending, _type in (
    (".md", "text/markdown"),
    (".yaml", "application/yaml"),
    (".yml", "application/yaml"),
    (".toml", "application/toml"),
    (".webp", "image/webp"),
    (".heic", "image/heic"),
    (".heif", "image/heif"),
    (".avif", "image/avif"),
    (".dng", "image/x-adobe-dng"),
    (".m4a", "audio/mp4"),
    (".flac", "audio/flac"),
    (".ogg", "audio/ogg"),
    (".opus", "audio/opus"),
    (".parquet", "application/vnd.apache.parquet"),
    (".ipynb", "application/x-ipynb+json"),
    (
        ".docx",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    (".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    (
        ".pptx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ),
    (".epub", "application/epub+zip"),
    (".rtf", "application/rtf"),
    (".gz", "application/gzip"),
    (".ts", "text/x-typescript"),
):
    _TYPES.add_type(_type, _ending)


def media_type_of(name: str) -> str:
    """Return the media type of a file with this name."""
    _, dot, ending = name.rpartition(".")
    return _of_ending(ending) if dot else DEFAULT


@functools.lru_cache(maxsize=512)
def _of_ending(ending: str) -> str:
    return _TYPES.types_map[True].get(f".{ending.lower()}", DEFAULT)
