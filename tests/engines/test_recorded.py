"""What installed engines print is still what their golden cases say."""

from __future__ import annotations

import json
import random

import pytest

from tests.engines.installed import EACH, need
from tests.presets.recording import BY_NAME, Recorded, record, recorded_cases
from tests.presets.test_golden import told, told_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


def kinds(stdout: bytes) -> set[str]:
    """Return the types of the records in an output of JSON lines."""
    found = set()
    for line in stdout.split(b"\n"):
        if line.startswith(b"{") and line.endswith(b"}"):
            found.add(str(json.loads(line).get("type")))
    return found


@pytest.mark.parametrize("engine", EACH)
def test_a_drawn_case_comes_out_the_same_again(engine: str) -> None:
    need(engine)
    preset = BY_NAME[engine]
    folder = random.choice(recorded_cases(engine))  # noqa: S311 - any will do
    case = json.loads((folder / "case.json").read_text("utf-8"))
    again: Recorded = record(preset, case)
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    result = told_of(
        preset, again.stdout, exited_well=again.status == 0, side=again.side
    )
    assert told(result) == expected, folder.name
    assert (again.status == 0) is ((folder / "status").read_text() == "0\n")
    assert kinds(again.stdout) == kinds((folder / "stdout").read_bytes()), folder.name
