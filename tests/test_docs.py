"""Pages that are made from code are fresh, and examples work."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.support.config_page import PAGE, page
from tests.support.service import write_private
from tests.support.trace import ROOT


def test_the_config_page_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_the_example_config_for_an_own_engine_is_valid(tmp_path: Path) -> None:
    text = (ROOT / "docs/howto/own-engine.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
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


def test_every_link_between_pages_leads_somewhere() -> None:
    for source in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(
            r"\]\(([^)#:]+)(?:#[^)]*)?\)", source.read_text("utf-8")
        ):
            assert (source.parent / target).exists(), f"{source}: {target}"
