"""``scripts/vendor``: find the newest libraries that fit, and pin them."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tempfile
import tomllib
from pathlib import Path

from bundle.pins import BUILDERS, FILE, ROOT, SOURCES, WHEELS, Pin, written
from bundle.pip import UNIVERSAL, pip

UNUSED = frozenset(
    # Only WsgiDAV's own command line imports the first two, which nobody calls; rich
    # the next three for Markdown and coloured code, which nothing here prints.
    ("pyyaml", "json5", "markdown-it-py", "mdurl", "pygments", "requests")
)
"""What the program does not import, nor anything on its behalf; tests watch it."""

_NAME = re.compile(r"[\w.-]+")

BUILDER = "setuptools"


def main() -> None:
    """Write the list anew."""
    FILE.write_text(_renewed(), encoding="utf-8")
    print(f"wrote {FILE.relative_to(ROOT)}")


def _renewed() -> str:
    wheels: list[Pin] = []
    sources: list[Pin] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, version in _resolved(folder):
            try:
                wheels.append(_pin(name, version, folder / name, UNIVERSAL))
            except subprocess.CalledProcessError:
                print(f"{name}: no wheel that fits everywhere; its sources, then")
                sdist = ("--no-binary", ":all:")
                sources.append(_pin(name, version, folder / name, sdist))
        (builder,) = _versions(folder, [BUILDER])
        builders = [_pin(*builder, folder / BUILDER, UNIVERSAL)]
    return written({WHEELS: wheels, SOURCES: sources, BUILDERS: builders})


def _resolved(folder: Path) -> list[tuple[str, str]]:
    """Return name and version of everything that the program needs on any Python.

    A requirement for later Pythons only is taken for all: one bundle serves them all.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [line.split(";")[0] for line in project["project"]["dependencies"]]
    found = _versions(folder, [line for line in wanted if _is_used(line)])
    return [(name, version) for name, version in found if _is_used(name)]


def _is_used(requirement: str) -> bool:
    name = _NAME.match(requirement)
    return name is None or name[0].lower() not in UNUSED


def _versions(folder: Path, wanted: list[str]) -> list[tuple[str, str]]:
    report = folder / "report.json"
    pip("install", "--dry-run", "--ignore-installed", "--report", report, *wanted)
    items = json.loads(report.read_text(encoding="utf-8"))["install"]
    named = [(item["metadata"]["name"], item["metadata"]["version"]) for item in items]
    return sorted(named)


def _pin(name: str, version: str, folder: Path, kind: tuple[str, ...]) -> Pin:
    pip("download", "--no-deps", "--dest", folder, *kind, f"{name}=={version}")
    (file,) = folder.iterdir()
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return Pin(name=name, version=version, digest=digest)


if __name__ == "__main__":
    main()
