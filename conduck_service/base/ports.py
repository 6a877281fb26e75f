"""Who has a port that is taken, as far as the system tells without a tool."""

from __future__ import annotations

import contextlib
import errno
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


def why_not_bound(port: int, error: OSError, fewer_threads: str) -> str:
    """Return why a listener did not start, and what to do about it.

    Args:
        port: On 127.0.0.1.
        error: What the system said; without a number it was about threads.
        fewer_threads: How to need fewer of them, up to an "or"; may be empty.
    """
    if error.errno is None:
        return f"{error}; {fewer_threads}raise ulimit -u"
    if error.errno == errno.EADDRINUSE:
        holder = holder_of(port)
        if holder:
            return (
                f"port {port} on 127.0.0.1 is taken by {holder}; end that program, or "
                "set another port"
            )
        return (
            f"port {port} on 127.0.0.1 is taken by another program; end that program, "
            f"or set another port (ss -ltnp 'sport = :{port}', or "
            f"lsof -nP -iTCP:{port} on a Mac, shows who has it)"
        )
    if error.errno == errno.EACCES:
        return f"port {port} may not be opened by this user; set one above 1023"
    return f"port {port} on 127.0.0.1 cannot be opened; set another port"
