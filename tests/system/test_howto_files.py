"""The engine that the page on handing files back shows does so, through the lane."""

from __future__ import annotations

from pathlib import Path

from tests.support.lane import DIRECTIVE, Lane, new_outbound, serving_files
from tests.support.pages import blocks_of


def test_the_engine_of_the_page_hands_a_file_back(tmp_path: Path) -> None:
    (text,) = [
        block.text for block in blocks_of("docs/howto/hand-files-back.md") if block.file
    ]
    script = tmp_path / "agent.sh"
    script.write_text(text, encoding="utf-8")
    script.chmod(0o700)
    binding = {
        "name": "agent",
        "executor": "command",
        "config": {"argv": [str(script)]},
    }
    path = new_outbound()
    message = f"One two\n\n{DIRECTIVE}{path}"
    with serving_files(tmp_path, bindings={"agent": binding}) as service:
        count = len(message.split())
        assert service.chat(message) == f"You sent {count} words."
        lane = Lane.of(service)
        assert lane.seen_by_app(path) == ["words.txt"]
        assert lane.get(f"/{path}/words.txt").body == f"{count}\n".encode()
