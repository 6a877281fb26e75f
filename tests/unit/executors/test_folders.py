"""A working folder is one that can be worked in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conduck_service.domain.scope import Scope
from conduck_service.executors.folders import check_folder
from conduck_service.extension.spec import Decoding


def problems_of(path: Path) -> list[str]:
    into = Decoding(base=Path("/"))
    check_folder(path, Scope(id="home", name="Home"), into)
    return [problem.code for problem in into.problems]


@pytest.mark.parametrize(
    "name", ["missing", "file", "file/x", "a" * 300, "x/" * 3000, "\ud800", "loop"]
)
def test_what_is_no_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    assert problems_of(tmp_path) == []
    assert problems_of(tmp_path / name) == ["invalid_config"]


@pytest.mark.skipif(os.getuid() == 0, reason="root may look everywhere")
def test_a_folder_out_of_reach_is_refused(tmp_path: Path) -> None:
    (tmp_path / "locked" / "folder").mkdir(parents=True)
    (tmp_path / "locked").chmod(0)
    try:
        assert problems_of(tmp_path / "locked" / "folder") == ["invalid_config"]
    finally:
        (tmp_path / "locked").chmod(0o700)
