"""Whole sessions of programs that people use, through the running service."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.dav_tools import Rclone, cadaver, lane_document, need_tool, rclone
from tests.support.service import Service, free_port, prepared, started

pytestmark = pytest.mark.slow
PASSWORD = "lane-password-5c1e"
NAMES = ("plain.txt", "blue whale.md", "Übung ß.txt", "100% #1;+&.csv", "👋.json")


@pytest.fixture
def lane(tmp_path: Path) -> Iterator[Service]:
    """A service with nothing but a file lane."""
    document = lane_document(free_port())
    service = prepared(tmp_path, document, secrets={"files_password": PASSWORD})
    with started(service):
        yield service


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home folder of the program."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder, by its path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def source(home: Path) -> Path:
    """A tree with names of all sorts, and files of all sizes."""
    folder = home / "source"
    (folder / "deep/er").mkdir(parents=True)
    for size, name in enumerate(NAMES):
        (folder / name).write_bytes(bytes([size]) * size)
        (folder / "deep/er" / name).write_bytes(name.encode() * 100_000)
    return folder


@pytest.fixture
def remote(home: Path, lane: Service) -> Rclone:
    """A configured rclone."""
    return rclone(home, lane.url, PASSWORD)


def test_rclone_copies_a_tree_there_and_back(
    remote: Rclone, lane: Service, source: Path, home: Path
) -> None:
    assert remote.run("lsd", "lane:") == ""
    remote.run("copy", str(source), "lane:one")
    assert contents(lane.folder / "one") == contents(source)
    assert remote.run("lsd", "lane:").split()[-1] == "one"
    remote.run("check", "--download", str(source), "lane:one")
    remote.run("copy", "lane:one", str(home / "back"))
    assert contents(home / "back") == contents(source)


def test_rclone_sends_only_what_changed(
    remote: Rclone, lane: Service, source: Path
) -> None:
    remote.run("copy", str(source), "lane:one")
    kept, changed = lane.folder / "one/deep/er/plain.txt", lane.folder / "one/plain.txt"
    before = kept.stat().st_ino
    (source / "plain.txt").write_bytes(b"longer than it was")
    remote.run("sync", "--size-only", str(source), "lane:one")
    assert changed.read_bytes() == b"longer than it was"
    assert kept.stat().st_ino == before


def test_rclone_moves_copies_and_removes(
    remote: Rclone, lane: Service, source: Path
) -> None:
    remote.run("copy", str(source), "lane:one")
    remote.run("moveto", "lane:one/plain.txt", "lane:one/moved.txt")
    remote.run("copyto", "lane:one/blue whale.md", "lane:two/blue whale.md")
    remote.run("moveto", "lane:one/deep", "lane:three/deep")
    assert (lane.folder / "one/moved.txt").read_bytes() == b""
    assert not (lane.folder / "one/plain.txt").exists()
    assert (lane.folder / "two/blue whale.md").read_bytes() == b"\1"
    assert contents(lane.folder / "three/deep") == contents(source / "deep")
    remote.run("deletefile", "lane:one/moved.txt")
    assert not (lane.folder / "one/moved.txt").exists()
    remote.run("delete", "lane:one")
    assert contents(lane.folder / "one") == {}
    for folder in ("one", "two", "three"):
        remote.run("purge", f"lane:{folder}")
    assert list(lane.folder.iterdir()) == []


def test_rclone_with_a_wrong_password_gets_nothing(lane: Service, home: Path) -> None:
    (lane.folder / "secret-name.txt").write_bytes(b"secret")
    done = rclone(home, lane.url, "wrong").attempt("lsf", "lane:")
    assert done.returncode != 0
    assert "secret" not in done.stdout + done.stderr
    assert "401" in done.stderr


def session(lane: Service, home: Path, *commands: str) -> str:
    """Run cadaver with commands; return what it printed."""
    return cadaver(home, f"{lane.url}/", PASSWORD, commands)


def test_cadaver_makes_fills_and_empties_a_folder(lane: Service, home: Path) -> None:
    (home / "letter.txt").write_bytes(b"dear engine\n")
    printed = session(
        lane,
        home,
        "ls",
        "mkcol work",
        "cd work",
        "put letter.txt",
        "copy letter.txt twin.txt",
        "move twin.txt moved.txt",
        "ls",
        f"get moved.txt {home}/got.txt",
        "delete letter.txt",
    )
    assert "failed" not in printed
    assert "letter.txt" in printed
    assert (home / "got.txt").read_bytes() == b"dear engine\n"
    assert contents(lane.folder) == {"work/moved.txt": b"dear engine\n"}
    assert "failed" not in session(lane, home, "rmcol work")
    assert list(lane.folder.iterdir()) == []


def test_cadaver_keeps_properties(lane: Service, home: Path) -> None:
    (lane.folder / "letter.txt").write_bytes(b"dear engine\n")
    printed = session(
        lane,
        home,
        "propset letter.txt colour green",
        "propget letter.txt colour",
        "move letter.txt moved.txt",
        "propget moved.txt colour",
        "propdel moved.txt colour",
        "propget moved.txt colour",
    )
    assert printed.count("Value of colour is: green") == 2
    assert "Could not fetch property:" in printed
    assert "failed" not in printed


def test_cadaver_locks_and_unlocks(lane: Service, home: Path) -> None:
    (lane.folder / "letter.txt").write_bytes(b"dear engine\n")
    printed = session(
        lane,
        home,
        "lock letter.txt",
        "discover letter.txt",
        "put letter.txt",
        "unlock letter.txt",
        "delete letter.txt",
    )
    assert "Lock token <" in printed
    assert "failed" not in printed
    assert list(lane.folder.iterdir()) == []


@pytest.fixture(autouse=True)
def _programs(request: pytest.FixtureRequest) -> None:
    """Skip before a service is started for nothing."""
    name = request.function.__name__.removeprefix("test_")
    need_tool(name.partition("_")[0])
