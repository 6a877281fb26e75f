from __future__ import annotations

from pathlib import Path

import pytest

from tests.demo.lane import Lane


@pytest.fixture
def lane(tmp_path: Path) -> Lane:
    root = tmp_path / "work"
    root.mkdir()
    return Lane(root=root)
