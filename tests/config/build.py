"""Documents for tests: a whole one, and what a check says about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conduck_service.base.diagnostics import Diagnostic
from conduck_service.config.check import check_document
from conduck_service.domain.scope import Document
from tests.config.registry import REGISTRY

BASE = Path("/nowhere/config")


def binding(name: str = "coder", **more: Any) -> dict[str, Any]:
    return {"name": name, "executor": "engine", **more}


def route(name: str = "all", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "handler": "chat",
        "binding": "coder",
        "active_policy": "queue",
        **more,
    }


def chat(name: str = "chat", **config: Any) -> dict[str, Any]:
    values = {"namespace": "home_chat", "port": 8480, **config}
    return {"name": name, "type": "conduck_chat", "config": values}


def scope(name: str = "home", **more: Any) -> dict[str, Any]:
    return {"id": name, "name": "My desk", **more}


def document(*scopes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"version": 1, "scopes": list(scopes or [scope()]), **more}


def check(
    value: Any, environment: dict[str, str] | None = None
) -> tuple[Document | None, list[Diagnostic]]:
    """Return what the check says about a value, or about a text as it is."""
    return checked(
        value if isinstance(value, str) else json.dumps(value),
        base=BASE,
        environment=environment or {},
        state_dir=Path("/nowhere/state"),
    )


def checked(text: str, **more: Any) -> tuple[Document | None, list[Diagnostic]]:
    """Return what the check of the test registry says about a text."""
    found = check_document(text, registry=REGISTRY, **more)
    return found.document, found.problems


def accept(value: Any) -> Document:
    found, problems = check(value)
    assert problems == []
    assert found is not None
    return found


def refuse(
    value: Any, environment: dict[str, str] | None = None
) -> list[tuple[str, str]]:
    """Return place and code of each problem; there is no document with one."""
    found, problems = check(value, environment)
    assert found is None
    assert all(item.remedy and item.message for item in problems)
    return [(item.place, item.code) for item in problems]
