"""Users, groups and modes: both sides can work with what either of them makes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.lane import CONVERSATION, OUTBOUND, Lane, serving_files
from tests.support.lane_faults import IS_ROOT, MASKED, Box, serving_through
from tests.support.service import Service, stub

GROUP = 1


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def sharing(root: Path, mode: str, inherited: str) -> Iterator[Service]:
    """Run a daemon whose folder has a mode, and that inherited a umask.

    Its engine has the umask that the mode wants, as the config says.
    """
    written = stub(root, ["write", f"{OUTBOUND}/made.txt", "made"], ["print", "done"])
    with serving_through(
        root,
        MASKED,
        inherited,
        engine=written,
        files={"mode": mode},
        umask=f"{0o777 & ~int(mode, 8):04o}",
    ) as service:
        if IS_ROOT and mode != "0700":
            os.chown(service.folder, -1, GROUP)
        service.folder.chmod(int(mode, 8))
        yield service


@pytest.mark.parametrize(
    ("mode", "file", "folder"),
    [("2770", 0o660, 0o2770), ("2775", 0o664, 0o2775), ("0700", 0o600, 0o700)],
)
@pytest.mark.parametrize("umask", ["000", "022", "077"])
@pytest.mark.req(
    "F-PERM-03", "F-PERM-04", "F-PERM-05", "F-PERM-06", "F-PERM-08", "F-PERM-09",
    "F-PERM-10",
)  # fmt: skip
def test_whatever_umask_is_inherited_all_that_is_made_can_be_shared(
    tmp_path: Path, mode: str, file: int, folder: int, umask: str
) -> None:
    with sharing(tmp_path, mode, umask) as service:
        lane = Lane.of(service)
        assert lane.mkcol(f"/{CONVERSATION}").status == 201
        upload = f"/{CONVERSATION}/0a1b2c3d__a.txt"
        for status in (201, 204):
            assert lane.put(upload, b"sent").status == status
        assert lane.copy(upload, f"/{CONVERSATION}/b.txt").status == 201
        assert lane.copy(f"/{CONVERSATION}/", "/copied/").status == 201
        service.chat("write a file")
        made = sorted(service.folder.rglob("*"))
        assert len(made) == 8
        assert {mode_of(path) for path in made if path.is_file()} == {file}
        assert {mode_of(path) for path in made if path.is_dir()} == {folder}
        if IS_ROOT and mode != "0700":
            assert {path.stat().st_gid for path in made} == {GROUP}
        assert lane.names(f"/{OUTBOUND}") == ["made.txt"]
        assert lane.get(f"/{OUTBOUND}/made.txt").body == b"made"
        assert lane.delete(f"/{OUTBOUND}/made.txt").status == 204
        assert lane.delete(f"/{CONVERSATION}/").status == 204


@pytest.fixture
def closed(plain_box: Box) -> Iterator[Box]:
    """A box with a folder that somebody else's modes close to us."""
    disk = plain_box.disk / "theirs"
    (disk / "out").mkdir(parents=True)
    (disk / "out/file.txt").write_bytes(b"theirs")
    (disk / "file.txt").write_bytes(b"theirs")
    yield plain_box
    disk.chmod(0o700)


@pytest.mark.req("F-PROP-02", "F-PERM-08")
def test_a_folder_that_may_not_be_entered_is_never_not_found(closed: Box) -> None:
    (closed.disk / "theirs").chmod(0)
    lane = closed.lane
    for name in ("theirs/out", "theirs/none", "theirs/out/none", "theirs/file.txt"):
        for slash in ("", "/"):
            for depth in ("0", "1"):
                assert lane.propfind(closed.at(name) + slash, depth).status == 403
        for method in ("GET", "HEAD", "DELETE"):
            assert lane.send(method, closed.at(name)).status == 403, (method, name)
        assert lane.put(closed.at(name), b"x").status == 403
        assert lane.mkcol(closed.at(name)).status == 403
    # The folder itself can be told, what is in it cannot.
    assert lane.propfind(closed.at("theirs"), "0").status == 207
    assert lane.propfind(closed.at("theirs"), "1").status == 403


@pytest.mark.parametrize("mode", [0o300, 0o400, 0o100, 0o200])
@pytest.mark.req("F-PERM-08")
def test_a_folder_that_may_not_be_read_is_never_shown_empty(
    closed: Box, mode: int
) -> None:
    (closed.disk / "theirs").chmod(mode)
    assert closed.lane.propfind(closed.at("theirs"), "1").status == 403
    assert closed.lane.propfind(closed.at("theirs"), "0").status == 207
    assert closed.lane.names(closed.path) == ["theirs"]
    # Not every system lets one go through without reading.
    is_passed = mode & 0o100 and hasattr(os, "O_PATH")
    found = closed.lane.propfind(closed.at("theirs/out"), "1")
    assert found.status == (207 if is_passed else 403)
    missing = closed.lane.propfind(closed.at("theirs/none"), "0")
    assert missing.status == (404 if is_passed else 403)


@pytest.mark.req("F-PERM-08")
def test_a_folder_that_may_only_be_read_is_listed_and_not_changed(closed: Box) -> None:
    theirs = closed.disk / "theirs"
    theirs.chmod(0o555)
    lane = closed.lane
    assert lane.names(closed.at("theirs")) == ["file.txt", "out"]
    assert lane.get(closed.at("theirs/file.txt")).body == b"theirs"
    answers = [
        lane.put(closed.at("theirs/new.txt"), b"x"),
        lane.put(closed.at("theirs/file.txt"), b"x"),
        lane.delete(closed.at("theirs/file.txt")),
        lane.mkcol(closed.at("theirs/new")),
    ]
    assert [answer.status for answer in answers] == [403] * 4
    assert all(b"mode" in answer.body for answer in answers)
    assert sorted(path.name for path in theirs.iterdir()) == ["file.txt", "out"]
    assert (theirs / "file.txt").read_bytes() == b"theirs"


def test_a_file_that_may_not_be_written_is_replaced_in_a_folder_that_may(
    plain_box: Box,
) -> None:
    plain_box.write("a.txt").chmod(0o400)
    assert plain_box.lane.put(plain_box.at("a.txt"), b"new").status == 204
    assert plain_box.lane.get(plain_box.at("a.txt")).body == b"new"


@pytest.mark.root
@pytest.mark.skipif(not IS_ROOT, reason="only root is root")
def test_a_service_of_root_says_so_at_its_start(tmp_path: Path) -> None:
    with serving_files(tmp_path) as service:
        (line,) = [line for line in service.log.splitlines() if "code=root" in line]
        assert " warning " in line
