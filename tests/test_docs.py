"""Pages that are made from code are fresh, and examples work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.config_page import PAGE, page
from tests.support.pages import blocks_of
from tests.support.service import write_private


@pytest.mark.req("P-07")
def test_the_config_page_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_the_example_config_for_an_own_engine_is_valid(tmp_path: Path) -> None:
    blocks = blocks_of("docs/howto/own-engine.md")
    (example,) = [block.text for block in blocks if block.language == "json"]
    folder = tmp_path / "folder"
    folder.mkdir()
    config = json.loads(example.replace("/home/me/agent/folder", str(folder)))
    tmp_path.chmod(0o700)
    write_private(tmp_path / "config.json", config)
    file = str(tmp_path / "config.json")
    check = subprocess.run(
        [sys.executable, "-m", "conduck_service", "config", "check", file],
        check=False,
        capture_output=True,
        text=True,
    )
    assert check.returncode == 0, check.stderr
