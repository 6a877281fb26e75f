"""The quickstart, done by somebody new on a minimal Debian; what happened is kept."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

import pytest

from tests.roots.packages import NEWER
from tests.roots.person import HOME, Person
from tests.roots.product import UNIT, Product
from tests.support.reader import following
from tests.support.trace import ROOT

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.timeout(300)]

PAGE = "docs/quickstart.md"
_COUNTS = re.compile(r"\(Reading database \.\.\. (\d+%)?$")


class Witness:
    """Does what a person does, and writes down what happened.

    Args:
        person: Who does it.
    """

    def __init__(self, person: Person) -> None:
        self._person = person
        self.lines: list[str] = []
        self.seconds = 0.0

    def write(self, name: str, text: str) -> Path:
        """Write a file of hers."""
        self.lines += [f"--- {name} is written", *text.splitlines(), ""]
        return self._person.write(name, text)

    def run(self, text: str, typed: str = "") -> str:
        """Do what a text says, to its end; return what was printed."""
        began = time.monotonic()
        printed, status = "", "failed"
        try:
            printed = self._person.run(text, typed)
            status = "status 0"
        finally:
            seconds = time.monotonic() - began
            self.seconds += seconds
            self.lines += [f"$ {line}" for line in text.splitlines()]
            said = [line for line in printed.splitlines() if not _COUNTS.match(line)]
            self.lines += [*said, f"--- {status}, {seconds:.1f} s", ""]
        return printed


def test_it_is_all_that_one_needs(newcomer: Product, release: str) -> None:
    witness = Witness(Person(newcomer.machine, one_login=True))
    shutil.copy(NEWER, newcomer.machine.path(HOME))
    try:
        with following(witness, PAGE, "root"):
            pass
    finally:
        keep(witness, release)
    printed = "\n".join(witness.lines)
    assert "You sent 3 words." in printed
    assert "a file for the agent" in printed
    assert "a file from the agent" in printed
    assert newcomer.machine.says("systemctl", "is-enabled", UNIT) == "enabled"
    assert newcomer.unit("ActiveState") == "active"


def keep(witness: Witness, release: str) -> None:
    """Keep the transcript as something that was built."""
    head = [f"{PAGE}, on a minimal Debian ({release}) without a network", ""]
    end = [f"--- {witness.seconds:.1f} s in all"]
    folder = ROOT / "build/roots"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"quickstart-transcript-{release}.txt"
    file.write_text("\n".join([*head, *witness.lines, *end, ""]), "utf-8")
