"""A running demo for tests: one command, its files and its ports."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from tests.support.service import PROGRAM, free_port, user, variables, wait_until

END = "Ctrl-C ends it."


class Demo:
    """A running demo.

    Attributes:
        folder: What it was told to use.
        port: Its chat port.
        files_port: The port of its file lane.
        out: The file that its standard output goes to.
        err: Likewise standard error.
    """

    def __init__(self, folder: Path, port: int, files_port: int, scratch: Path) -> None:
        self.folder = folder
        self.port = port
        self.files_port = files_port
        self.out = scratch / "out"
        self.err = scratch / "err"

    @property
    def token(self) -> str:
        """The bearer token of its chat listener."""
        return self.secret("chat_token")

    def secret(self, name: str) -> str:
        """Return a value of its secrets.json."""
        text = (self.folder / "config/secrets.json").read_text()
        found: str = json.loads(text)[name]
        return found

    def lane(self, method: str, path: str, **options: Any) -> requests.Response:
        """Send a request to its file lane."""
        return requests.request(
            method,
            f"http://127.0.0.1:{self.files_port}/{path}",
            auth=("conduck", self.secret("files_password")),
            timeout=60,
            **options,
        )

    def ask(self, content: Any, **more: Any) -> requests.Response:
        """POST one user message; ``more`` are keys of the body."""
        return requests.post(
            f"http://127.0.0.1:{self.port}/v1/chat/completions",
            headers={"Authorization": f"Bearer {self.token}"},
            data=json.dumps({"messages": [user(content)], **more}),
            timeout=60,
        )

    def answer(self, content: Any, **more: Any) -> str:
        """Send one user message and return the answer of a good turn."""
        response = self.ask(content, **more)
        assert response.status_code == 200, response.text
        found: str = response.json()["choices"][0]["message"]["content"]
        return found

    def commands(self) -> list[str]:
        """Return the commands of the greeting, each as a person would paste it."""
        words = self.out.read_text().replace("\\\n", "")
        return [line[2:] for line in words.splitlines() if line.startswith("  ")]


@contextmanager
def demo(
    folder: Path,
    scratch: Path,
    *options: str,
    cwd: Path | None = None,
    port: int = 0,
    files_port: int = 0,
) -> Iterator[Demo]:
    """Run the demo during the block; it must then end with status 0."""
    ports = (port or free_port(), files_port or free_port())
    found = Demo((cwd or Path.cwd()) / folder, *ports, scratch)
    argv = [*PROGRAM, "demo", "--dir", str(folder), "--chat-port", str(found.port)]
    argv += ["--files-port", str(found.files_port)]
    with found.out.open("wb") as out, found.err.open("wb") as err:
        process = subprocess.Popen(
            [*argv, *options],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=variables(),
            cwd=cwd,
        )
    try:
        wait_until(
            lambda: END in found.out.read_text() or process.poll() is not None, 20
        )
        assert process.poll() is None, found.err.read_text()
        yield found
        process.send_signal(signal.SIGINT)  # what Ctrl-C sends
        assert process.wait(20) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(10)
