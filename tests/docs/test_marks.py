"""Every command of a page is run by a test, or the page says that it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pages import COMMANDS, RUNNERS, all_pages, blocks_of
from tests.support.trace import ROOT

LANGUAGES = {
    COMMANDS, "caddyfile", "ini", "json", "nginx", "python", "text", "xml", "yaml",
}  # fmt: skip
BEGINNINGS = ("$ ", "sudo ", "open-conduit ", "curl ", "systemctl ", "make ", "brew ")
TESTS = {
    "": ROOT / "tests/docs/test_pages.py",
    "slow": ROOT / "tests/docs/test_slow.py",
    "root": ROOT / "tests/roots",
}
LONGEST = 150

pages = pytest.mark.parametrize("page", all_pages())


def sources(place: Path) -> str:
    files = [place] if place.is_file() else sorted(place.glob("*.py"))
    return "".join(file.read_text(encoding="utf-8") for file in files)


def runs_in_ci(line: str) -> bool:
    """Say whether a line is run as it is, or what it makes by its script."""
    lines = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    ran = [line.strip().removeprefix("as_user ") for line in lines]
    makes = (ROOT / "Makefile").read_text(encoding="utf-8")
    script = line.replace("make ", "scripts/")
    return line in ran or (script in ran and f"\n\t@{script}\n" in makes)


@pages
def test_each_block_says_what_it_is(page: str) -> None:
    for block in blocks_of(page):
        assert block.language in LANGUAGES, f"{block.place}: say what it is"
        known = [*RUNNERS, "slow"]
        odd = [word for word in block.words if not word.startswith("file=")]
        assert set(odd) <= set(known), f"{block.place}: {odd}"
        if block.language != COMMANDS:
            assert not block.text.startswith(BEGINNINGS), f"{block.place}: commands"


@pages
def test_each_command_has_somebody_who_runs_it(page: str) -> None:
    for block in blocks_of(page):
        if block.runner == "ci":
            assert runs_in_ci(block.text.strip()), block.place
        elif block.runner is not None:
            assert f'"{page}"' in sources(TESTS[block.runner]), block.place
