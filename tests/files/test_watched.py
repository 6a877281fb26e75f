"""The watcher in a running service: modes, counts, and a start without pyinotify."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from conduck_service.files.upkeep import inotify
from tests.support.lane import OUTBOUND, Lane, serving_files
from tests.support.service import stub, wait_until

watched = pytest.mark.skipif(
    sys.platform != "linux" or not inotify.is_usable(), reason="nothing to watch with"
)


@watched
@pytest.mark.req("F-PERM-12")
def test_a_file_of_the_services_user_becomes_the_groups(tmp_path: Path) -> None:
    with serving_files(tmp_path, files={"mode": "2770"}) as service:
        file = service.folder / "private.txt"
        file.touch(0o600)
        wait_until(lambda: stat.S_IMODE(file.stat().st_mode) == 0o660)


@watched
def test_files_that_no_reply_delivers_are_counted_without_a_name(
    tmp_path: Path,
) -> None:
    engine = stub(
        tmp_path,
        ["write", "stray-canary.txt", "a"],
        ["write", "sub/stray-canary.txt", "b"],
        ["write", f"{OUTBOUND}/good-canary.txt", "c"],
        ["obey"],
    )
    with serving_files(tmp_path, engine) as service:
        lane = Lane.of(service)
        assert lane.put("/before-canary.txt", b"x").status == 201
        service.chat("Reply with exactly: done")
        assert lane.put("/after-canary.txt", b"x").status == 201
        assert lane.put("/stray-canary.txt", b"x").status == 204
        service.stop()
        (line,) = [
            line for line in service.log.splitlines() if "lane_files_elsewhere" in line
        ]
    # One of the two was replaced by an upload meanwhile.
    assert "count=1" in line
    assert "canary" not in service.log


@pytest.mark.req("F-PERM-12")
def test_without_pyinotify_the_lane_works_the_same(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/pyinotify.py").write_text("raise RuntimeError('broken')\n")
    environment = {"PYTHONPATH": str(tmp_path / "broken")}
    with serving_files(
        tmp_path, files={"mode": "2770"}, environment=environment
    ) as service:
        assert "is not watched" in service.log
        lane = Lane.of(service)
        assert lane.put("/a.txt", b"x").status == 201
        assert lane.get("/a.txt").body == b"x"
        assert service.stop() == 0


@pytest.mark.req("F-PERM-03")
def test_an_inherited_umask_changes_nothing(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        with serving_files(tmp_path, files={"mode": "2775"}) as service:
            assert Lane.of(service).put("/a.txt", b"x").status == 201
            mode = stat.S_IMODE((service.folder / "a.txt").stat().st_mode)
            status = Path(f"/proc/{service.process.pid}/status")
            text = status.read_text() if status.exists() else "Umask:\t0002"
    finally:
        os.umask(before)
    assert mode == 0o664
    assert "Umask:\t0002" in text
