"""F-ROOT: links in the folder lead nowhere, be they there or put there meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.lane import Lane, serving_files
from tests.support.outside import BODY, CANARY, OUTSIDE, guarded, is_refused
from tests.support.service import Service

req = pytest.mark.req


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("links")
    with serving_files(root) as running_service:
        yield running_service


@pytest.fixture
def lane(service: Service) -> Iterator[Lane]:
    with guarded(service) as lane:
        yield lane


LINKS = {
    "file": "../../outside/secret.txt",
    "folder": "../../outside",
    "above": "..",
    "dangling": "../../outside/new.txt",
    "dangling-folder": "../../outside/new",
}


@pytest.fixture
def linked(lane: Lane) -> str:
    """A folder in the lane with links that lead out of it."""
    folder = lane.own_folder()
    for name, target in LINKS.items():
        lane.at(f"{folder}/{name}").symlink_to(target)
    outside = lane.folder.parent / OUTSIDE
    lane.at(f"{folder}/absolute").symlink_to(outside)
    lane.at(f"{folder}/absolute-file").symlink_to(outside / "secret.txt")
    lane.at(f"{folder}/twice").symlink_to("folder")
    lane.at(f"{folder}/real.txt").write_bytes(BODY)
    return folder


# Each leads to something outside through a link.
THROUGH = (
    "file",
    "absolute-file",
    "folder/secret.txt",
    "folder/below/secret.txt",
    "absolute/secret.txt",
    "twice/secret.txt",
    "folder/../outside/secret.txt",
)
FOLDERS = ("folder", "folder/", "folder/below", "absolute", "twice", "above", "above/")


@req("F-ROOT-11")
@pytest.mark.parametrize("method", ["GET", "HEAD", "PROPFIND"])
def test_links_are_not_followed_for_reading(
    lane: Lane, linked: str, method: str
) -> None:
    for way in (*THROUGH, *FOLDERS, "dangling"):
        for depth in ("0", "1"):
            answer = lane.send(method, f"{linked}/{way}", headers=[("Depth", depth)])
            assert is_refused(answer), (way, answer.status)
            assert b"secret" not in answer.body


@req("F-ROOT-11")
def test_links_are_not_listed(lane: Lane, linked: str) -> None:
    assert lane.names(linked) == ["real.txt"]


@req("F-ROOT-11")
def test_a_copy_of_a_folder_takes_nothing_from_behind_its_links(
    lane: Lane, linked: str
) -> None:
    assert lane.copy(linked, f"{linked}-copy").status == 201
    found = [path.name for path in lane.at(f"{linked}-copy").rglob("*")]
    assert found == ["real.txt"]
    for way in (*THROUGH, *FOLDERS):
        assert is_refused(lane.copy(f"{linked}/{way}", f"{linked}-taken")), way
        assert not lane.at(f"{linked}-taken").exists()


@req("F-ROOT-12")
def test_links_are_not_followed_for_writing(lane: Lane, linked: str) -> None:
    ways = [*THROUGH, "dangling", "dangling-folder/x", "folder/new.txt", "above/new"]
    for way in ways:
        path = f"{linked}/{way}"
        assert is_refused(lane.put(path, BODY)), way
        assert is_refused(lane.send("PROPPATCH", path, b"<x/>")), way
        if "/" in way:
            assert is_refused(lane.mkcol(path)), way
    for way in ways:
        for what in (lane.copy, lane.move):
            answer = what(f"{linked}/real.txt", f"{linked}/{way}")
            assert is_refused(answer), (way, what.__name__, answer.status)
    assert {path.name for path in lane.at(linked).iterdir() if path.is_symlink()} == {
        *LINKS,
        "absolute",
        "absolute-file",
        "twice",
    }
    assert lane.get(f"{linked}/real.txt").body == BODY


@req("F-ROOT-12")
def test_a_link_keeps_its_name_from_a_lock_and_a_new_folder(
    lane: Lane, linked: str
) -> None:
    for way in ("file", "folder", "dangling", "dangling-folder"):
        assert is_refused(lane.mkcol(f"{linked}/{way}")), way
        assert is_refused(lane.send("LOCK", f"{linked}/{way}", LOCK)), way


LOCK = (
    b'<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>'
    b"<D:locktype><D:write/></D:locktype></D:lockinfo>"
)


@req("F-ROOT-13")
def test_links_are_not_followed_for_deleting(lane: Lane, linked: str) -> None:
    for way in (*THROUGH[2:], "folder/below", "folder/below/", "above/a"):
        assert is_refused(lane.delete(f"{linked}/{way}")), way
    for name in (*LINKS, "absolute", "absolute-file", "twice"):
        answer = lane.delete(f"{linked}/{name}")
        # At most the link goes; what it leads to is looked at by the fixture.
        assert answer.status in (204, 403, 404), name
    assert lane.delete(f"{linked}/folder/").status in (204, 403, 404)


@req("F-ROOT-13")
def test_a_folder_goes_without_what_its_links_lead_to(lane: Lane, linked: str) -> None:
    inner = lane.at(f"{linked}/inner")
    inner.mkdir()
    (inner / "out").symlink_to("../../../outside")
    assert lane.delete(f"{linked}/").status == 204
    assert not os.path.lexists(lane.at(linked))


JUGGLER = """
import ctypes, os, sys
link, place, real = map(os.fsencode, sys.argv[1:])
exchange = getattr(ctypes.CDLL(None), "renameat2", None)
sys.stdout.write("!")
sys.stdout.flush()
os.rename(real, place)
while exchange and exchange(-100, link, -100, place, 2) == 0:
    pass
while True:  # where two names cannot be exchanged in one step
    for one, other in ((place, real), (link, place), (place, link), (real, place)):
        os.rename(one, other)
"""
"""Puts a folder and a link in one place by turns, as fast as it can."""


@contextmanager
def juggling(folder: Path) -> Iterator[None]:
    names = [str(folder / name) for name in ("link", "place", "real")]
    argv = [sys.executable, "-I", "-S", "-c", JUGGLER, *names]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout
            assert process.stdout.read(1) == b"!"
            yield
        finally:
            process.kill()


@req("F-ROOT-11", "F-ROOT-12", "F-ROOT-13")
def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(lane: Lane) -> None:
    folder = lane.own_folder()
    real, link = lane.at(f"{folder}/real"), lane.at(f"{folder}/link")
    real.mkdir()
    link.symlink_to("../../outside")
    place = f"{folder}/place"
    with juggling(lane.at(folder)):
        for _ in range(60):
            assert CANARY not in lane.get(f"{place}/secret.txt").body  # F-ROOT-11
            assert b"secret" not in lane.propfind(place).body  # F-ROOT-11
            lane.put(f"{place}/new.txt", BODY)  # F-ROOT-12: the fixture compares
            lane.copy(f"{place}/new.txt", f"{place}/more.txt")  # F-ROOT-12
            lane.delete(f"{place}/below/")  # F-ROOT-13: the fixture compares
