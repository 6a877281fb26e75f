"""A person who does what a page says, in a shell and a home of her own.

The checkout that she stands in has the scripts and the examples of this one, and a
``.venv`` whose commands are those under test. The ports of the pages are replaced by
free ones. What stays in the foreground runs beside the shell, as in another terminal.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tests.support.pages import Block, blocks_for
from tests.support.service import free_port, variables, wait_until
from tests.support.trace import ROOT

TYPED = "made-up-value"
"""What is typed where a command asks for something."""

_STAYS = re.compile(r"(?:\.venv/bin/)?open-conduit serve|make run")
_READY = " ready "
_SECONDS = 45.0
_COPIED = ("Makefile", "README.md", "pyproject.toml", "scripts")
_PROGRAM = """\
#!/bin/sh
case ${{1-}} in
  init|demo)
    word=$1; shift
    set -- "$word" --chat-port {chat} --files-port {files} "$@";;
esac
exec {python} -m conduck_service "$@"
"""


class Reader:
    """A person with an empty home.

    Args:
        root: Where all of it lies.
        seconds: After so long no step ends well any more.

    Attributes:
        home: Her home folder.
        checkout: A clone of the project, as good as one.
        chat: The port of chat.
        files: That of the file lane.
    """

    def __init__(self, root: Path, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self.home = root / "home"
        self.checkout = root / "checkout"
        self.chat, self.files = free_port(), free_port()
        self._root = root
        self._count = 0
        self._log: Path | None = None
        self.home.mkdir(mode=0o700)
        self._make_checkout()
        self._out = root / "out"
        self._shell = self._start()

    def _make_checkout(self) -> None:
        programs = self.checkout / ".venv/bin"
        programs.mkdir(parents=True)
        for name in _COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, self.checkout / name)
            else:
                shutil.copy(ROOT / name, self.checkout / name)
        examples = shutil.copytree(
            ROOT / "docs/howto/examples", self.checkout / "docs/howto/examples"
        )
        for file in examples.rglob("*.json"):
            file.write_text(self.own(file.read_text("utf-8")), "utf-8")
        python = shlex.quote(sys.executable)
        text = _PROGRAM.format(chat=self.chat, files=self.files, python=python)
        for name in ("open-conduit", "conduck"):
            (programs / name).write_text(text, "utf-8")
            (programs / name).chmod(0o755)
        (programs.parent / ".setup-done").touch()

    def _start(self) -> subprocess.Popen[bytes]:
        environment = variables({"HOME": str(self.home), "LC_ALL": "C.UTF-8"})
        with self._out.open("wb") as out:
            return subprocess.Popen(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail"],
                cwd=self.checkout,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
            )

    def own(self, text: str) -> str:
        """Return a text of the page with the ports that are hers."""
        own = {"8480": str(self.chat), "8481": str(self.files)}
        return re.sub(r"\b848[01]\b", lambda found: own[found[0]], text)

    def write(self, name: str, text: str) -> Path:
        """Write a file; ``~`` is the home, anything else is in the checkout."""
        home = str(self.home)
        path = self.checkout / name.replace("~", home)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.own(text).replace("/home/me", home), "utf-8")
        return path

    def run(self, text: str, typed: str = TYPED) -> str:
        """Do what a text says, to its end; return what was printed.

        A line that stays in the foreground is the last, and is ended before the next
        of its kind, or when she is done.
        """
        *_, last = text.strip().splitlines()
        stays = _STAYS.fullmatch(last.strip()) is not None
        before = text.strip().removesuffix(last) if stays else text
        printed = self._do(before, typed) if before.strip() else ""
        return printed + self._serve(last) if stays else printed

    def _do(self, text: str, typed: str) -> str:
        self._count += 1
        step, done = self._root / f"step{self._count}", self._root / "done"
        step.write_text(self.own(text) + "\n", "utf-8")
        (self._root / "typed").write_text(f"{typed}\n", "utf-8")
        start = self._out.stat().st_size
        self._tell(f". {step} < {self._root}/typed; echo > {done}")
        wait_until(
            lambda: done.exists() or self._shell.poll() is not None, self._seconds
        )
        printed = self._out.read_bytes()[start:].decode("utf-8", "replace")
        assert done.exists(), f"this failed:\n{text}\nand printed:\n{printed}"
        done.unlink()
        return printed

    def _serve(self, line: str) -> str:
        self.end()
        self._count += 1
        log = self._log = self._root / f"log{self._count}"
        self._do(f"set -m; {line} > {log} 2>&1 & set +m; served=$!", TYPED)
        wait_until(lambda: log.exists() and _READY in log.read_text("utf-8"), _SECONDS)
        return log.read_text("utf-8")

    def end(self) -> None:
        """Press Ctrl-C where something stays in the foreground."""
        if self._log is not None:
            self._do('kill -INT -- "-$served"; wait "$served" || true', TYPED)
            self._log = None

    def leave(self) -> None:
        """Be done, whatever happened."""
        if self._shell.poll() is None:
            if self._log is not None:
                self._tell('kill -INT -- "-$served" || true; wait "$served" || true')
            self._tell("exit")
        assert self._shell.stdin is not None
        self._shell.stdin.close()
        self._shell.wait(30)

    def _tell(self, line: str) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.write(f"{line}\n".encode())
        self._shell.stdin.flush()


class Person(Protocol):
    """Who does what a page says."""

    def run(self, text: str, typed: str = TYPED, /) -> str:
        """Do what a text says, to its end; return what was printed."""
        ...

    def write(self, name: str, text: str, /) -> Path:
        """Write a file; ``~`` is the home."""
        ...


class Following:
    """A page that is followed from its first command to its last."""

    def __init__(self, reader: Person, page: str, runner: str) -> None:
        self._reader = reader
        self._blocks = blocks_for(page, runner)
        assert self.is_going_on, page

    def do(self, typed: str = TYPED) -> str:
        """Do what the next commands say, after writing the files before them."""
        while (block := self._blocks.pop(0)).file is not None:
            self._write(block)
        return self._reader.run(block.text, typed)

    @property
    def is_going_on(self) -> bool:
        """Whether there are more commands."""
        return any(block.file is None for block in self._blocks)

    def finish(self) -> None:
        """Do all that is left."""
        while self.is_going_on:
            self.do()

    def _write(self, block: Block) -> None:
        assert block.file is not None
        path = self._reader.write(block.file, block.text)
        if block.text.startswith("#!"):
            path.chmod(0o755)


@contextmanager
def following(reader: Person, page: str, runner: str = "") -> Iterator[Following]:
    """Follow a page; when the block ends, all of it must have been followed."""
    it = Following(reader, page, runner)
    yield it
    it.finish()


@contextmanager
def reading(
    root: Path, more: Mapping[str, str] | None = None, seconds: float = _SECONDS
) -> Iterator[Reader]:
    """Be a reader in a folder that is empty, with more variables."""
    reader = Reader(root, seconds)
    try:
        for name, value in (more or {}).items():
            reader.run(f"export {name}={shlex.quote(value)}")
        yield reader
    finally:
        reader.leave()
