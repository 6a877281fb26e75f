"""What a model without hands may do with files: two actions that we carry out.

It reads inside the working folder and writes into the folder that the newest message
names, and nowhere else (F-OUT-14, F-OUT-15). What it may not do is told to it in words,
so that it can do better; that is no failure of the turn.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from conduck_service.base.ids import new_id
from conduck_service.base.jsonio import JsonValue
from conduck_service.domain.conversation import TRANSFER_LINE, Conversation, TextPart
from conduck_service.domain.filename import is_taken_by_app
from conduck_service.executors.beneath import FOLDER, open_folder, read_file

WRITE = "write_file"
READ = "read_file"

DONE = "done: "
"""Begins what is told of a file that was written."""

MOST_READ = 262_144
"""Bytes of a file that are read; a model has no use for more at once."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

# JSON may hold half of a pair, and no path can.
_HALF_PAIR = re.compile("[\ud800-\udfff]")


class RefusedError(Exception):
    """Raised when an action is not carried out; the text is for the model."""


def named_folder(conversation: Conversation) -> str | None:
    """Return the folder that the newest message names, relative to the working folder.

    The last line counts: what a person wrote or pasted stands before it. None when no
    line names a usable one, which is neither absolute nor leads upwards.
    """
    lines = [
        line
        for part in conversation.newest.parts
        if isinstance(part, TextPart)
        for line in part.text.split("\n")
        if line.startswith(TRANSFER_LINE)
    ]
    if not lines:
        return None
    path = lines[-1].partition(": ")[2].strip().rstrip("/")
    return path if _steps(path) else None


class FileActions:
    """The actions of one turn.

    Args:
        root: The working folder, absolute and without links.
        target: What :func:`named_folder` returned.
        scratch: Returns a private folder of the turn inside the given one.
    """

    def __init__(
        self, root: Path, target: str | None, scratch: Callable[[Path | None], Path]
    ) -> None:
        self._root = root
        self._target = target
        self._scratch = scratch

    def run(self, name: str, arguments: Mapping[str, JsonValue]) -> str:
        """Carry out an action and return what the model is told of it."""
        actions = {WRITE: self._write, READ: self._read}
        if name not in actions:
            return f"not done: there is no such tool; there are {WRITE} and {READ}"
        try:
            return actions[name](arguments)
        except RefusedError as refused:
            return f"not done: {refused}"
        except OSError as error:
            return f"not done: {error.strerror or 'the system refused it'}"

    def _write(self, arguments: Mapping[str, JsonValue]) -> str:
        folder, name = self._place(_text(arguments, "path"))
        data = _data(arguments)
        with open_folder(self._root, folder, make=True) as target:
            _put(self._scratch(self._root), target, name, data)
        return f"{DONE}{len(data)} bytes are in {self._target}/{name}"

    def _place(self, path: str) -> tuple[list[str], str]:
        """Return the steps to the named folder and the name in it.

        Raises:
            RefusedError: The path is not directly in that folder.
        """
        if self._target is None:
            raise RefusedError("this message names no folder for files")
        head, _, name = path.removeprefix("./").rpartition("/")
        if head != self._target:
            raise RefusedError(f"write to {self._target}/NAME, and nowhere else")
        if not is_taken_by_app(name):
            raise RefusedError("use a plain name for the file")
        return _steps(head), name

    def _read(self, arguments: Mapping[str, JsonValue]) -> str:
        steps = _steps(_text(arguments, "path").removeprefix("./"))
        if not steps:
            raise RefusedError("use a path below the working folder, without ..")
        with open_folder(self._root, steps[:-1]) as folder:
            data = read_file(folder, steps[-1], MOST_READ + 1)
        if b"\0" in data:
            raise RefusedError("the file holds no text")
        text = data[:MOST_READ].decode("utf-8", "replace")
        if len(data) <= MOST_READ:
            return text
        return f"{text}\n[cut off after {MOST_READ} bytes]"


def _steps(path: str) -> list[str]:
    """Return the steps of a relative path; none for a path that is not used.

    Hidden folders are those of programs, the service's own among them.
    """
    steps = path.split("/")
    is_usable = all(step and step[0] != "." and "\0" not in step for step in steps)
    return steps if is_usable and _HALF_PAIR.search(path) is None else []


def _text(arguments: Mapping[str, JsonValue], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str):
        raise RefusedError(f"{name} is missing, or no text")
    return value


def _data(arguments: Mapping[str, JsonValue]) -> bytes:
    if "content_base64" not in arguments:
        return _text(arguments, "content").encode("utf-8", "replace")
    if "content" in arguments:
        raise RefusedError("give content or content_base64, not both")
    try:
        return base64.b64decode(_text(arguments, "content_base64"), validate=True)
    except (binascii.Error, ValueError):
        raise RefusedError("content_base64 is no base64") from None


def _put(scratch: Path, folder: int, name: str, data: bytes) -> None:
    """Put a file into a folder, whole or not at all.

    It grows in a private folder of the turn, which is cleared away with the turn even
    after a crash. What stands under the name is replaced; a link is not followed.
    """
    source = os.open(scratch, FOLDER)
    draft = new_id("file")
    try:
        with os.fdopen(os.open(draft, _NEW, 0o666, dir_fd=source), "wb") as file:
            file.write(data)
        os.replace(draft, name, src_dir_fd=source, dst_dir_fd=folder)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(draft, dir_fd=source)
        os.close(source)
