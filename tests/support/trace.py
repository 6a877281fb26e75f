"""From a rule to the code that keeps it and the tests that show it."""

from __future__ import annotations

import ast
import csv
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
ID = re.compile(r"\b(?:[CFB](?:-[A-Z]+)+|P)-\d\d\b")


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of the requirements: its id, its level and what it says."""

    id: str
    level: str
    says: str


def read_rules() -> dict[str, Rule]:
    """Return every rule by its id."""
    with (REFERENCE / "requirements.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {
            row["id"]: Rule(row["id"], row["level"], row["requirement"]) for row in rows
        }


def open_rows() -> list[str]:
    """Return the ids that no test shows yet, as the list in the docs says."""
    text = (REFERENCE / "open-rows.txt").read_text(encoding="ascii")
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def ids_in_code() -> dict[str, set[str]]:
    """Return the ids that our modules name, with the modules.

    ``C-REQ-18 to C-REQ-21`` names the two ends only.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "conduck_service").rglob("*.py")):
        for rule in ID.findall(path.read_text(encoding="utf-8")):
            found[rule].add(path.relative_to(ROOT).as_posix())
    return found


def ids_in_tests() -> dict[str, set[str]]:
    """Return the ids that tests are marked with, with the test files."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        tree = ast.parse(path.read_bytes())
        for rule in _marked(tree):
            found[rule].add(path.relative_to(ROOT).as_posix())
    return found


def _marked(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _is_req(node.func):
            for argument in node.args:
                if isinstance(argument, ast.Constant):
                    yield str(argument.value)


def _is_req(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name == "req"


def table() -> str:
    """Return the page that lists each rule with its modules and tests."""
    code, tests = ids_in_code(), ids_in_tests()
    lines = [
        "# Rules, the code that keeps them and the tests that show them",
        "",
        "Written by `scripts/docs`. Rules without a test are left out; they are in",
        "`open-rows.txt`.",
        "",
        "| rule | level | modules | tests |",
        "| --- | --- | --- | --- |",
    ]
    for rule in read_rules().values():
        if rule.id in tests:
            modules = "<br>".join(sorted(code.get(rule.id, ())))
            shown = "<br>".join(sorted(tests[rule.id]))
            lines.append(f"| {rule.id} | {rule.level} | {modules} | {shown} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (REFERENCE / "trace.md").write_text(table(), encoding="utf-8")
