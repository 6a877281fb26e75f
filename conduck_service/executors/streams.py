"""Standard input and output of an engine: files in memory instead of pipes.

A pipe is held open by whoever inherited it, so its reader waits for a forgotten
grandchild; a file has a size that can be looked at, and its end is its end.

On Linux seals keep an engine from filling memory through its input and from
emptying its output. An engine may set seals of its own; none of them hurts us.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import tempfile
from types import TracebackType
from typing import BinaryIO


def _anonymous_file() -> BinaryIO:
    """Return a file without a name; on Linux it never touches a disk."""
    if sys.platform != "linux":
        return tempfile.TemporaryFile(buffering=0)
    descriptor = os.memfd_create("turn", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    return os.fdopen(descriptor, "w+b", buffering=0)


class EngineFile:
    """One of the three files of an engine; a context manager that closes it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    @classmethod
    def holding(cls, text: str) -> EngineFile:
        """Return a file for reading that holds the text in UTF-8.

        A path in the text may hold bytes that are not UTF-8; they come out as
        they are.
        """
        file = _anonymous_file()
        view = memoryview(text.encode("utf-8", "surrogateescape"))
        while view:
            view = view[file.write(view) :]
        file.seek(0)
        if sys.platform == "linux":
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals | fcntl.F_SEAL_SEAL)
        return cls(file)

    @classmethod
    def empty(cls) -> EngineFile:
        """Return a file for writing, in which nothing is ever overwritten.

        Appending keeps the pieces whole when several processes of the engine
        write with descriptors of their own. A ``> /dev/stdout`` opens the file
        anew and would empty it; on Linux that is an error of who does it, unless
        nothing was printed before.
        """
        file = _anonymous_file()
        flags = fcntl.fcntl(file, fcntl.F_GETFL)
        fcntl.fcntl(file, fcntl.F_SETFL, flags | os.O_APPEND)
        if sys.platform == "linux":
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        return cls(file)

    def __enter__(self) -> EngineFile:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._file.fileno()

    def size(self) -> int:
        """Return how many bytes the file holds."""
        return os.fstat(self._file.fileno()).st_size

    def content(self, limit: int) -> bytes:
        """Return what was written, at most ``limit`` bytes of it."""
        return os.pread(self._file.fileno(), min(self.size(), limit), 0)

    def close_writing(self) -> None:
        """Let the file grow no more; what it holds is given back at its close.

        Where files have no seals it is emptied instead. An engine that forbids
        either gains nothing: it is being killed.
        """
        with contextlib.suppress(OSError):
            if sys.platform == "linux":
                fcntl.fcntl(self._file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)
            else:
                os.ftruncate(self._file.fileno(), 0)
