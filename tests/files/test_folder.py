"""The shared folder: made exactly, and judged with a command that cures it."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from conduck_service.extension.ingress import HopelessStartError
from conduck_service.files.settings import FilesConfig
from conduck_service.files.upkeep.folder import (
    check_at_start,
    find_faults,
    make_shared_folder,
)
from tests.files.test_settings import decode

IS_ROOT = os.geteuid() == 0


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def codes(path: Path, config: FilesConfig) -> list[str]:
    return [fault.code for fault in find_faults(path, config)]


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
@pytest.mark.parametrize("mode", ["2770", "2775", "0700"])
@pytest.mark.req("F-PERM-02")
def test_a_folder_is_made_with_its_exact_mode(
    tmp_path: Path, mode: str, umask: int
) -> None:
    config = decode(mode=mode)
    path = tmp_path / "shared"
    before = os.umask(umask)
    try:
        make_shared_folder(path, config.folder_mode)
    finally:
        os.umask(before)
    assert mode_of(path) == config.folder_mode
    assert find_faults(path, config) == []


def test_what_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_shared_folder(tmp_path, 0o2770)
    assert mode_of(tmp_path) == 0o755
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_shared_folder(tmp_path / "file", 0o2770)


@pytest.mark.parametrize(
    ("mode", "wanted", "expected"),
    [
        (0o770, "2770", ["setgid"]),
        (0o2750, "2770", ["group_mode"]),
        (0o755, "2770", ["setgid", "group_mode", "others"]),
        (0o2775, "2770", ["others"]),
        (0o2777, "2775", ["others"]),
        (0o2770, "2775", []),
        (0o755, "0700", ["group_mode", "others"]),
        (0o2700, "0700", []),
    ],
)
def test_each_remedy_is_a_command_that_cures(
    tmp_path: Path, mode: int, wanted: str, expected: list[str]
) -> None:
    path = tmp_path / "it's a folder"
    path.mkdir()
    path.chmod(mode)
    faults = find_faults(path, decode(mode=wanted))
    assert [fault.code for fault in faults] == expected
    assert not any(fault.fatal for fault in faults)
    for fault in faults:
        assert str(path) not in fault.message
        subprocess.run(["sh", "-c", fault.remedy], check=True)
        assert fault.code not in codes(path, decode(mode=wanted))


def test_a_missing_folder_is_fatal_and_its_remedy_makes_it(tmp_path: Path) -> None:
    path = tmp_path / "not there"
    (fault,) = find_faults(path, decode())
    assert (fault.code, fault.fatal) == ("missing", True)
    subprocess.run(["sh", "-c", fault.remedy], check=True)
    assert codes(path, decode()) == []


@pytest.mark.parametrize("name", ["file", "file/below", "loop", "pipe"])
def test_what_is_no_folder_is_fatal(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    (fault,) = find_faults(tmp_path / name, decode())
    assert fault.fatal


@pytest.mark.skipif(IS_ROOT, reason="root may do everything")
@pytest.mark.parametrize("mode", [0o2070, 0o2570, 0o2370, 0o2670])
def test_a_folder_that_this_user_cannot_use_is_fatal(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "shared"
    path.mkdir()
    path.chmod(mode)
    (fault,) = find_faults(path, decode())
    assert (fault.code, fault.fatal) == ("access", True)
    subprocess.run(["sh", "-c", fault.remedy], check=True)
    assert codes(path, decode()) == []


FIND_AS_NOBODY = """
import os, sys
from pathlib import Path
from conduck_service.files.upkeep.folder import find_faults
from tests.files.test_settings import decode
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
for mode in ("2775", "0700"):
    for fault in find_faults(Path(sys.argv[1]), decode(mode=mode)):
        print(fault.code, fault.fatal, fault.remedy)
"""


@pytest.mark.root
@pytest.mark.skipif(not IS_ROOT, reason="only root can give folders away")
def test_users_without_rights_are_told_how_to_get_them() -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o711)
        path = Path(name) / "shared"
        path.mkdir()
        os.chown(path, 1, 1)
        path.chmod(0o2775)
        done = subprocess.run(
            [sys.executable, "-c", FIND_AS_NOBODY, str(path)],
            check=True,
            capture_output=True,
            text=True,
        )
    shared, alone = done.stdout.splitlines()
    assert shared.startswith(f"access True sudo chmod 2775 {path} && sudo ")
    assert shared.endswith(", then start anew")
    assert alone.startswith("access True sudo chown ")
    assert alone.endswith(f"&& sudo chmod 0700 {path}")


@pytest.mark.req("F-ROOT-05")
def test_a_folder_that_cannot_be_served_ends_the_start(tmp_path: Path) -> None:
    with pytest.raises(HopelessStartError) as refused:
        check_at_start(tmp_path / "gone", decode())
    assert "mkdir -m 2770" in str(refused.value)


def test_the_rest_is_logged_without_the_path(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "canary"
    path.mkdir()
    path.chmod(0o755)
    with caplog.at_level(logging.INFO):
        check_at_start(path, decode())
    lines = [record.getMessage() for record in caplog.records]
    found = [getattr(record, "code", "") for record in caplog.records]
    assert [code for code in found if code != "root"] == [
        "setgid",
        "group_mode",
        "others",
    ]
    assert ("root" in found) == IS_ROOT
    assert all(getattr(record, "action", "") == "folder" for record in caplog.records)
    assert "canary" not in " ".join(lines)
    assert "chmod 2770 FOLDER" in " ".join(lines)


def test_a_good_folder_is_passed_in_silence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_shared_folder(tmp_path / "shared", 0o2770)
    monkeypatch.setattr(os, "geteuid", os.getuid)
    with caplog.at_level(logging.INFO):
        check_at_start(tmp_path / "shared", decode())
    assert len(caplog.records) == (1 if IS_ROOT else 0)
