"""``open-conduit demo``: a service to try out, with an engine without AI."""

from __future__ import annotations

import json
import secrets
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
"""``chat_port``, ``files_port`` and ``photos``, or some of them."""

CHAT_PORT = 8480
FILES_PORT = 8481

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
"""

_LANE_GREETING = """
Files go in and out through the file lane; engines work in the folder that it serves:

  PASSWORD=$(sed -n 's/.*"files_password": "\\([^"]*\\)".*/\\1/p' {file})
  echo hello | curl -sS -u "conduck:$PASSWORD" -T - {files}/hello.txt
  curl -sS -u "conduck:$PASSWORD" -X PROPFIND -H 'Depth: 1' {files}/; echo
  cat {folder}/hello.txt
"""

_END = """
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
    "--chat-port",
    type=click.IntRange(1, 65535),
    default=CHAT_PORT,
    show_default=True,
    help="Port of the chat listener.",
)
@click.option(
    "--files-port",
    type=click.IntRange(1, 65535),
    default=FILES_PORT,
    show_default=True,
    help="Port of the file lane.",
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
    """Serve chat and files with the embedded demo engine, which has no AI.

    Everything that is needed is made in DIR unless it is there already. A config
    that this command made follows the options; one that was changed is kept.
    """
    options = {"chat_port": chat_port, "files_port": files_port, "photos": photos}
    folder = folder.absolute()
    config = folder / "config" / "config.json"
    try:
        for part in (folder, config.parent, folder / "state", folder / "folder"):
            make_private_dir(part)
        _write_once(config.parent / "secrets.json", _secrets())
        given = {
            name: value
            for name, value in options.items()
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        }
        with _settled(config, options, given) as keep:

            def greet(addresses: Sequence[str]) -> None:
                keep()
                _greet(folder, addresses)

            serve(config, folder / "state", state_option="--dir", on_ready=greet)
    except SafeFileError as error:
        give_up(str(error))


@contextmanager
def _settled(
    config: Path, options: Options, given: Options
) -> Iterator[Callable[[], None]]:
    """Let the config follow the options for good once the service has started.

    What it starts with has to be on the disk; unless the yielded function was
    called, the config is put back as it was, so that options which do not work
    are forgotten.
    """
    before = read_private(config, _CONFIG_BYTES) if config.exists() else None
    _settle(config, before, options, given)
    kept: list[bool] = []
    try:
        yield lambda: kept.append(True)
    finally:
        if not kept and before is None:
            config.unlink()
        elif not kept and before is not None and config.read_bytes() != before:
            atomic_write(config, before)


def _settle(
    config: Path, found: bytes | None, options: Options, given: Options
) -> None:
    """Make the config, or let one that this command made follow the options."""
    if found is None:
        _write(config, options)
        return
    made_with = _options_of(found)
    if made_with is None:
        if given:
            click.echo(
                f"open-conduit: {config} was changed by hand and is used as it is, "
                "without the options given now; remove it to have it made anew",
                err=True,
            )
        return
    _write(config, made_with | given, found)


def _write(config: Path, options: Options, found: bytes = b"") -> None:
    if options["chat_port"] == options["files_port"]:
        raise click.UsageError(
            "chat and files need a port each; use --chat-port and --files-port"
        )
    wanted = _text(demo_config(**options))
    if wanted != found:
        atomic_write(config, wanted)


def _options_of(found: bytes) -> Options | None:
    """Return the options that a config was made with; None if it was changed."""
    try:
        chat, *more = json.loads(found)["scopes"][0]["extensions"]
        options = {
            "chat_port": chat["config"]["port"],
            "files_port": more[0]["config"]["port"] if more else FILES_PORT,
            "photos": len(chat["config"]["models"]) > 1,
        }
        config = demo_config(**options)
    except (ValueError, LookupError, TypeError):
        return None
    made = (config, _without_lane(config))
    return options if found in map(_text, made) else None


def _text(value: dict[str, Any]) -> bytes:
    return json.dumps(value, indent=2).encode("utf-8") + b"\n"


def _write_once(path: Path, value: dict[str, Any]) -> None:
    if not path.exists():
        atomic_write(path, _text(value))


def _greet(folder: Path, addresses: Sequence[str]) -> None:
    """Say how to try it; token and password stay in their file."""
    file = shlex.quote(str(folder / "config" / "secrets.json"))
    address, *files = addresses
    words = _GREETING.format(file=file, address=address)
    if files:  # a config that was changed by hand need not have one
        words += _LANE_GREETING.format(
            file=file, files=files[0], folder=shlex.quote(str(folder / "folder"))
        )
    click.echo(words + _END)


def _secrets() -> dict[str, str]:
    return {
        "chat_token": secrets.token_hex(_TOKEN_BYTES),
        "files_password": secrets.token_hex(_TOKEN_BYTES),
    }


def demo_config(*, chat_port: int, files_port: int, photos: bool) -> dict[str, Any]:
    """Return the config document of the demo."""
    models: list[dict[str, Any]] = [{"id": "demo", "input_modalities": ["text"]}]
    bindings = [{"name": "demo", "executor": "demo", "config": {}}]
    routes = [_route("demo", "demo")]
    if photos:
        models.append({"id": "demo-photos", "input_modalities": ["text", "image"]})
        config = {"photos": True}
        bindings.append({"name": "demo_photos", "executor": "demo", "config": config})
        routes.append(_route("demo_photos", "demo-photos"))
    scope = {
        "id": "demo",
        "name": "Demo",
        "secret_refs": {
            "chat_token": "file:chat_token",
            "files_password": "file:files_password",
        },
        "bindings": bindings,
        "routes": routes,
        "extensions": [_chat(chat_port, models), _files(files_port)],
    }
    return {"version": 1, "scopes": [scope]}


def _chat(port: int, models: list[dict[str, Any]]) -> dict[str, Any]:
    config = {
        "namespace": "demo_chat",
        "scope": "demo",
        "port": port,
        "token_secret": "chat_token",
        "models": models,
        "default_model": "demo",
    }
    return _entry("chat", "chat_token", config)


def _files(port: int) -> dict[str, Any]:
    config = {
        "namespace": "demo_files",
        "scope": "demo",
        "port": port,
        "root": "../folder",
        "password_secret": "files_password",
        "mode": "0700",
    }
    return _entry("files", "files_password", config)


def _entry(name: str, secret: str, config: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "type": f"conduck_{name}",
        "secret_names": [secret],
        "config": config,
    }


def _without_lane(config: dict[str, Any]) -> dict[str, Any]:
    """Return the config as this command made it before there was a file lane."""
    (scope,) = config["scopes"]
    bindings = [
        {**item, "config": {"cwd": "../folder", **item["config"]}}
        for item in scope["bindings"]
    ]
    older = {
        "secret_refs": {"chat_token": "file:chat_token"},
        "bindings": bindings,
        "extensions": scope["extensions"][:1],
    }
    return {**config, "scopes": [{**scope, **older}]}


def _route(binding: str, model: str) -> dict[str, Any]:
    return {
        "name": f"chat_{binding}",
        "handler": "chat",
        "binding": binding,
        "active_policy": "queue",
        "config": {"models": [model]},
    }
