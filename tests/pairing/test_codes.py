"""Every code with which a setup code is refused stands in the errors reference."""

from __future__ import annotations

import re

from tests.support.trace import REFERENCE, ROOT

PLACES = ("conduck_service/pairing", "conduck_service/cli/pair")
CODE = re.compile(r'(?:RefusedError\(|_problem\(\s*"[^"]*",)\s*"(\w+)"')
HEADING = "## Of pairing\n"


def test_the_table_of_codes_is_the_code() -> None:
    section = (REFERENCE / "errors.md").read_text("utf-8").split(HEADING)[1]
    rows = re.findall(r"^\| (`.*?) \|", section.split("\n## ")[0], re.MULTILINE)
    documented = [code for row in rows for code in re.findall(r"`(\w+)`", row)]
    assert len(set(documented)) == len(documented)
    texts = [
        path.read_text("utf-8") for at in PLACES for path in (ROOT / at).rglob("*.py")
    ]
    assert set(documented) == {code for text in texts for code in CODE.findall(text)}
