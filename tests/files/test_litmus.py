"""The litmus suite for WebDAV servers, through the running service."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.dav_tools import need_tool
from tests.support.lane_faults import Box
from tests.support.service import PASSWORD


@pytest.mark.slow
@pytest.mark.parametrize("program", ["basic", "copymove", "props", "locks", "http"])
def test_litmus(box: Box, program: str) -> None:
    litmus = need_tool("litmus")
    url = f"http://127.0.0.1:{box.lane.port}{box.path}/"
    run = subprocess.run(
        [litmus, "-k", url, "conduck", PASSWORD],
        env={"TESTS": program, "PATH": "/usr/bin:/bin"},
        cwd=box.lane.folder.parent,
        capture_output=True,
        timeout=50,
        check=False,
    )
    said = run.stdout.decode("utf-8", "replace")
    assert run.returncode == 0, said
    assert ", 0 failed" in said
    assert "SKIPPED" not in said
