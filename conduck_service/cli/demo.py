"""``open-conduit demo``: a service to try out, with an engine without AI."""

from __future__ import annotations

import json
import secrets
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from conduck_service.base.safefiles import (
    SafeFileError,
    atomic_write,
    make_private_dir,
    read_private,
)
from conduck_service.cli.main import EXIT_HOPELESS
from conduck_service.cli.serve import serve

_TOKEN_BYTES = 32
_CONFIG_BYTES = 1 << 20

_GREETING = """
The demo engine has no AI: it repeats what it is told to and says what it was sent.
Try it from another terminal:

  TOKEN=$(sed -n 's/.*"chat_token": "\\([^"]*\\)".*/\\1/p' {file})
  curl -s -H "Authorization: Bearer $TOKEN" {address}/v1/models
  curl -s -o /dev/null -w '%{{http_code}}\\n' {address}/v1/models
  curl -s -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{{"messages":[{{"role":"user","content":"Reply with exactly: pong"}}]}}' \\
    {address}/v1/chat/completions

Ctrl-C ends it.
"""


@click.command("demo")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    default=Path("conduck-demo"),
    show_default=True,
    help="Where config, state and working folder are made.",
)
@click.option(
    "--chat-port", type=click.IntRange(1, 65535), default=8480, show_default=True
)
@click.option(
    "--files-port",
    type=click.IntRange(1, 65535),
    default=8481,
    show_default=True,
    help="For the file lane, which this version does not serve yet.",
)
@click.option(
    "--photos",
    is_flag=True,
    help="Also offer the model demo-photos, which takes photos.",
)
def command(folder: Path, chat_port: int, files_port: int, photos: bool) -> None:
    """Serve chat with the embedded demo engine, which has no AI.

    Everything that is needed is made in DIR unless it is there already, and what
    is there is used as it is.
    """
    del files_port
    folder = folder.absolute()
    config = folder / "config" / "config.json"
    wanted = demo_config(chat_port, photos=photos)
    try:
        for part in (folder, config.parent, folder / "state", folder / "folder"):
            make_private_dir(part)
        _write_once(config.parent / "secrets.json", _secrets())
        _write_once(config, wanted)
        found = read_private(config, _CONFIG_BYTES)
    except SafeFileError as error:
        click.echo(f"open-conduit: {error}", err=True)
        sys.exit(EXIT_HOPELESS)
    if found != _text(wanted):
        click.echo(
            f"open-conduit: {config} is there already and is used as it is; remove it "
            "to have it made anew",
            err=True,
        )
    serve(
        config,
        folder / "state",
        on_ready=lambda addresses: _greet(folder, addresses),
    )


def _text(value: dict[str, Any]) -> bytes:
    return json.dumps(value, indent=2).encode("utf-8") + b"\n"


def _write_once(path: Path, value: dict[str, Any]) -> None:
    if not path.exists():
        atomic_write(path, _text(value))


def _greet(folder: Path, addresses: Sequence[str]) -> None:
    """Say how to try it; the token stays in its file."""
    file = shlex.quote(str(folder / "config" / "secrets.json"))
    click.echo(_GREETING.format(file=file, address=addresses[0]))


def _secrets() -> dict[str, str]:
    return {
        "chat_token": secrets.token_hex(_TOKEN_BYTES),
        "files_password": secrets.token_urlsafe(_TOKEN_BYTES),
    }


def demo_config(chat_port: int, *, photos: bool) -> dict[str, Any]:
    """Return the config document of the demo."""
    models: list[dict[str, Any]] = [{"id": "demo", "input_modalities": ["text"]}]
    bindings = [{"name": "demo", "executor": "demo", "config": {"cwd": "../folder"}}]
    routes = [_route("demo", "demo")]
    if photos:
        models.append({"id": "demo-photos", "input_modalities": ["text", "image"]})
        config = {"cwd": "../folder", "photos": True}
        bindings.append({"name": "demo_photos", "executor": "demo", "config": config})
        routes.append(_route("demo_photos", "demo-photos"))
    chat = {
        "namespace": "demo_chat",
        "scope": "demo",
        "port": chat_port,
        "token_secret": "chat_token",
        "models": models,
        "default_model": "demo",
    }
    return {
        "version": 1,
        "scopes": [
            {
                "id": "demo",
                "name": "Demo",
                "secret_refs": {"chat_token": "file:chat_token"},
                "bindings": bindings,
                "routes": routes,
                "extensions": [
                    {
                        "name": "chat",
                        "type": "conduck_chat",
                        "secret_names": ["chat_token"],
                        "config": chat,
                    }
                ],
            }
        ],
    }


def _route(binding: str, model: str) -> dict[str, Any]:
    return {
        "name": f"chat_{binding}",
        "handler": "chat",
        "binding": binding,
        "active_policy": "queue",
        "config": {"models": [model]},
    }
