"""Config documents of services under test."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def document(
    bindings: Mapping[str, dict[str, Any]],
    port: int,
    *,
    chat: Mapping[str, Any] | None = None,
    files: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    secret_refs: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return a config document: advertised model id to binding, and more keys.

    ``chat`` are more keys of the chat entry's config. An id may come as a key
    with its ``input_modalities`` given in ``chat["models"]`` instead. ``files``
    are more keys of the config of a file lane, which is there only then.
    """
    entry = {
        "namespace": "test_chat",
        "scope": "home",
        "port": port,
        "token_secret": "chat_token",
        "models": [{"id": model} for model in bindings],
        **(chat or {}),
    }
    scope: dict[str, Any] = {
        "id": "home",
        "name": "Test",
        "secret_refs": {"chat_token": "file:chat_token", **(secret_refs or {})},
        "bindings": list({item["name"]: item for item in bindings.values()}.values()),
        "routes": [_route(model, item["name"]) for model, item in bindings.items()],
        "extensions": [
            {
                "name": "chat",
                "type": "conduck_chat",
                "secret_names": ["chat_token"],
                "config": entry,
            }
        ],
    }
    if files is not None:
        scope["secret_refs"] |= {"files_password": "file:files_password"}
        scope["extensions"].append(_lane(files))
    return {"version": 1, "settings": dict(settings or {}), "scopes": [scope]}


def _lane(more: Mapping[str, Any]) -> dict[str, Any]:
    config = {
        "namespace": "test_files",
        "scope": "home",
        "root": "../folder",
        "password_secret": "files_password",
        "mode": "0700",
        **more,
    }
    return {
        "name": "files",
        "type": "conduck_files",
        "secret_names": ["files_password"],
        "config": config,
    }


def _route(model: str, binding_name: str) -> dict[str, Any]:
    return {
        "name": f"route_{re.sub('[^a-z0-9]', '_', model.lower())}",
        "handler": "chat",
        "binding": binding_name,
        "active_policy": "queue",
        "config": {"models": [model]},
    }
