"""F-PERM: what the lane and the engine make can be used by each other."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.support.lane import (
    Lane,
    file_turn,
    new_conversation,
    new_outbound,
    serving_files,
    told,
)
from tests.support.service import Service

req = pytest.mark.req

FILE_BITS = {"2770": 0o660, "2775": 0o664, "0700": 0o600}
"""Mode of the shared folder to the mode of files in it."""

GROUP_MAY_WRITE = 0o060
GROUP_MAY_ALL = 0o070


@dataclass(frozen=True, slots=True)
class Setup:
    """A running service whose shared folder has a certain mode."""

    service: Service
    lane: Lane
    mode: str

    @property
    def folder_bits(self) -> int:
        return int(self.mode, 8)

    @property
    def is_shared(self) -> bool:
        return self.mode != "0700"

    def bits(self, path: str) -> int:
        """Return the mode of something in the lane."""
        return stat.S_IMODE(self.lane.at(path).stat().st_mode)


@pytest.fixture(scope="module", params=[*FILE_BITS])
def setup(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Setup]:
    """A service that was started with a umask which would hide everything."""
    root = tmp_path_factory.mktemp("perm")
    mode: str = request.param
    context = serving_files(root, files={"mode": mode})
    before = os.umask(0o077)
    try:
        service = context.__enter__()
    finally:
        os.umask(before)
    try:
        service.folder.chmod(int(mode, 8))
        yield Setup(service, Lane.of(service), mode)
    finally:
        context.__exit__(None, None, None)


@req("F-PERM-02")
def test_the_folder_keeps_the_mode_that_it_has(setup: Setup) -> None:
    assert setup.lane.put("/top.txt", b"x").status == 201
    assert setup.bits("/") == setup.folder_bits


@req("F-PERM-03")
def test_uploads_are_group_writable(setup: Setup) -> None:
    lane, path = setup.lane, f"/{new_conversation()}"
    lane.mkcol(path)
    for name in (f"{path}/in.txt", f"/top-{path[1:9]}.txt"):
        for _ in range(2):  # a new one, and in place of another
            assert lane.put(name, b"x").status in (201, 204)
            assert setup.bits(name) == FILE_BITS[setup.mode]
            lane.at(name).chmod(0o400)
    if setup.is_shared:
        lane.put(f"{path}/in.txt", b"y")
        assert setup.bits(f"{path}/in.txt") & GROUP_MAY_WRITE == GROUP_MAY_WRITE
    lane.copy(f"{path}/in.txt", f"{path}/copy.txt")
    assert setup.bits(f"{path}/copy.txt") == FILE_BITS[setup.mode]


@req("F-PERM-04")
def test_folders_of_mkcol_are_group_writable_and_setgid(setup: Setup) -> None:
    path = f"/{new_conversation()}"
    for folder in (path, f"{path}/below"):
        assert setup.lane.mkcol(folder).status == 201
        assert setup.bits(folder) == setup.folder_bits
        if setup.is_shared:
            assert setup.bits(folder) & GROUP_MAY_ALL == GROUP_MAY_ALL
            assert setup.bits(folder) & stat.S_ISGID
    setup.lane.copy(path, f"{path}-copy")
    assert setup.bits(f"{path}-copy") == setup.folder_bits


@req("F-PERM-05", "F-PERM-06")
@pytest.mark.parametrize("setup", ["2770", "2775"], indirect=True)
def test_what_the_engine_makes_is_group_writable(setup: Setup) -> None:
    path = new_outbound()
    file_turn(setup.service, path, ["make", path], ["write", f"{path}/a.txt", "x"])
    wanted = GROUP_MAY_WRITE
    assert setup.bits(f"{path}/a.txt") & wanted == wanted  # F-PERM-05
    for folder in (path, path.partition("/")[0]):
        assert setup.bits(folder) & GROUP_MAY_ALL == GROUP_MAY_ALL  # F-PERM-06
        assert setup.bits(folder) & stat.S_ISGID  # F-PERM-06


@req("F-PERM-07", "F-PERM-08", "F-PERM-09", "F-PERM-10")
def test_each_can_use_what_the_other_made(setup: Setup) -> None:
    lane, path = setup.lane, new_outbound()
    conversation = path.partition("/")[0]
    lane.mkcol(f"/{conversation}")
    lane.put(f"{conversation}/in.txt", b"what was sent")
    steps: list[list[object]] = [
        ["cat", f"{conversation}/in.txt"],
        ["write", f"{path}/out.txt", "what came back"],
        ["write", f"{path}/below/more.txt", "more"],
    ]
    answer = file_turn(setup.service, path, *steps)
    assert "what was sent" in answer.text  # F-PERM-07
    assert sorted(lane.names(path)) == ["below", "out.txt"]  # F-PERM-08
    assert lane.get(f"{path}/out.txt").body == b"what came back"  # F-PERM-10
    assert lane.delete(f"{path}/out.txt").status == 204  # F-PERM-09
    assert not lane.at(f"{path}/out.txt").exists()  # F-PERM-09
    assert lane.delete(f"{path}/").status == 204  # F-PERM-09
    assert lane.delete(f"{conversation}/").status == 204
    assert not lane.at(conversation).exists()  # F-PERM-09, F-PERM-10


@req("F-PERM-09")
def test_the_lane_replaces_what_the_engine_wrote(setup: Setup) -> None:
    path = new_outbound()
    setup.service.chat(told(["write", f"{path}/a.txt", "the engine's"]))
    setup.lane.at(f"{path}/a.txt").chmod(0o444)
    assert setup.lane.put(f"{path}/a.txt", b"mine").status == 204
    assert setup.lane.move(f"{path}/a.txt", f"{path}/b.txt").status == 201
    assert setup.lane.delete(f"{path}/b.txt").status == 204
