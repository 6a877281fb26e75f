"""``doctor`` and ``selftest`` of engines that are model servers."""

from __future__ import annotations

import os
from pathlib import Path

from tests.doctor.asking import Report, doctor, selftest
from tests.support.model_reply import Reply
from tests.support.service import free_port
from tests.support.upstreams import asking

EXPECTED = {"service_root"} if os.geteuid() == 0 else set()


def asked(root: Path, reply: Reply, **config: object) -> tuple[Report, Report]:
    """Return what both find when the server always answers the same."""
    files = {"port": free_port()}
    with asking(root, {"agent": config}, files=files) as them:
        them.server.play(*[reply] * 64)
        return doctor(root, "--turn"), selftest(root, "--files")


def test_one_without_a_file_tool_is_not_asked_for_files(tmp_path: Path) -> None:
    found, tested = asked(tmp_path, Reply("pong"))
    assert found.codes == EXPECTED
    assert found.status == 0
    (row,) = [row for row in found.rows if row["check"] == "turn.file"]
    assert row["code"] == "not_made"
    assert "file_tool" in row["message"]
    assert tested.status == 0
    assert "file_tool" in tested.row("file_turn")["detail"]
    assert tested.row("file_turn")["verdict"] == "skipped"


def test_one_that_does_not_use_its_file_tool_is_told(tmp_path: Path) -> None:
    found, tested = asked(tmp_path, Reply("pong"), file_tool=True)
    assert found.codes - EXPECTED == {"turn_file_missing"}
    for row in (found.row("turn_file_missing"), tested.row("file_turn")):
        assert "call tools" in row["remedy"]
        assert "standing instructions" not in row["remedy"]


def test_one_that_refuses_leads_to_its_connection(tmp_path: Path) -> None:
    found, tested = asked(tmp_path, Reply(status=401))
    assert found.codes - EXPECTED == {"turn_failed"}
    remedy = found.row("turn_failed")["remedy"]
    assert "connection" in remedy
    assert "by hand" not in remedy
    assert tested.codes == {"chat_basic"}
