"""The sample package of types, installed for a test as a distribution is.

environment = sample_environment(tmp_path)
run("config", "check", str(file), environment=environment)
assert notes(tmp_path) == [{"what": "adapt", "folder": …}]
"""

from __future__ import annotations

import json
import shutil
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from conduck_service.extension.registry import Package

GROUP = "conduck_service.extensions"
SOURCE = Path(__file__).with_name("source")


def sample_environment(folder: Path) -> dict[str, str]:
    """Install the package below a folder; return the variables that find it there.

    Configs use it when ``settings.extensions`` names ``sample``.
    """
    site = folder / "site"
    shutil.copytree(
        SOURCE, site, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
    )
    _register(site, "sample", "conduck_sample:PACKAGE")
    return {"PYTHONPATH": str(site), "SAMPLE_RECORD": str(folder / "record")}


def install(
    folder: Path, name: str, source: str, target: str = "PACKAGE"
) -> dict[str, str]:
    """Install a distribution of one module with this source; return as above.

    Args:
        folder: Takes the distribution; other ones may lie in it already.
        name: Name of the entry point.
        source: Text of the module.
        target: What in the module the entry point names.
    """
    site = folder / "site"
    site.mkdir(exist_ok=True)
    module = f"conduck_{name.replace('-', '_')}"
    (site / f"{module}.py").write_text(source, encoding="utf-8")
    _register(site, name, f"{module}:{target}")
    return {"PYTHONPATH": str(site), "SAMPLE_RECORD": str(folder / "record")}


def _register(site: Path, name: str, target: str) -> None:
    module = target.partition(":")[0]
    info = site / f"{module}-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text(
        f"[{GROUP}]\n{name} = {target}\n", encoding="utf-8"
    )


def notes(folder: Path) -> list[dict[str, Any]]:
    """Return what the package was asked to do, in order."""
    record = folder / "record"
    lines = record.read_text("utf-8").splitlines() if record.exists() else []
    return [json.loads(line) for line in lines]


def sample_package() -> Package:
    """Return the package itself, for a registry in this process."""
    sys.path.insert(0, str(SOURCE))
    try:
        package = import_module("conduck_sample").PACKAGE
    finally:
        sys.path.remove(str(SOURCE))
    assert isinstance(package, Package)
    return package
