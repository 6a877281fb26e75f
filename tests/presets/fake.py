"""A program in the place of a real engine: notes its run, prints what it is told.

with serving_fake(tmp_path, "codex", [golden("codex", "pong")]) as fake:
    assert fake.service.chat("ping") == "pong"
    assert fake.runs[0]["stdin"] == "ping"
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.presets.recording import CASES
from tests.support.service import Service, running

_PROGRAM = """\
#!{python} -IS
import json, os, shutil, sys
home = os.environ["HOME"]
names = [os.path.join(at, name) for at, _, files in os.walk(home) for name in files]
run = {{
    "argv": sys.argv[1:],
    "stdin": open(0, encoding="utf-8").read(),
    "environment": dict(os.environ),
    "home": sorted(os.path.relpath(name, home) for name in names),
    "pictures": [open(word, "rb").read().hex() for word in sys.argv if ".png" in word],
}}
number = len([name for name in os.listdir() if name.startswith("run-")])
with open(f"run-{{number}}.json", "w", encoding="utf-8") as file:
    json.dump(run, file)
printed = json.load(open({runs!r}, encoding="utf-8"))
this = printed[min(number, len(printed) - 1)]
for name, text in this.get("writes", {{}}).items():
    path = os.path.join(home, name)
    if os.path.islink(path) and this.get("replaces"):
        os.unlink(path)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
for name, target in this.get("links", {{}}).items():
    path = os.path.join(home, name)
    shutil.rmtree(path, ignore_errors=True)
    os.symlink(target, path)
for name in this.get("pipes", ()):
    os.mkfifo(os.path.join(home, name))
sys.stdout.buffer.write(bytes.fromhex(this["stdout"]))
sys.exit(this.get("status", 0))
"""


@dataclass(frozen=True, slots=True)
class Fake:
    """A running service whose engine is a fake."""

    service: Service
    person: Path

    @property
    def runs(self) -> list[dict[str, Any]]:
        """How the engine was run, oldest first."""
        files = sorted(self.service.folder.glob("run-*.json"))
        return [json.loads(file.read_text("utf-8")) for file in files]


def golden(engine: str, case: str) -> dict[str, Any]:
    """Return a run that prints what a real engine printed in a golden case."""
    folder = CASES / engine / case
    status = int((folder / "status").read_text())
    return {"stdout": (folder / "stdout").read_bytes().hex(), "status": status}


@contextmanager
def serving_fake(
    root: Path,
    engine: str,
    runs: list[dict[str, Any]],
    *,
    logins: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    **config: Any,
) -> Iterator[Fake]:
    """Run a daemon with a fake of this engine for the block.

    Args:
        root: An empty folder.
        engine: Name of the preset.
        runs: What the runs print; the last one for all that follow.
        logins: Files of the person's home.
        environment: More variables of the daemon.
        config: More keys of the binding's config.
    """
    person, installed = root / "person", root / "node_modules"
    installed.mkdir()
    for name, text in (logins or {}).items():
        (person / name).parent.mkdir(parents=True, exist_ok=True)
        (person / name).write_text(text, "utf-8")
        (person / name).chmod(0o600)
    listed, program = installed / "runs.json", installed / "engine"
    listed.write_text(json.dumps(runs), "utf-8")
    program.write_text(_PROGRAM.format(python=sys.executable, runs=str(listed)))
    program.chmod(0o700)
    binding = {
        "name": "engine",
        "executor": engine,
        "config": {"program": str(program), "cwd": "../folder", **config},
    }
    variables = {"HOME": str(person), **(environment or {})}
    with running(root, bindings={"agent": binding}, environment=variables) as service:
        yield Fake(service, person)
