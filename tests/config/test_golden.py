from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.config.build import check

CASES = sorted(path.parent for path in Path(__file__).parent.glob("*/config.json"))


def test_there_are_golden_cases() -> None:
    assert len(CASES) >= 8


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden_case(case: Path) -> None:
    found, problems = check((case / "config.json").read_text())
    expected = json.loads((case / "expected.json").read_text())
    assert [{"pointer": item.place, "code": item.code} for item in problems] == expected
    assert (found is None) == bool(expected)
