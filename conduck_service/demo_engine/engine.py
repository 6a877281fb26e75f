"""The demo engine: an engine without AI, run once for each turn.

Usage: python -I -m conduck_service.demo_engine
    [--earlier-messages N] [--earlier-photos N] [--newest-bytes N]
    [--photo PATH [MEDIA_TYPE]]...

It is a demo and has no AI. It reads a prompt from standard input, says what it
was sent, makes the files that the newest message plainly asks for, and prints
its answer. Its models are called demo and demo-photos; only the second is
given photos. The working folder is where it is started.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from conduck_service.demo_engine.files import (
    OutboundFolder,
    open_inside,
    read_chunks,
)
from conduck_service.demo_engine.message import Listed, Message, read_message
from conduck_service.demo_engine.requests import (
    MOST_FILES,
    Request,
    Wish,
    read_request,
)

SAMPLE = "This is a sample made by the demo engine of conduck-service, without AI.\n"

_EXACTLY = r"\s*reply with exactly:(?: |[ \t]*\r?\n)?"
_MOST_NAMED = 20
_MEDIA_TYPES = {"jpg": "image/jpeg", "svg": "image/svg+xml", "bin": "unknown"}


class Turn(NamedTuple):
    """What the command line tells of a turn.

    Attributes:
        earlier_messages: How many messages the conversation had before.
        earlier_photos: How many photos those messages carried.
        newest_bytes: How many bytes at the end of the prompt are the newest
            message; None when all of it is.
        photos: Path and media type of each photo of this turn.
    """

    earlier_messages: int = 0
    earlier_photos: int = 0
    newest_bytes: int | None = None
    photos: tuple[tuple[str, str], ...] = ()


def read_argv(argv: Sequence[str]) -> Turn:
    """Return what the arguments say.

    Raises:
        ValueError: An argument is unknown, or its value missing or no number.
    """
    counts: dict[str, int] = {}
    photos: list[tuple[str, str]] = []
    words = list(argv)
    while words:
        option = words.pop(0)
        if not words or option not in _OPTIONS:
            raise ValueError(f"what does {option} mean? try --help")
        value = words.pop(0)
        if option != "--photo":
            counts[_OPTIONS[option]] = int(value)
            continue
        has_type = bool(words) and words[0] not in _OPTIONS
        photos.append((value, words.pop(0) if has_type else _media_type(value)))
    return Turn(photos=tuple(photos), **counts)


_OPTIONS = {
    "--earlier-messages": "earlier_messages",
    "--earlier-photos": "earlier_photos",
    "--newest-bytes": "newest_bytes",
    "--photo": "",
}


def _media_type(path: str) -> str:
    kind = path.rpartition(".")[2].lower()
    return _MEDIA_TYPES.get(kind, f"image/{kind}")


def answer(turn: Turn, prompt: bytes) -> str:
    """Return the answer to a turn, once every file it speaks of is written."""
    newest = prompt
    if turn.newest_bytes is not None:
        newest = prompt[max(0, len(prompt) - turn.newest_bytes) :]
    message = read_message(newest.decode("utf-8", "replace"))
    exact = re.match(_EXACTLY, message.words, re.IGNORECASE)
    if exact and message.words[exact.end() :].strip():
        return message.words[exact.end() :]
    sentences = [
        "This is the demo engine of conduck-service.",
        "It has no AI.",
        f"It was sent {_count(turn.earlier_messages, 'earlier message')}"
        f" and {_count(turn.earlier_photos, 'earlier photo')}.",
        *map(_describe_photo, turn.photos),
        *_describe_listed(message.listed),
        *_hand_over(message, read_request(message)),
    ]
    return "\n".join(sentences) + "\n"


def _count(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    return f"{number or 'no'} {noun}s"


def _shown(name: str) -> str:
    """Return a name in quotes; what cannot be read out is left out."""
    return '"' + "".join(letter for letter in name if letter.isprintable()) + '"'


def _describe_photo(photo: tuple[str, str]) -> str:
    path, media_type = photo
    digest = hashlib.sha256()
    size = 0
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - pathlib starts slowly
            for chunk in read_chunks(file.fileno()):
                digest.update(chunk)
                size += len(chunk)
    except (OSError, ValueError):
        return f"A photo of type {media_type} could not be opened."
    return (
        f"A photo has the type {media_type}, {_count(size, 'byte')}"
        f" and the SHA-256 {digest.hexdigest()}."
    )


def _describe_listed(listed: Sequence[Listed]) -> Iterable[str]:
    for item in listed[:_MOST_NAMED]:
        try:
            descriptor = open_inside(item.path)
        except (OSError, ValueError):
            yield f"The file {_shown(item.label)} could not be opened."
            continue
        size = os.fstat(descriptor).st_size
        os.close(descriptor)
        yield f"It opened the file {_shown(item.label)}: {_count(size, 'byte')}."
    if len(listed) > _MOST_NAMED:
        yield f"{len(listed) - _MOST_NAMED} more files are listed."


def _hand_over(message: Message, request: Request) -> Iterable[str]:
    """Make the files that are asked for, and say what came of each."""
    for name in request.missing:
        yield f"It was not sent a file called {_shown(name)}, so it copied nothing."
    if request.unusable:
        yield f"{_count(request.unusable, 'name')} cannot be the name of a file."
    if not request.wishes:
        return
    if not message.folder:
        yield "It was given no folder for files, so it made none."
        return
    folder = OutboundFolder(message.folder)
    try:
        for wish in request.wishes[:MOST_FILES]:
            yield _make(wish, message, folder.write)
    finally:
        folder.close()
    if len(request.wishes) > MOST_FILES:
        yield f"It makes at most {MOST_FILES} files in a turn and left out the rest."


def _make(
    wish: Wish, message: Message, write: Callable[[str, bytes | int], int]
) -> str:
    name = _shown(wish.name)
    if wish.listed is None:
        text = SAMPLE if wish.text is None else wish.text
        what = "a sample" if wish.text is None else "the given text"
        return _written(name, what, lambda: write(wish.name, text.encode("utf-8")))
    item = message.listed[wish.listed]
    try:
        source = open_inside(item.path)
    except (OSError, ValueError):
        return f"It did not make {name}, because it could not open the file to copy."
    try:
        what = f"a copy of {_shown(item.label)}"
        return _written(name, what, lambda: write(wish.name, source))
    finally:
        os.close(source)


def _written(name: str, what: str, write: Callable[[], int]) -> str:
    try:
        size = write()
    except OSError as error:
        reason = error.strerror or str(error)
        return f"It could not make {name}: {reason.lower()}."
    return f"It made {name}, {what}, {_count(size, 'byte')}."


def main() -> None:
    """Read the prompt, do what it asks for and print the answer."""
    if "--help" in sys.argv[1:]:
        sys.stdout.write(__doc__ or "")
        return
    try:
        turn = read_argv(sys.argv[1:])
    except ValueError as error:
        sys.exit(f"demo_engine: {error}")
    text = answer(turn, sys.stdin.buffer.read())
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
