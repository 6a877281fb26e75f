"""A real daemon for tests: written config, started program, real port.

with running(tmp_path, engine=stub(tmp_path, ["obey"])) as service:
    answer = service.chat("Reply with exactly: pong")
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from tests.support.documents import document

STUB = Path(__file__).with_name("stub_engine.py")
PROGRAM = (sys.executable, "-m", "conduck_service")
TOKEN = "test-token-9f8e7d6c5b4a"
PASSWORD = "test-password-0a1b2c3d4e5f"
READY_SECONDS = 20.0
COVERAGE = "COVERAGE_PROCESS_CONFIG"
"""Tells processes that they are measured, while coverage runs."""

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAA"
    "ggCBd81ytgAAAABJRU5ErkJggg=="
)
"""A grey PNG of one pixel, in base64."""


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody has at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until the condition is true; fail when it is not in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not come true in time"
        time.sleep(0.01)


def user(content: Any) -> dict[str, Any]:
    """Return a user message."""
    return {"role": "user", "content": content}


def assistant(content: Any) -> dict[str, Any]:
    """Return an assistant message."""
    return {"role": "assistant", "content": content}


def text(value: str) -> dict[str, Any]:
    """Return a text part."""
    return {"type": "text", "text": value}


def image(data: str = PIXEL, media_type: str = "image/png") -> dict[str, Any]:
    """Return an image part of base64 data."""
    url = f"data:{media_type};base64,{data}"
    return {"type": "image_url", "image_url": {"url": url}}


@dataclass(frozen=True, slots=True)
class Stub:
    """A stub engine: its argv, and where it records its runs."""

    argv: tuple[str, ...]
    folder: Path

    @property
    def records(self) -> list[dict[str, Any]]:
        """What the runs recorded, oldest first."""
        files = sorted(self.folder.glob("*.json"))
        return [json.loads(file.read_text("ascii")) for file in files]

    @property
    def only(self) -> dict[str, Any]:
        """The record of the one run that there was."""
        (record,) = self.records
        return record

    def clear(self) -> None:
        """Forget the runs so far; none may be under way."""
        for file in self.folder.iterdir():
            file.unlink()


def stub(folder: Path, *steps: list[Any], name: str = "stub") -> Stub:
    """Return a stub engine that does these steps; see stub_engine.py."""
    records = folder / f"records-{name}"
    records.mkdir(exist_ok=True)
    argv = (sys.executable, "-I", "-S", str(STUB), str(records), json.dumps(steps))
    return Stub(argv, records)


def binding(
    engine: Stub, *arguments: str, name: str = "engine", **config: Any
) -> dict[str, Any]:
    """Return a command binding of a stub; ``config`` are more of its keys.

    Keys of the binding itself (secret_names, timeout_seconds, pass_env) are taken
    out of ``config``.
    """
    own = ("secret_names", "timeout_seconds", "pass_env")
    outer = {key: config.pop(key) for key in own if key in config}
    settings = {"argv": [*engine.argv, *arguments], "cwd": "../folder", **config}
    return {"name": name, "executor": "command", "config": settings, **outer}


@dataclass(slots=True)
class Service:
    """A daemon under test.

    Attributes:
        root: Holds config/, state/, folder/ and the log.
        port: Of the chat listener.
        options: More options of ``serve``.
        process: The running program; replaced by :meth:`start`.
    """

    root: Path
    port: int
    environment: dict[str, str]
    token: str = TOKEN
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] = field(init=False)

    @property
    def log(self) -> str:
        """Everything that the daemon printed so far."""
        return (self.root / "log").read_text("utf-8")

    @property
    def folder(self) -> Path:
        """The working folder of the engines."""
        return self.root / "folder"

    @property
    def files_port(self) -> int:
        """The port of the file lane."""
        text = (self.root / "config/config.json").read_text("utf-8")
        port: int = next(
            entry["config"]["port"]
            for scope in json.loads(text)["scopes"]
            for entry in scope["extensions"]
            if entry["type"] == "conduck_files"
        )
        return port

    @property
    def state(self) -> Path:
        """The state directory."""
        return self.root / "state"

    @property
    def scratch(self) -> list[Path]:
        """Everything that lies in the scratch root."""
        return list((self.state / "scratch").rglob("*"))

    def start(self) -> None:
        """Start the program and wait until it says that it is ready."""
        argv = [*PROGRAM, "serve", "--config", str(self.root / "config/config.json")]
        with (self.root / "log").open("ab") as log:
            start = log.tell()
            self.process = subprocess.Popen(
                [*argv, "--data-dir", str(self.state), *self.options],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=self.environment,
            )
        wait_until(
            lambda: " ready " in self.log[start:] or self.process.poll() is not None,
            READY_SECONDS,
        )
        assert self.process.poll() is None, self.log

    def stop(self, number: int = signal.SIGTERM, seconds: float = 20.0) -> int:
        """Send a signal and return the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(seconds)

    @property
    def url(self) -> str:
        """The base address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def headers(self) -> dict[str, str]:
        """The headers with the right token."""
        return {"Authorization": f"Bearer {self.token}"}

    def models(self, **options: Any) -> requests.Response:
        """GET /v1/models with the right token."""
        options.setdefault("headers", self.headers)
        return requests.get(f"{self.url}/v1/models", timeout=30, **options)

    def post(self, body: Any, **options: Any) -> requests.Response:
        """POST a body: bytes as they are, anything else as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = self.headers | {"Content-Type": "application/json"}
        headers |= options.pop("headers", {})
        return requests.post(
            f"{self.url}/v1/chat/completions",
            data=data,
            headers=headers,
            timeout=options.pop("timeout", 60),
            **options,
        )

    def turn(self, *messages: dict[str, Any], **extra: Any) -> requests.Response:
        """POST a conversation; ``extra`` are more keys of the body."""
        return self.post({"messages": list(messages), **extra})

    def chat(self, content: Any, **extra: Any) -> str:
        """Send one user message and return the answer of a good turn."""
        response = self.turn(user(content), **extra)
        assert response.status_code == 200, (response.status_code, response.text)
        answer: str = response.json()["choices"][0]["message"]["content"]
        return answer


def write_private(path: Path, value: Any) -> None:
    """Write JSON to a file of mode 0600."""
    path.write_text(json.dumps(value), encoding="utf-8")
    path.chmod(0o600)


def prepared(
    root: Path,
    config: dict[str, Any],
    *,
    secrets: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    options: tuple[str, ...] = (),
) -> Service:
    """Write config, secrets and folders; return the service, not started yet."""
    for name in ("config", "state", "folder"):
        (root / name).mkdir(exist_ok=True)
        (root / name).chmod(0o700)
    write_private(root / "config/config.json", config)
    write_private(
        root / "config/secrets.json",
        {"chat_token": TOKEN, "files_password": PASSWORD, **(secrets or {})},
    )
    port = next(
        entry["config"]["port"]
        for scope in config["scopes"]
        for entry in scope["extensions"]
    )
    return Service(root, port, variables(environment), options=options)


def variables(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a small environment for a process, with more variables."""
    kept = ("PATH", "HOME", "LANG", "TMPDIR", "USER", COVERAGE)
    return {name: os.environ[name] for name in kept if name in os.environ} | dict(
        more or {}
    )


@contextmanager
def running(
    root: Path,
    engine: Stub | None = None,
    *arguments: str,
    bindings: Mapping[str, dict[str, Any]] | None = None,
    chat: Mapping[str, Any] | None = None,
    files: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    secret_refs: Mapping[str, str] | None = None,
    secrets: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    options: tuple[str, ...] = (),
    **config: Any,
) -> Iterator[Service]:
    """Run a daemon for the block.

    Args:
        root: An empty folder.
        engine: A stub; served as the model ``agent``.
        arguments: More arguments of the stub.
        bindings: Advertised id to binding, instead of ``engine``.
        chat: More keys of the chat entry's config.
        files: More keys of the config of a file lane; none is there without.
        settings: Keys of the document's settings.
        secret_refs: More secret references of the scope.
        secrets: More values of secrets.json.
        environment: More variables of the daemon.
        options: More options of ``serve``.
        config: More keys of the stub's binding.
    """
    if bindings is None:
        assert engine is not None
        bindings = {"agent": binding(engine, *arguments, **config)}
    config_document = document(
        bindings,
        free_port(),
        chat=chat,
        files=files,
        settings=settings,
        secret_refs=secret_refs,
    )
    service = prepared(
        root,
        config_document,
        secrets=secrets,
        environment=environment,
        options=options,
    )
    with started(service):
        yield service


@contextmanager
def started(service: Service) -> Iterator[Service]:
    """Run a prepared daemon for the block."""
    service.start()
    try:
        yield service
    finally:
        if COVERAGE in os.environ and service.process.poll() is None:
            service.process.terminate()  # only then it writes what it covered
            service.process.terminate()
            service.process.wait(20)
        if service.process.poll() is None:
            service.process.kill()
            service.process.wait(10)
