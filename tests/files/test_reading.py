"""GET and HEAD: the file that is there, and nothing that is none."""

from __future__ import annotations

import os
import re
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.lane import Lane, serving_files
from tests.support.lane_faults import IS_ROOT, Box, again_and_again, alternate, new_box
from tests.support.raw_http import connect, read_head, request
from tests.support.service import Service, wait_until

LARGE = 64 * 1024 * 1024
ERROR_BYTES = 300


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A daemon that waits a second for a peer that takes nothing."""
    root = tmp_path_factory.mktemp("impatient")
    with serving_files(root, files={"idle_seconds": 1}) as running:
        yield running


def large_file(box: Box) -> Path:
    """Make a file that no buffer on the way holds."""
    path = box.disk / "large.bin"
    with path.open("wb") as file:
        file.truncate(LARGE)
    return path


class Download:
    """A download whose first bytes have come; the peer takes no more for now."""

    def __init__(self, box: Box, name: str) -> None:
        self.sock = connect(box.lane.port)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        headers = box.lane.credentials
        self.sock.sendall(request("GET", box.at(name), headers=headers))
        self.head = read_head(self.sock)
        assert self.head.startswith(b"HTTP/1.1 200 ")
        self.received = len(self.sock.recv(1000))

    def read_to_end(self) -> None:
        """Take what comes until the server closes the connection."""
        while piece := self.sock.recv(1 << 20):
            self.received += len(piece)

    def read_promised(self) -> set[int]:
        """Take what was promised; return which bytes there were."""
        seen: set[int] = set()
        while self.received < LARGE:
            piece = self.sock.recv(1 << 20)
            assert piece, "cut short"
            seen.update(set(piece))
            self.received += len(piece)
        return seen


@pytest.fixture
def download(box: Box) -> Iterator[Download]:
    large_file(box)
    found = Download(box, "large.bin")
    yield found
    found.sock.close()
    (box.disk / "large.bin").unlink(missing_ok=True)


@pytest.mark.req("F-METH-01", "F-METH-06", "F-OUT-07")
def test_head_is_get_without_the_body(box: Box) -> None:
    box.write("a.pdf", b"%PDF-1.4")
    get = box.lane.get(box.at("a.pdf"))
    head = box.lane.send("HEAD", box.at("a.pdf"))
    assert (get.status, get.body) == (200, b"%PDF-1.4")
    assert (head.status, head.body, head.rest) == (200, b"", b"")

    def told(headers: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
        return [pair for pair in headers if pair[0] != "Date"]

    assert told(head.headers) == told(get.headers)
    assert get.values("Content-Length") == ["8"]
    assert get.values("Content-Type") == ["application/pdf"]
    assert get.values("Accept-Ranges") == ["bytes"]
    assert len(get.values("ETag")) == len(get.values("Last-Modified")) == 1


@pytest.mark.req("F-METH-06", "F-METH-11", "F-METH-08")
def test_head_of_what_cannot_be_read_has_no_body_either(box: Box) -> None:
    (box.disk / "folder").mkdir()
    for name in ("none", "folder", "none/none"):
        get = box.lane.get(box.at(name))
        head = box.lane.send("HEAD", box.at(name))
        assert (head.status, head.body, head.rest) == (get.status, b"", b"")
        assert head.values("Content-Length") == get.values("Content-Length")
        assert get.body != b""


@pytest.mark.req("F-METH-11", "F-ROOT-07")
def test_what_is_not_there_is_404(box: Box) -> None:
    box.write("a.txt")
    for name in ("none", "none/none", "a.txt/", "a.txt/below", "", "/"):
        answer = box.lane.get(box.at(name) if name.strip("/") else "/none" + name)
        assert answer.status == 404


@pytest.mark.req("F-METH-08")
def test_a_folder_shows_no_page_of_its_files(box: Box) -> None:
    box.write("canary.txt")
    for path in (box.path, box.path + "/", "/"):
        answer = box.lane.get(path)
        assert answer.status == 405
        assert b"canary" not in answer.body
        assert b"<" not in answer.body
        assert not answer.values("Location")


def test_the_probe_of_the_app_is_answered_as_it_expects(box: Box) -> None:
    headers = [("Range", "bytes=0-0"), ("Accept-Encoding", "identity")]
    path = "/__conduck_absent_0011223344556677.pdf"
    assert box.lane.get(path, headers=headers).status == 404
    box.write("a.pdf", b"%PDF")
    answer = box.lane.get(box.at("a.pdf"), headers=headers)
    assert (answer.status, answer.body) == (206, b"%")
    assert answer.values("Content-Range") == ["bytes 0-0/4"]
    assert not answer.values("Content-Encoding")
    box.write("empty.pdf", b"")
    answer = box.lane.get(box.at("empty.pdf"), headers=headers)
    assert (answer.status, answer.body) == (200, b"")


@pytest.mark.req("F-SEC-04")
def test_errors_are_short_and_tell_nothing(box: Box, service: Service) -> None:
    (box.disk / "folder").mkdir()
    box.write("canary")
    lane, stranger = box.lane, Lane(box.lane.port, box.lane.folder, user=None)
    answers = [
        lane.get(box.at("canary-none")),
        lane.get(box.at("folder")),
        lane.put(box.at("canary-none/canary"), b"x"),
        lane.put(box.at("folder"), b"x"),
        lane.put(box.at("canary"), b"x", headers=[("If-Match", '"x"')]),
        lane.get(box.at("canary"), headers=[("Range", "bytes=9-")]),
        lane.mkcol(box.at("canary")),
        lane.send("PROPFIND", box.at("canary"), b"<canary"),
        lane.send("GET", "/../../etc/canary"),
        lane.send("BREW", box.at("canary")),
        lane.put(box.at("canary\n"), b"x"),
        lane.put(box.at("c" * 300), b"x"),
        stranger.get(box.at("canary")),
    ]
    for answer in answers:
        assert 400 <= answer.status < 500
        assert 10 < len(answer.body) < ERROR_BYTES
        for secret in (b"canary", bytes(service.root), b"Traceback", b"Error", b".py"):
            assert secret not in answer.body
        shown = " ".join(f"{name}: {value}" for name, value in answer.headers)
        assert not re.search(r"(?i)python|wsgidav|cheroot|/\d+\.\d+", shown)


def test_a_pipe_is_no_file_and_holds_nobody_up(box: Box) -> None:
    os.mkfifo(box.disk / "pipe")
    for method in ("GET", "HEAD"):
        for _ in range(3):
            assert box.lane.send(method, box.at("pipe")).status == 404
    assert box.lane.put(box.at("pipe"), b"x").status == 403
    assert stat.S_ISFIFO((box.disk / "pipe").stat().st_mode)


def test_a_file_that_becomes_a_pipe_in_between_holds_nobody_up(box: Box) -> None:
    file, pipe, place = box.write("file"), box.disk / "pipe", box.disk / "a.txt"
    os.mkfifo(pipe)
    with again_and_again(lambda: alternate(place, file, pipe)):
        wait_until(place.exists)
        for _ in range(300):
            answer = box.lane.get(box.at("a.txt"))
            assert answer.status in (200, 404)
            assert answer.status == 404 or answer.body == b"old"


@pytest.mark.req("F-ROOT-11")
def test_sockets_and_devices_are_no_files(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(box.disk)  # its path may be too long for a socket
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind("socket")
        names = ["socket"]
        if IS_ROOT:
            os.mknod(box.disk / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
            names.append("zero")
        for name in names:
            for method in ("GET", "HEAD"):
                assert box.lane.send(method, box.at(name)).status == 404
            assert box.lane.put(box.at(name), b"x").status == 403
        assert box.on_disk() == names


def test_a_file_that_shrinks_while_it_is_sent_ends_the_connection(
    box: Box, download: Download
) -> None:
    os.truncate(box.disk / "large.bin", 0)
    download.read_to_end()
    assert 0 < download.received < LARGE
    assert b"Connection: close" not in download.head


def test_a_file_that_grows_while_it_is_sent_is_sent_as_promised(
    box: Box, download: Download
) -> None:
    with (box.disk / "large.bin").open("ab") as file:
        file.write(b"more" * 1000)
    assert download.read_promised() == {0}
    # Nothing comes behind it: the next answer does.
    headers = [("Connection", "close"), *box.lane.credentials]
    download.sock.sendall(request("HEAD", box.at("large.bin"), headers=headers))
    assert f"Content-Length: {LARGE + 4000}\r\n".encode() in read_head(download.sock)


def replace_by_rename(path: Path) -> None:
    other = path.with_name("other.bin")
    other.write_bytes(b"x" * 1000)
    other.rename(path)


@pytest.mark.parametrize("replace", [replace_by_rename, Path.unlink])
def test_a_file_that_is_replaced_while_it_is_sent_is_sent_to_its_end(
    box: Box, download: Download, replace: Callable[[Path], None]
) -> None:
    replace(box.disk / "large.bin")
    assert download.read_promised() == {0}


@pytest.mark.req("F-NET-05")
def test_a_peer_that_takes_nothing_any_more_is_let_go(impatient: Service) -> None:
    box = new_box(impatient)
    large_file(box)
    download = Download(box, "large.bin")
    needle = f"size={LARGE}"
    assert needle not in impatient.log
    wait_until(lambda: "method=GET" in impatient.log, 30)
    download.read_to_end()
    assert download.received < LARGE
    assert needle not in impatient.log
    download.sock.close()


def test_peers_that_leave_in_the_middle_cost_nothing(box: Box, lane: Lane) -> None:
    large_file(box)
    for _ in range(50):
        Download(box, "large.bin").sock.close()
    # Of the places for transfers there are fewer than that.
    wait_until(lambda: lane.get(box.at("large.bin") + "x").status == 404)
    (box.disk / "large.bin").unlink()


@pytest.mark.req("F-PERM-08")
def test_what_may_not_be_read_is_403_for_get_and_head(plain_box: Box) -> None:
    plain_box.write("a.txt").chmod(0)
    for method in ("GET", "HEAD"):
        assert plain_box.lane.send(method, plain_box.at("a.txt")).status == 403
    assert plain_box.size_listed("a.txt") == 3


def test_a_page_from_the_folder_runs_nothing_in_a_browser(box: Box) -> None:
    box.write("a.html", b"<script>alert(1)</script>")
    answer = box.lane.get(box.at("a.html"))
    assert answer.values("Content-Security-Policy") == ["sandbox"]
    assert answer.values("X-Content-Type-Options") == ["nosniff"]
