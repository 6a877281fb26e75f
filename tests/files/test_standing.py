"""What an engine is told beforehand, and the page that tells it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from conduck_service.domain.conversation import TRANSFER_LINE
from conduck_service.domain.standing import STANDING_INSTRUCTIONS
from tests.support.commands import run, written
from tests.support.pages import blocks_of

PAGE = "docs/howto/hand-files-back.md"
WORDS = " ".join(STANDING_INSTRUCTIONS.split())


@pytest.mark.req("F-OUT-13")
def test_the_page_quotes_exactly_the_text_that_the_program_has() -> None:
    quoted = [block.text for block in blocks_of(PAGE) if block.language == "text"]
    assert quoted[-1] == STANDING_INSTRUCTIONS


@pytest.mark.req("F-OUT-13")
def test_it_names_the_line_and_the_three_habits() -> None:
    assert TRANSFER_LINE.strip() in WORDS
    for habit in (
        "make the named folder first, together with every folder above it that is "
        "missing",
        "Write the files directly into that folder",
        "Finish writing before you reply",
    ):
        assert habit in WORDS


@pytest.mark.req("F-OUT-23")
def test_it_asks_for_common_extensions_and_few_files() -> None:
    for extension in ("pdf", "csv", "json", "md", "zip", "png", "xlsx", "py"):
        assert re.search(rf"\b{extension}\b", WORDS)
    assert "not hundreds" in WORDS


@pytest.mark.req("F-OUT-24")
def test_it_says_what_is_not_delivered() -> None:
    assert "Only what is directly inside it is delivered" in WORDS
    for place in (
        "not the top of the working folder",
        "not a subfolder",
        "not a scratch or temporary directory",
    ):
        assert place in WORDS


def test_it_is_short_plain_text() -> None:
    assert STANDING_INSTRUCTIONS.isascii()
    assert max(map(len, STANDING_INSTRUCTIONS.splitlines())) <= 88
    assert len(STANDING_INSTRUCTIONS) < 2000


def json_of(page: str) -> Any:
    (text,) = [block.text for block in blocks_of(page) if block.language == "json"]
    return json.loads(text)


def test_the_pages_entry_fits_the_config_of_the_page_before(tmp_path: Path) -> None:
    config = json_of("docs/howto/own-engine.md")
    entry = json_of("docs/howto/files.md")
    (tmp_path / "folder").mkdir(mode=0o700)
    entry["config"]["root"] = str(tmp_path / "folder")
    (scope,) = config["scopes"]
    scope["extensions"].append(entry)
    scope["secret_refs"]["files_password"] = "file:files_password"
    del scope["bindings"][0]["config"]["cwd"]
    done = run("config", "check", str(written(tmp_path, config)))
    assert done.returncode == 0, done.stderr
