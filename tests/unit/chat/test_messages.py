"""The app reads messages: none without a code may say what it does not mean."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from conduck_service.chat.errors import WIRE
from conduck_service.domain.errors import ErrorCode
from tests.support.answers import APP_PATTERNS

PACKAGE = Path(__file__).parents[3] / "conduck_service"
SOURCES = (
    PACKAGE / "base" / "jsonio.py",
    *sorted((PACKAGE / "chat").glob("*.py")),
    *sorted((PACKAGE / "serving").glob("*.py")),
    *sorted((PACKAGE / "runtime").glob("*.py")),
)
PLACE = "messages/0/content/1/image_url/url"
"""Stands for what a message is filled with, words that patterns look for in it."""


def coded(call: ast.Call) -> bool:
    """Say whether a call makes an error that carries one of the eight codes."""
    first = call.args[0] if call.args else None
    if not isinstance(first, ast.Attribute) or first.attr not in ErrorCode.__members__:
        return False
    return bool(WIRE[ErrorCode[first.attr]].code)


def docstrings(tree: ast.AST) -> set[ast.AST]:
    """Return the texts that stand alone, which nobody sends."""
    alone = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    return {value for value in alone if isinstance(value, ast.Constant)}


def sentences(tree: ast.AST, hidden: set[ast.AST]) -> Iterator[str]:
    """Yield every text of several words outside of errors with a code."""
    for node in ast.iter_child_nodes(tree):
        if node in hidden or (isinstance(node, ast.Call) and coded(node)):
            continue
        if isinstance(node, ast.JoinedStr):
            pieces = node.values
            yield "".join(
                str(piece.value) if isinstance(piece, ast.Constant) else PLACE
                for piece in pieces
            )
        elif isinstance(node, ast.Constant) and " " in str(node.value):
            yield str(node.value)
        else:
            yield from sentences(node, hidden)


def all_sentences(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return list(sentences(tree, docstrings(tree)))


@pytest.mark.parametrize(
    "path", SOURCES, ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_no_message_without_a_code_is_read_as_something_else(path: Path) -> None:
    found = [text for text in all_sentences(path) if APP_PATTERNS.search(text)]
    assert found == []


def test_the_reasons_of_the_parser_say_nothing_else_either() -> None:
    for reason in all_sentences(PACKAGE / "base" / "jsonio.py"):
        assert not APP_PATTERNS.search(f"the body is not valid JSON: {reason}")


def test_the_search_sees_the_refusals_of_bodies() -> None:
    found = all_sentences(PACKAGE / "chat" / "request.py")
    assert "the body is not a JSON object" in found
    assert f"{PLACE}/content is an empty array" in found
    assert len(found) >= 14


@pytest.mark.parametrize(
    "text",
    [
        "unsupported content part",
        "Model is required",
        "an image is too large",
        "images are not supported",
        "this model does not support image input",
        "maximum context length is 8",
        "x is not a valid model",
    ],
)
def test_the_patterns_hit_what_they_are_meant_for(text: str) -> None:
    assert APP_PATTERNS.search(text)
