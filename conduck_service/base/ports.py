"""Who has a port that is taken, as far as the system tells without a tool."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_LISTENS = "0A"


def holder_of(port: int) -> str:
    """Return who listens on a port, such as ``nginx (process 71)``, or nothing.

    Only processes of the caller's own user are seen, and only on Linux.
    """
    sockets = {f"socket:[{inode}]" for inode in _listening(port)}
    if not sockets:
        return ""
    for folder in _PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has gone, or is another user's
            if sockets & set(_descriptors(folder)):
                name = (folder / "comm").read_text("utf-8", "replace").strip()
                return f"{_printable(name)} (process {folder.name})"
    return ""


def _listening(port: int) -> Iterator[str]:
    """Yield the inodes of the sockets that listen on a port."""
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            lines = (_PROC / "net" / table).read_text("ascii").splitlines()[1:]
            for words in map(str.split, lines):
                if words[3] == _LISTENS and words[1].endswith(f":{port:04X}"):
                    yield words[9]


def _descriptors(folder: Path) -> Iterator[str]:
    """Yield what the descriptors of a process are open on."""
    for entry in (folder / "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed in the meantime
            yield str(entry.readlink())


def _printable(name: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in name)
