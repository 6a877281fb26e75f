"""Nothing grows past what can be read in one go."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULE_LINES = 400
FUNCTION_LINES = 40
SCRIPT_LINES = 30
MODULES = sorted(
    path
    for folder in ("conduck_service", "packaging", "tests")
    for path in (ROOT / folder).rglob("*.py")
)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_and_its_functions_stay_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MODULE_LINES
    long = [
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and code_lines(node) > FUNCTION_LINES
    ]
    assert long == []


def code_lines(function: ast.FunctionDef) -> int:
    """Return the lines of a function; its docstring is no burden."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    return lines - len((ast.get_docstring(function, clean=False) or "").splitlines())


def test_a_script_stays_small() -> None:
    for path in sorted((ROOT / "scripts").iterdir()):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= SCRIPT_LINES, path
