"""``open-conduit demo``: a service to try out, with an engine without AI."""

from __future__ import annotations

import json
import secrets
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from conduck_service.base.safefiles import (
    SafeFileError,
    atomic_write,
    make_private_dir,
    read_private,
)
from conduck_service.cli.serve import give_up, serve

Options = dict[str, Any]
"""``chat_port`` and ``photos``, or some of them."""

_TOKEN_BYTES = 32
_CONFIG_BYTES = 1 << 20

_GREETING = """
The demo engine has no AI: it repeats what it is told to and says what it was sent.
Try it from another terminal:

  TOKEN=$(sed -n 's/.*"chat_token": "\\([^"]*\\)".*/\\1/p' {file})
  curl -sS -H "Authorization: Bearer $TOKEN" {address}/v1/models; echo
  curl -sS -o /dev/null -w '%{{http_code}}\\n' {address}/v1/models
  curl -sS -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
    -d '{{"messages":[{{"role":"user","content":"Reply with exactly: pong"}}]}}' \\
    {address}/v1/chat/completions; echo

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
@click.pass_context
def command(
    context: click.Context,
    folder: Path,
    chat_port: int,
    files_port: int,
    photos: bool,
) -> None:
    """Serve chat with the embedded demo engine, which has no AI.

    Everything that is needed is made in DIR unless it is there already. A config
    that this command made follows the options; one that was changed is kept.
    """
    del files_port
    folder = folder.absolute()
    config = folder / "config" / "config.json"
    try:
        for part in (folder, config.parent, folder / "state", folder / "folder"):
            make_private_dir(part)
        _write_once(config.parent / "secrets.json", _secrets())
        given = {
            name: context.params[name]
            for name in ("chat_port", "photos")
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        }
        _settle(config, {"chat_port": chat_port, "photos": photos}, given)
    except SafeFileError as error:
        give_up(str(error))
    serve(
        config,
        folder / "state",
        state_option="--dir",
        on_ready=lambda addresses: _greet(folder, addresses),
    )


def _settle(config: Path, options: Options, given: Options) -> None:
    """Make the config, or let one that this command made follow the options."""
    if not config.exists():
        atomic_write(config, _text(demo_config(**options)))
        return
    found = read_private(config, _CONFIG_BYTES)
    made_with = _options_of(found)
    if made_with is None:
        if given:
            click.echo(
                f"open-conduit: {config} was changed by hand and is used as it is, "
                "without the options given now; remove it to have it made anew",
                err=True,
            )
        return
    wanted = _text(demo_config(**made_with | given))
    if wanted != found:
        atomic_write(config, wanted)


def _options_of(found: bytes) -> Options | None:
    """Return the options that a config was made with; None if it was changed."""
    try:
        entry = json.loads(found)["scopes"][0]["extensions"][0]["config"]
        options = {"chat_port": entry["port"], "photos": len(entry["models"]) > 1}
        return options if _text(demo_config(**options)) == found else None
    except (ValueError, LookupError, TypeError):
        return None


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


def demo_config(*, chat_port: int, photos: bool) -> dict[str, Any]:
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
