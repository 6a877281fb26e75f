"""Where the files of a program are, so that a confined engine can still be run.

A program is a file, what runs it (the first line of a script), and the installation
that it is a part of: a virtual environment, a Python or Node of one's own, the
outermost ``node_modules``. A folder of a person is no installation: of
``~/.local`` only the libraries count, and a script in ``~/bin`` stands for itself.

What lies where the engine may write says nothing: in one turn it could put a link to
any file in the place of its program, and read that in the next.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

_INTERPRETERS = 4
"""How many scripts may stand behind each other; the kernel takes as many."""

_MOST_LINKS = 40
_HEAD = 4096
_TRAMPOLINE = re.compile(rb"'''exec' (?:\"([^\"]+)\"|(\S+))")
"""How installers of Python name an interpreter whose path is too long for ``#!``."""

_SIGNS = ("pyvenv.cfg", "conda-meta", "lib/node_modules")
"""What shows that a folder with a ``bin`` is an installation."""


def program_paths(
    argv: Sequence[str],
    path: str,
    home: str | None,
    writable: Collection[Path] = (),
) -> set[Path]:
    """Return the files and folders that a program is made of.

    Files that the other words of argv name are its own too: the operator wrote them,
    such as a script after its interpreter.

    Args:
        argv: The program and its arguments.
        path: The engine's PATH.
        home: The home of the user who runs the service.
        writable: Folders in which the engine may write, with links resolved.
    """
    folders = ":".join(item for item in path.split(":") if item.startswith("/"))
    first = shutil.which(argv[0], path=folders)
    named = [word for word in argv[1:] if word.startswith("/")]
    files = [*([first] if first else []), *filter(os.path.isfile, named)]
    person = Path(home or "/")
    found: set[Path] = set()
    for file in files:
        for part in _with_interpreters(Path(file), folders, writable):
            found |= {part, *_installations(part, person)}
    return found


def is_within(path: Path, folders: Collection[Path]) -> bool:
    """Say whether a path, or anything that it is a link to, lies in a folder."""
    places = (Path(os.path.realpath(step.parent)) for step in _links(path))
    return any(not {place, *place.parents}.isdisjoint(folders) for place in places)


def _with_interpreters(
    file: Path, folders: str, writable: Collection[Path]
) -> Iterator[Path]:
    """Yield a program and what runs it, each as it is called and as it lies."""
    for _ in range(_INTERPRETERS):
        if is_within(file, writable):
            return
        yield from _links(file)
        called = _interpreter(file)
        found = called and shutil.which(called, path=folders)
        if not found:
            return
        file = Path(found)


def _links(file: Path) -> Iterator[Path]:
    """Yield a file as it is called, then where each link of it leads."""
    for _ in range(_MOST_LINKS):
        yield file
        place = Path(os.path.realpath(file.parent), file.name)
        if place != file:
            yield place
        if not place.is_symlink():
            return
        file = place.parent / place.readlink()


def _interpreter(file: Path) -> str | None:
    try:
        with file.open("rb") as opened:
            head = opened.read(_HEAD)
    except OSError:
        return None
    if not head.startswith(b"#!"):
        return None
    first, _, rest = head[2:].partition(b"\n")
    if match := _TRAMPOLINE.match(rest):
        return os.fsdecode(match[1] or match[2])
    words = first.split()
    if words and words[0].endswith(b"/env"):
        words = [word for word in words[1:] if b"=" not in word and word[:1] != b"-"]
    return os.fsdecode(words[0]) if words else None


def _installations(file: Path, home: Path) -> Iterator[Path]:
    if "node_modules" in file.parts:
        yield Path(*file.parts[: file.parts.index("node_modules") + 1])
    prefix = file.parent.parent
    if file.parent.name != "bin":
        return
    libraries = list(prefix.glob("lib/python3*"))
    if prefix == home / ".local" or prefix == home or prefix in home.parents:
        yield from libraries
    elif libraries or any((prefix / sign).exists() for sign in _SIGNS):
        yield prefix
