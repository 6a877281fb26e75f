"""Paths: they lead to what they name in the shared folder, and never out of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.lane import Lane, rows_of
from tests.support.lane_faults import (
    IS_LINUX,
    Box,
    again_and_again,
    alternate,
    exchange,
)
from tests.support.raw_http import RawResponse
from tests.support.service import Service, wait_until

CANARY = b"outside canary"
DEPTH_1 = [("Depth", "1")]
ROUNDS = 40


@dataclass(frozen=True, slots=True)
class Outside:
    """A folder that the lane must not touch.

    Attributes:
        path: Where it is.
    """

    path: Path

    def state(self) -> list[tuple[object, ...]]:
        """Return all that can be changed in it."""
        found: list[tuple[object, ...]] = []
        for path in sorted([self.path, *self.path.rglob("*")]):
            at = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            found.append((path, at.st_ino, at.st_mode, at.st_mtime_ns, content))
        return found

    def check_kept_secret(self, answer: RawResponse) -> None:
        """Nothing of it is in an answer."""
        for secret in (CANARY, b"outside-only", os.fsencode(self.path)):
            assert secret not in answer.body


@pytest.fixture
def outside(service: Service) -> Iterator[Outside]:
    """A folder beside the shared folder; a test that changes it fails."""
    found = Outside(service.root / "outside")
    (found.path / "inner").mkdir(parents=True, exist_ok=True)
    for name in (
        "canary.txt",
        "outside-only",
        "inner/canary.txt",
        "inner/outside-only",
    ):
        (found.path / name).write_bytes(CANARY)
    before = found.state()
    yield found
    assert found.state() == before


ESCAPES = (
    "/../outside", "/..", "/./../outside", "/%2e%2e/outside", "/%2E%2e/outside",
    "/.%2e/outside", "/{box}/../../outside", "/{box}/%2e%2e/%2e%2e/outside",
    "/{box}/sub/../../../outside", "//../outside", "/{box}/../..",
)  # fmt: skip
"""With dot segments that lead out of the shared folder."""

FALSE_STEPS = (
    "/{box}/..%2f..%2foutside", "/..%2Foutside", "/%2e%2e%2foutside",
    "/{box}%2f..%2f..%2foutside", "/..%5c..%5coutside", "/..\\outside",
    "/%252e%252e/outside", "/..;/outside", "/%c0%ae%c0%ae/outside",
    "/\u2024\u2024/outside", "/.../outside", "/..%00/outside", "/{box}/%2e%2e%2f",
)  # fmt: skip
"""With what some other program could take for dot segments or slashes."""


def spelled(path: str, box: Box) -> str:
    """Return a target with the name of a folder in it."""
    return quote(path.replace("{box}", box.path.strip("/")), safe="/%;\\.")


@pytest.mark.parametrize("path", ESCAPES)
@pytest.mark.parametrize("end", ["", "/canary.txt"])
@pytest.mark.req("F-ROOT-07", "F-ROOT-08", "F-ROOT-09", "F-ROOT-10")
def test_dot_segments_never_lead_out(
    box: Box, outside: Outside, path: str, end: str
) -> None:
    target = spelled(path + end, box)
    for method in ("GET", "HEAD", "DELETE", "MKCOL", "OPTIONS", "PROPPATCH", "UNLOCK"):
        answer = box.lane.send(method, target)
        assert answer.status == 400, method
        assert bool(answer.body) == (method != "HEAD")
    answers = [
        box.lane.send("PROPFIND", target, headers=DEPTH_1),
        box.lane.send("PUT", target, b"x"),
        box.lane.send("MOVE", target, headers=[("Destination", box.at("x"))]),
        box.lane.send("COPY", target, headers=[("Destination", box.at("x"))]),
    ]
    assert [answer.status for answer in answers] == [400] * 4
    for answer in answers:
        outside.check_kept_secret(answer)
    box.write("a.txt")
    for method in ("MOVE", "COPY"):
        headers = [("Destination", target)]
        answer = box.lane.send(method, box.at("a.txt"), headers=headers)
        assert 400 <= answer.status < 500
    assert box.on_disk() == ["a.txt"]


@pytest.mark.parametrize("path", FALSE_STEPS)
@pytest.mark.req("F-ROOT-07", "F-ROOT-08", "F-ROOT-09", "F-ROOT-10")
def test_what_only_looks_like_dot_segments_leads_nowhere(
    box: Box, outside: Outside, path: str
) -> None:
    target = spelled(path, box) + "/canary.txt"
    for method in ("GET", "DELETE"):
        answer = box.lane.send(method, target)
        assert answer.status in (400, 404)
        outside.check_kept_secret(answer)
    assert box.lane.send("PROPFIND", target, headers=DEPTH_1).status in (400, 404)
    for method in ("PUT", "MKCOL"):
        answer = box.lane.send(method, target, b"x" if method == "PUT" else None)
        assert answer.status in (400, 409)
    assert box.on_disk() == []


@pytest.mark.req("F-ROOT-07")
def test_dot_segments_inside_are_resolved(box: Box) -> None:
    (box.disk / "sub").mkdir()
    box.write("a.txt")
    for path in ("/sub/../a.txt", "/./a.txt", "/%2e/sub/%2E%2e/a.txt", "//a.txt"):
        assert box.lane.send("GET", box.path + path).body == b"old"
    assert box.lane.send("PUT", box.path + "/sub/../b.txt", b"x").status == 201
    assert box.on_disk() == ["a.txt", "b.txt", "sub"]


@pytest.mark.parametrize("name", ["a%2Fb", "a%2fb.txt", "%2F", "%2fa.txt"])
def test_an_encoded_slash_parts_nothing(box: Box, name: str) -> None:
    (box.disk / "a").mkdir()
    (box.disk / "a/b").touch()
    box.write("a.txt")
    target = f"{box.path}/{name}"
    assert box.lane.send("GET", target).status == 404
    assert box.lane.send("PROPFIND", target, headers=DEPTH_1).status == 404
    assert box.lane.send("DELETE", target).status == 404
    assert box.lane.send("PUT", target, b"x").status == 409
    assert box.lane.send("MKCOL", target).status == 409
    assert box.on_disk() == ["a", "a.txt"]


UNFIT = {
    "nul": "%00", "nul inside": "a%00b", "line feed": "a%0Ab", "CR LF": "a%0d%0a",
    "tab": "%09", "escape": "%1b", "delete": "a%7F", "c1": "%C2%85",
    "U+FFFE": "%EF%BF%BE", "U+FFFF": "%EF%BF%BF", "surrogate": "%ED%A0%80",
    "latin-1": "caf%E9", "lone byte": "%FF", "overlong": "%C0%AF", "cut": "%E2%82",
}  # fmt: skip


@pytest.mark.parametrize("name", UNFIT.values(), ids=UNFIT)
@pytest.mark.req("F-ROOT-08")
def test_names_that_could_spoil_a_listing_are_not_made(box: Box, name: str) -> None:
    box.write("a.txt")
    target = f"{box.path}/{name}"
    assert box.lane.send("GET", target).status == 404
    assert box.lane.send("PROPFIND", target, headers=DEPTH_1).status == 404
    assert box.lane.send("PUT", target, b"x").status == 400
    assert box.lane.send("MKCOL", target).status == 400
    assert box.lane.send("PUT", target + "/a.txt", b"x").status in (400, 409)
    for method in ("MOVE", "COPY"):
        headers = [("Destination", target)]
        answer = box.lane.send(method, box.at("a.txt"), headers=headers)
        assert answer.status == 400
    assert box.on_disk() == ["a.txt"]


@pytest.mark.parametrize("name", ["a" * 256, "é" * 128, "日" * 86, "x" * 5000])
def test_a_name_longer_than_a_disk_takes_is_400(box: Box, name: str) -> None:
    for path in (box.at(name), box.at(name) + "/a.txt"):
        assert box.lane.put(path, b"x").status in (400, 409, 414)
        assert box.lane.get(path).status in (400, 404, 414)
    assert box.lane.put(box.at(name), b"x").status in (400, 414)
    assert box.lane.mkcol(box.at(name)).status in (400, 414)
    assert box.on_disk() == []


def test_a_path_longer_than_the_system_takes_is_no_problem(box: Box) -> None:
    path = box.path
    for _ in range(30):
        path += "/" + "d" * 200
        assert box.lane.mkcol(path).status == 201
    assert box.lane.put(path + "/a.txt", b"deep").status == 201
    (own, row) = box.lane.rows(path)
    assert own.href == path + "/"
    assert box.lane.send("GET", row.href).body == b"deep"
    assert box.lane.propfind(path + "/none", "0").status == 404
    assert box.lane.delete(box.at("d" * 200) + "/").status == 204
    assert box.on_disk() == []


def test_many_steps_to_nowhere_are_404(box: Box) -> None:
    assert box.lane.get(box.path + "/a" * 10_000).status == 404
    assert box.lane.get(box.path + "/.." * 10_000).status == 400


@pytest.mark.parametrize(
    "host", ["http://elsewhere.example", "https://127.0.0.1:1", "HTTP://u:p@[::1]:80"]
)
def test_an_absolute_target_is_taken_without_its_host(box: Box, host: str) -> None:
    box.write("a.txt")
    answer = box.lane.send("GET", host + box.at("a.txt"))
    assert (answer.status, answer.body) == (200, b"old")
    answer = box.lane.send("PROPFIND", host + box.path, headers=DEPTH_1)
    assert [row.href for row in rows_of(answer.body)] == [
        box.path + "/",
        box.at("a.txt"),
    ]
    answer = box.lane.send("GET", host + "/../outside/canary.txt")
    assert answer.status == 400


def test_empty_steps_mean_nothing(box: Box) -> None:
    box.write("a.txt")
    for target in ("/" + box.at("a.txt"), box.path + "///a.txt"):
        assert box.lane.send("GET", target).body == b"old"


def test_a_query_is_ignored(box: Box) -> None:
    box.write("a.txt")
    for query in ("logout", "davmount", "browse", "a=b&c=%2e%2e", "/../../x", "?"):
        answer = box.lane.send("GET", f"{box.at('a.txt')}?{query}")
        assert (answer.status, answer.body) == (200, b"old")
        target = f"{box.path}?{query}"
        assert box.lane.send("PROPFIND", target, headers=DEPTH_1).status == 207
        assert box.lane.send("PUT", f"{box.at('b.txt')}?{query}", b"x").status in (
            201,
            204,
        )
    assert box.on_disk() == ["a.txt", "b.txt"]


@dataclass(frozen=True, slots=True)
class Case:
    """A link in the lane to something outside, and what is reached through it."""

    link: str
    to: str
    target: str


CASES = (
    Case("file", "canary.txt", "file"),
    Case("folder", ".", "folder"),
    Case("folder", ".", "folder/"),
    Case("folder", ".", "folder/canary.txt"),
    Case("folder", ".", "folder/inner"),
    Case("folder", ".", "folder/inner/canary.txt"),
    Case("folder", ".", "folder/new.txt"),
    Case("folder", ".", "folder/inner/../canary.txt/../new"),
    Case("dangling", "new.txt", "dangling"),
    Case("up", "..", "up/outside/canary.txt"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.target)
@pytest.mark.parametrize("is_relative", [False, True])
@pytest.mark.req("F-ROOT-11", "F-ROOT-12", "F-ROOT-13", "F-ROOT-10")
def test_no_method_follows_a_link_out(
    box: Box, outside: Outside, case: Case, is_relative: bool
) -> None:
    to: Path | str = outside.path / case.to
    if is_relative:
        to = os.path.relpath(to, box.disk)
    link = box.disk / case.link
    box.write("a.txt", b"inside")

    def check(method: str, path: str, *headers: tuple[str, str]) -> None:
        if not link.is_symlink():
            link.symlink_to(to)
        answer = box.lane.send(
            method, path, b"new" if method == "PUT" else None, headers=headers
        )
        is_unlinking = method == "DELETE" and path.rstrip("/") == box.at(case.link)
        assert answer.status in (403, 404, 405, 409) or is_unlinking, (method, path)
        outside.check_kept_secret(answer)

    target = box.at(case.target)
    for depth in ("0", "1"):
        check("PROPFIND", target, ("Depth", depth))
    for method in ("GET", "HEAD", "PUT", "MKCOL", "DELETE", "PROPPATCH"):
        check(method, target)
    for method in ("COPY", "MOVE"):
        # A move takes the link itself along, which stays a link.
        if method == "COPY" or "/" in case.target:
            check(method, target, ("Destination", box.at("b.txt")))
        check(method, box.at("a.txt"), ("Destination", target), ("Overwrite", "T"))
    assert not (box.disk / "b.txt").exists()
    assert (box.disk / "a.txt").read_bytes() == b"inside"


def attacks(box: Box, path: str) -> list[Callable[[], RawResponse]]:
    """Return the ways in which a client may come through a folder."""
    lane = box.lane
    return [
        lambda: lane.put(f"{path}/canary.txt", b"inside"),
        lambda: lane.mkcol(f"{path}/inner"),
        lambda: lane.get(f"{path}/canary.txt"),
        lambda: lane.get(f"{path}/inner/canary.txt"),
        lambda: lane.propfind(path),
        lambda: lane.propfind(f"{path}/inner"),
        lambda: lane.propfind(f"{path}/canary.txt", "0"),
        lambda: lane.put(f"{path}/new.txt", b"inside"),
        lambda: lane.put(f"{path}/inner/new.txt", b"inside"),
        lambda: lane.mkcol(f"{path}/made"),
        lambda: lane.copy(f"{path}/inner/", box.at("copied")),
        lambda: lane.move(f"{path}/canary.txt", box.at("moved")),
        lambda: lane.move(box.at("moved"), f"{path}/new.txt"),
        lambda: lane.copy(box.at("kept"), f"{path}/inner/new.txt"),
        lambda: lane.delete(f"{path}/canary.txt"),
        lambda: lane.delete(f"{path}/inner/"),
    ]


@pytest.mark.req("F-ROOT-11", "F-ROOT-12", "F-ROOT-13", "F-ROOT-10")
def test_a_folder_that_becomes_a_link_in_between_leads_nowhere(
    box: Box, outside: Outside
) -> None:
    folder, link = box.disk / "folder", box.disk / "link"
    box.write("kept")
    link.symlink_to(outside.path)
    folder.mkdir()
    with again_and_again(lambda: exchange(link, folder)):
        for _ in range(ROUNDS):
            for way in attacks(box, box.at("folder")):
                answer = way()
                assert answer.status < 500
                outside.check_kept_secret(answer)
            # Whatever was brought in goes, so that the next round does it again.
            for name in ("canary.txt", "inner", "new.txt", "made"):
                box.lane.delete(f"{box.at('folder')}/{name}")
    with contextlib.suppress(FileNotFoundError):
        assert b"canary" not in (box.disk / "moved").read_bytes()
    assert not list(box.disk.glob("copied/canary.txt"))


@pytest.mark.req("F-ROOT-11", "F-ROOT-12", "F-ROOT-13")
def test_a_file_that_becomes_a_link_in_between_leads_nowhere(
    box: Box, outside: Outside
) -> None:
    file, link, place = box.write("file"), box.disk / "link", box.disk / "a.txt"
    link.symlink_to(outside.path / "canary.txt")
    with again_and_again(lambda: alternate(place, file, link)):
        wait_until(place.exists)
        for _ in range(ROUNDS):
            for _ in range(15):
                answer = box.lane.get(box.at("a.txt"))
                assert answer.status in (200, 404)
                assert answer.status == 404 or answer.body in (b"old", b"new")
            assert box.lane.put(box.at("a.txt"), b"new").status in (201, 204, 403)
    assert file.read_bytes() == b"old"


@pytest.mark.req("F-ROOT-13")
def test_a_folder_that_holds_links_is_removed_without_what_they_lead_to(
    box: Box, outside: Outside
) -> None:
    (box.disk / "folder/sub").mkdir(parents=True)
    (box.disk / "folder/link").symlink_to(outside.path)
    (box.disk / "folder/sub/link").symlink_to(outside.path / "canary.txt")
    assert box.lane.delete(box.at("folder/")).status == 204
    assert box.on_disk() == []


@pytest.mark.skipif(not IS_LINUX, reason="links of the process file system")
@pytest.mark.req("F-ROOT-11")
def test_magic_links_are_links(box: Box, lane: Lane) -> None:
    (box.disk / "root").symlink_to("/proc/self/root")
    (box.disk / "cwd").symlink_to("/proc/self/cwd")
    for name in ("root/etc/passwd", "cwd", "root"):
        assert lane.get(box.at(name)).status == 404
        assert lane.propfind(box.at(name)).status == 404
