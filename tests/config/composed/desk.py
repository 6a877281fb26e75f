"""A private folder with a config in it, and what the check says about the config."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from conduck_service.config.check import Checked, check_document
from conduck_service.daemon.registry import build_registry
from conduck_service.domain.scope import Document, Scope
from conduck_service.extension.registry import Registry
from tests.support.commands import run, written
from tests.support.sample_package import notes, sample_environment, sample_package

CANARY = "canary-5d1f"
"""Stands in values of faulty documents; no diagnostic may repeat it."""

REQUEST = {"name": "all", "handler": "sees_grants", "active_policy": "queue"}


def scope(name: str, parent: Any = "", **more: Any) -> dict[str, Any]:
    above = {} if parent == "" else {"parent": parent}
    return {"id": name, "name": name.title(), **above, **more}


def binding(name: str = "coder", executor: Any = "able", **more: Any) -> dict[str, Any]:
    return {"name": name, "executor": executor, **more}


def route(name: str = "all", to: str = "coder", **more: Any) -> dict[str, Any]:
    return {**REQUEST, "name": name, "binding": to, **more}


def bell(name: str, where: str, secret: str = "key", **more: Any) -> dict[str, Any]:
    config = {"namespace": f"{where}_{name}", "scope": where, "secret": secret}
    return {
        "name": name,
        "type": "bell",
        "config": config,
        "secret_names": [secret],
        **more,
    }


def gone(name: str) -> dict[str, Any]:
    return {"name": name, "disabled": True}


def document(*scopes: dict[str, Any], **more: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {"extensions": {"sample": {}}}
    return {"version": 1, "settings": settings, "scopes": list(scopes), **more}


def fragment(*scopes: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"version": 1, "scopes": list(scopes), **more}


def including(*includes: Any, scopes: Any = (), **home: Any) -> dict[str, Any]:
    return document(scope("home", **home), *scopes, includes=list(includes))


def home(*bindings: dict[str, Any], **more: Any) -> dict[str, Any]:
    return document(scope("home", bindings=list(bindings), **more))


def names(items: Any) -> list[str]:
    return [item.name for item in items]


@cache
def own_registry() -> Registry:
    """Return the program's registry, which finds the sample package too."""

    def find(name: str) -> object:
        return sample_package() if name == "sample" else None

    return replace(build_registry({"PATH": "/usr/bin:/bin"}), find=find)


@dataclass(slots=True)
class Desk:
    """A folder for a test.

    Attributes:
        root: Holds ``config/`` and ``folder/``.
        environment: Variables of the program.
    """

    root: Path
    environment: dict[str, str]

    @property
    def folder(self) -> Path:
        """The config directory."""
        return self.root / "config"

    @property
    def notes(self) -> list[dict[str, Any]]:
        """What the sample package was asked by real programs since :meth:`run`."""
        return notes(self.root)

    def include(
        self, name: str, value: Any, *, mode: int = 0o644, parent: str = "home"
    ) -> dict[str, str]:
        """Make a folder beside the config with this file; return its include."""
        place = self.root / name / ".open-conduit"
        place.mkdir(parents=True, exist_ok=True)
        if value is not None:
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            (place / "config.json").unlink(missing_ok=True)
            (place / "config.json").write_bytes(data)
            (place / "config.json").chmod(mode)
        return {"path": f"../{name}", "parent": parent}

    def check(self, value: Any) -> Checked:
        """Return what the pipeline says, in this process."""
        text = value if isinstance(value, str) else json.dumps(value)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        found = check_document(
            text,
            base=self.folder,
            registry=own_registry(),
            environment={},
            state_dir=self.root / "state",
        )
        for problem in found.problems:
            assert problem.message
            assert problem.remedy
            assert CANARY not in str(problem)
        return found

    def accept(self, value: Any) -> Document:
        """Return the document of a config without a diagnostic."""
        found = self.check(value)
        assert found.problems == []
        assert found.document is not None
        return found.document

    def scope_of(self, value: Any, name: str) -> Scope:
        """Return a scope of a good config."""
        (found,) = [item for item in self.accept(value).scopes if item.id == name]
        return found

    def refuse(self, value: Any) -> list[tuple[str, str]]:
        """Return place and code of each diagnostic of a bad config."""
        found = self.check(value)
        assert found.document is None
        return [(item.place, item.code) for item in found.problems]

    def run(
        self, value: Any, *, environment: Mapping[str, str] | None = None
    ) -> tuple[int, list[dict[str, Any]]]:
        """Have the real program check a config; return status and diagnostics."""
        (self.root / "record").unlink(missing_ok=True)
        file = written(self.root, value)
        done = run(
            "config",
            "check",
            str(file),
            "--json",
            environment=self.environment | dict(environment or {}),
            cwd=self.root,
        )
        assert CANARY not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        answer = json.loads(done.stdout)
        assert answer["valid"] == (done.returncode == 0)
        rows: list[dict[str, Any]] = answer["problems"]
        assert all(row["message"] and row["remedy"] for row in rows)
        return done.returncode, rows

    def pass_(self, value: Any) -> None:
        """Have the real program accept a config without a diagnostic."""
        assert self.run(value) == (0, [])

    def fail(self, value: Any) -> list[tuple[str, str]]:
        """Have the real program refuse a config; return place and code of each.

        The pipeline says the same in this process.
        """
        status, rows = self.run(value)
        assert status == 1
        found = [(row["path"], row["code"]) for row in rows]
        assert self.refuse(value) == found
        return found


def make_desk(root: Path) -> Desk:
    """Return a desk in an empty folder."""
    os.chmod(root, 0o700)  # noqa: PTH101 - as the folders above a config have to be
    return Desk(root, sample_environment(root))
