"""A working folder is one that can be worked in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conduck_service.domain.scope import ActivePolicy, Binding, Route, Scope
from conduck_service.executors.demo import DemoConfig
from conduck_service.executors.folders import check_folder
from conduck_service.extension.spec import Decoding


def binding(cwd: Path | None) -> Binding:
    return Binding(name="agent", executor="demo", config=DemoConfig(cwd=cwd))


def problems_of(path: Path) -> list[str]:
    into = Decoding(base=Path("/"))
    check_folder(binding(path), Scope(id="home", name="Home"), into)
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


def problems_beside(lane: Path, cwd: Path | None, *, handler: str = "chat") -> int:
    """Return how many problems a binding has in a scope with a lane and a route."""
    route = Route(
        name="all",
        handler=handler,
        binding="agent",
        active_policy=ActivePolicy.QUEUE,
        config=None,
    )
    scope = Scope(id="home", name="Home", routes=(route,), folder=lane, has_lane=True)
    into = Decoding(base=Path("/"))
    check_folder(binding(cwd), scope, into)
    assert all(item.pointer == ("config", "cwd") for item in into.problems)
    return len(into.problems)


def test_chat_turns_work_in_the_folder_of_the_lane(tmp_path: Path) -> None:
    lane = tmp_path.resolve() / "lane"
    (lane / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to(lane)
    assert problems_beside(lane, None) == 0
    assert problems_beside(lane, tmp_path / "link") == 0
    assert problems_beside(lane, lane / "sub") == 1
    assert problems_beside(lane, tmp_path) == 1
    assert problems_beside(lane, tmp_path, handler="other") == 0
