"""A working folder with an engine in it, and messages as the app writes them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

PROGRAM = "conduck_service.demo_engine"
CONVERSATION = "0F0E0D0C-1111-4222-8333-444455556666"
FOLDER = f"{CONVERSATION}/out-0123456789abcdef0123456789abcdef"
LIST = (
    "The following file(s) are in your working directory"
    " \N{EM DASH} use them for this request:"
)
OUTBOUND = f"[Conduck file transfer] Files you produce for this reply go in: {FOLDER}"


def run_engine(
    prompt: bytes, cwd: Path, argv: Sequence[str] = ()
) -> subprocess.CompletedProcess[bytes]:
    """Run one turn as a process of its own and return what it did."""
    return subprocess.run(
        [sys.executable, "-I", "-m", PROGRAM, *argv],
        input=prompt,
        cwd=cwd,
        capture_output=True,
        timeout=30,
        check=False,
    )


def listing(*files: tuple[str, str]) -> str:
    """Return the app's list block for files given as label and path."""
    return "\n".join([LIST, *(_bullet(label, path) for label, path in files)])


def _bullet(label: str, path: str) -> str:
    is_bare = all(
        letter.isascii() and (letter.isalnum() or letter in "._-/") for letter in path
    )
    shown = path if is_bare else f'"{path}"'
    return f'- "{label}" (saved as {shown})'


@dataclass(kw_only=True)
class Lane:
    """A working folder below which a conversation's files stand."""

    root: Path
    sent: list[tuple[str, str]] = field(default_factory=list)

    def send(self, label: str, content: bytes) -> str:
        """Put a file where the app would upload it, and return its path."""
        safe = "".join(
            letter if letter.isascii() and letter.isalnum() else "_"
            for letter in label.rpartition(".")[0]
        )
        suffix = label.rpartition(".")[2]
        path = f"{CONVERSATION}/{len(self.sent):08x}__{safe}.{suffix}"
        (self.root / CONVERSATION).mkdir(exist_ok=True)
        (self.root / path).write_bytes(content)
        self.sent.append((label, path))
        return path

    def message(self, words: str, *, outbound: str | None = OUTBOUND) -> str:
        """Return the newest message: words, the list and the outbound line."""
        blocks = [words] if words else []
        if self.sent:
            blocks.append(listing(*self.sent))
        if outbound is not None:
            blocks.append(outbound)
        return "\n\n".join(blocks)

    def ask(self, words: str, *, outbound: str | None = OUTBOUND) -> str:
        """Run a turn and return the answer; a failure of the engine fails here."""
        done = run_engine(
            self.message(words, outbound=outbound).encode("utf-8"), self.root
        )
        assert done.returncode == 0, done.stderr.decode()
        assert done.stderr == b""
        return done.stdout.decode("utf-8")

    def made(self) -> dict[str, bytes]:
        """Return the files handed back, by name."""
        folder = self.root / FOLDER
        if not folder.exists():
            return {}
        return {item.name: item.read_bytes() for item in folder.iterdir()}

    def has_folder(self) -> bool:
        """Say whether the folder for files of the reply was made."""
        return (self.root / FOLDER).exists()
