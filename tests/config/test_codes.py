"""The codes of diagnostics are those of the errors reference."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.support.trace import REFERENCE, ROOT

PACKAGE = ROOT / "conduck_service"

HEADING = "## Of the config\n"


def codes_of(tree: ast.AST) -> Iterator[str]:
    """Yield the codes that a module gives to diagnostics.

    They stand second in a refusal, are called ``code`` elsewhere, and are nothing
    but words.
    """
    for node in ast.walk(tree):
        found: list[ast.expr] = []
        match node:
            case ast.Call(func=ast.Attribute(attr="refuse"), args=[_, code, *_]):
                found = [code]
            case ast.Call(keywords=keywords):
                found = [item.value for item in keywords if item.arg == "code"]
            case ast.Assign(targets=[ast.Name(id="code")], value=value):
                found = [value]
        for item in found:
            for part in ast.walk(item):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def codes_in_code() -> set[str]:
    found: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text("utf-8")
        # Faults of the shared folder have codes of their own, and so has doctor.
        if "doctor" in path.parts or "selftest" in path.parts:
            continue
        if "Diagnostic" in text or "Decoding" in text:
            found |= set(codes_of(ast.parse(text)))
    return found


def documented() -> list[str]:
    text = (REFERENCE / "errors.md").read_text("utf-8").split(HEADING)[1]
    text = text.split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    return [code for row in rows for code in re.findall(r"`(\w+)`", row)]


@pytest.mark.req("B-DIAG-10")
def test_the_table_of_codes_is_the_code() -> None:
    codes = documented()
    assert len(set(codes)) == len(codes)
    assert set(codes) == codes_in_code()
