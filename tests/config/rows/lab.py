"""Documents that use the sample package, and what the check says about them.

Many cases of a row are looked at in this process; :func:`told` asks the real
program, and makes sure that it says the same.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from conduck_service.config.check import Checked, check_document
from conduck_service.daemon.registry import build_registry
from conduck_service.domain.scope import Document, Scope
from conduck_service.extension.registry import Registry
from tests.support.commands import run
from tests.support.sample_package import sample_environment, sample_package
from tests.support.service import write_private

CANARY = "canary-4e1d"
"""Stands for values that no diagnostic may repeat."""

Problem = tuple[str, str]
"""Place and code."""


@cache
def registry() -> Registry:
    """Return the daemon's own types and those of the sample package."""
    return build_registry({}).including(sample_package())


def config(*scopes: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a document that uses the sample package; ``more`` are keys of the root."""
    settings = {"extensions": {"sample": {}}, **more.pop("settings", {})}
    return {"version": 1, "settings": settings, "scopes": list(scopes), **more}


def scope(name: str = "shop", **more: Any) -> dict[str, Any]:
    return {"id": name, "name": "A scope", **more}


def binding(name: str = "clerk", **more: Any) -> dict[str, Any]:
    return {"name": name, "executor": "able", **more}


def route(name: str = "all", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "handler": "sees_grants",
        "binding": "clerk",
        "active_policy": "queue",
        **more,
    }


def bell(name: str = "door", **more: Any) -> dict[str, Any]:
    """Return an entry of the scope ``shop``, which needs its secret ``word``."""
    return {
        "name": name,
        "type": "bell",
        "secret_names": ["word"],
        "config": {"namespace": f"{name}_ns", "scope": "shop", "secret": "word"},
        **more,
    }


WORD = {"word": "file:word"}

TRACKER = {"id": "tracker", "type": "account", "secret_refs": {"token": "file:token"}}


def changed(value: Any, at: str, new: Any) -> Any:
    """Return a copy in which the place has this value; ``...`` takes it away."""
    value = copy.deepcopy(value)
    *way, last = (int(step) if step.isdigit() else step for step in at.split("/"))
    holder = value
    for step in way:
        holder = holder[step]
    if new is ...:
        del holder[last]
    else:
        holder[last] = new
    return value


def checked(value: Any, base: Path = Path("/nowhere/config")) -> Checked:
    """Return what the check says in this process; no value may be in it."""
    answer = check_document(
        json.dumps(value),
        base=base,
        registry=registry(),
        environment={},
        state_dir=Path("/nowhere/state"),
    )
    for problem in answer.problems:
        assert problem.remedy
        assert problem.message
        assert CANARY not in str(problem)
    return answer


def found(value: Any) -> list[Problem]:
    """Return place and code of everything that the check finds."""
    return [(item.place, item.code) for item in checked(value).problems]


def accepted(value: Any) -> Document:
    """Return the document of a value without faults."""
    answer = checked(value)
    assert answer.problems == []
    assert answer.document is not None
    return answer.document


def scopes_of(value: Any) -> Mapping[str, Scope]:
    """Return the scopes of a value without faults, by id."""
    return {item.id: item for item in accepted(value).scopes}


def asked(root: Path, value: Any, *options: str) -> tuple[int, dict[str, Any], str]:
    """Run ``config check`` on a value; return status, its JSON and all its words."""
    folder = root / "config"
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / "config.json"
    write_private(file, value)
    before = file.read_bytes()
    environment = sample_environment(root)
    words = ("config", "check", str(file), "--json", *options)
    done = run(*words, environment=environment)
    assert file.read_bytes() == before
    told_words = done.stdout + done.stderr
    assert CANARY not in told_words
    assert "Traceback" not in told_words
    return done.returncode, json.loads(done.stdout), told_words


def told(root: Path, value: Any) -> list[Problem]:
    """Return what the real program finds, which is what this process finds.

    It ends with 1 exactly when there is an error, and each finding has a remedy.
    """
    status, answer, _ = asked(root, value)
    problems = answer["problems"]
    assert all(item["remedy"] and item["message"] for item in problems)
    has_error = any(item["level"] == "error" for item in problems)
    assert (status, answer["valid"]) == (int(has_error), not has_error)
    rows = [(item["path"], item["code"]) for item in problems]
    here = checked(value, root / "config")
    assert rows == [(item.place, item.code) for item in here.problems]
    assert answer.get("hash", "") == here.hash
    return rows
