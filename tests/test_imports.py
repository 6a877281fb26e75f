"""Packages import downwards only, and modules import at their top."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "conduck_service"
MODULES = sorted(PACKAGE.rglob("*.py"))

LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"base", "demo_engine"}),
    frozenset({"domain"}),
    frozenset({"extension"}),
    frozenset({"serving"}),
    frozenset({"config", "secrets", "executors", "chat", "files", "toolbelt"}),
    frozenset({"runtime"}),
    frozenset({"daemon"}),
    frozenset({"pairing", "service"}),
    frozenset({"doctor"}),
    frozenset({"selftest"}),
    frozenset({"cli"}),
    frozenset({"__main__"}),
)
"""From the lowest to the highest; packages of one row know nothing of each other."""

LAZY = {"conduck_service/cli/main.py", "conduck_service/extension/installed.py"}
"""Modules that import by name when asked to, and one that lists distributions."""


def layer_of(name: str) -> int:
    return next(index for index, names in enumerate(LAYERS) if name in names)


def imported(tree: ast.AST) -> set[str]:
    """Return the names of the packages of ours that a module imports."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide which package is meant"
            names.add(node.module or "")
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    ours = (name.split(".") for name in names)
    return {
        parts[1] for parts in ours if parts[0] == "conduck_service" and len(parts) > 1
    } - {"__version__"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_from_lower_layers_only(path: Path) -> None:
    own = path.relative_to(PACKAGE).with_suffix("").parts[0]
    if own == "__init__":
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    others = imported(tree) - {own}
    assert [name for name in others if layer_of(name) >= layer_of(own)] == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_at_its_top(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inner = [
        statement.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        for statement in ast.walk(node)
        if isinstance(statement, ast.Import | ast.ImportFrom)
    ]
    assert inner == []
    if path.relative_to(ROOT).as_posix() not in LAZY:
        assert "importlib" not in path.read_text(encoding="utf-8")


def test_the_fast_commands_stay_on_the_standard_library() -> None:
    engine = sorted((PACKAGE / "demo_engine").glob("*.py"))
    for path in [PACKAGE / "toolbelt/cli.py", *engine]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        modules = {
            node.module.split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module
        }
        assert modules <= set(sys.stdlib_module_names) | {"conduck_service"}, path
