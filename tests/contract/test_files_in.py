"""F-IN: files on their way to the engine are whole or absent."""

from __future__ import annotations

import hashlib
import os
import random
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.lane import Lane, new_conversation, serving_files, told
from tests.support.raw_http import chunked, connect, read_response, request
from tests.support.service import Service, Stub, stub, wait_until

req = pytest.mark.req
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

MIB = 1024 * 1024
CHUNKED = [("Transfer-Encoding", "chunked")]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Stub:
    return stub(tmp_path_factory.mktemp("engine"), ["follow"], ["print", "."])


@pytest.fixture(scope="module")
def service(
    engine: Stub, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    root = tmp_path_factory.mktemp("in")
    with serving_files(root, engine) as running_service:
        yield running_service


@pytest.fixture(scope="module")
def lane(service: Service) -> Lane:
    return Lane.of(service)


@req("F-IN-01")
def test_an_upload_into_a_folder_of_its_conversation(lane: Lane) -> None:
    conversation, body = new_conversation(), b"%PDF-1.7\r\n\0\xff"
    assert lane.mkcol(f"/{conversation}").status == 201
    path = f"/{conversation}/a1b2c3d4__report.pdf"
    assert lane.put(path, body).status == 201
    assert lane.at(path).read_bytes() == body


@req("F-IN-02")
def test_an_upload_flat_at_the_top(lane: Lane) -> None:
    assert lane.put("/a1b2c3d4__report.pdf", b"flat").status == 201
    assert lane.at("a1b2c3d4__report.pdf").read_bytes() == b"flat"


@req("F-IN-03", "F-IN-04")
@pytest.mark.parametrize(
    ("label", "path"),
    [
        ("report.pdf", f"{new_conversation()}/a1b2c3d4__report.pdf"),
        ("other than it is", "a1b2c3d4__report.pdf"),
        ("…" * 20, f'"{new_conversation()}/out-0/the blue whale.MD"'),
        ("no such file", "../../etc/passwd"),
        ("odd", "a//b/./../c%2e%2e%00 (1)) [x] `y` \\z"),
    ],
    ids=["plain", "another", "blanks", "missing", "odd"],
)
def test_the_line_of_a_file_reaches_the_engine_as_it_is(
    service: Service, engine: Stub, label: str, path: str
) -> None:
    line = f'- "{label}" (saved as {path})'
    said = (
        "Look.\n\nThe following file(s) are in your working directory — use them "
        f"for this request:\n{line}"
    )
    service.chat(said)
    seen = engine.records[-1]["stdin"]
    assert line in seen.split("\n")  # F-IN-03
    assert seen == said  # F-IN-04


@req("F-IN-05")
def test_an_upload_can_be_read_in_the_very_next_turn(
    service: Service, lane: Lane
) -> None:
    folder = lane.own_folder()
    for word in ("first", "second"):
        lane.put(f"{folder}/in.txt", word.encode())
        assert service.chat(told(["cat", f"{folder[1:]}/in.txt"])) == f"{word}."


def pieces(size: int) -> Iterator[bytes]:
    """Yield random bytes, the same ones each time."""
    source = random.Random(size)  # noqa: S311 - data of a test
    while size > 0:
        piece = source.randbytes(min(size, MIB))
        size -= len(piece)
        yield piece


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def send_pieces(lane: Lane, path: str, size: int, *, in_chunks: bool = False) -> int:
    """PUT random bytes as they are made; return the status."""
    fields = [("Content-Length", str(size))] if not in_chunks else CHUNKED
    headers = [("Connection", "close"), *lane.credentials, *fields]
    with connect(lane.port) as sock:
        sock.sendall(request("PUT", quote(path), headers=headers))
        for piece in pieces(size):
            framed = b"%x\r\n%b\r\n" % (len(piece), piece) if in_chunks else piece
            sock.sendall(framed)
        if in_chunks:
            sock.sendall(b"0\r\n\r\n")
        return read_response(sock).status


@req("F-IN-06")
@pytest.mark.parametrize("in_chunks", [False, True])
@pytest.mark.parametrize("size", [0, 1, 65_537, MIB, 100 * MIB])
def test_bytes_are_stored_exactly(lane: Lane, size: int, in_chunks: bool) -> None:
    path = f"{lane.own_folder()}/file.bin"
    wanted = hashlib.sha256()
    for piece in pieces(size):
        wanted.update(piece)
    assert send_pieces(lane, path, size, in_chunks=in_chunks) == 201
    assert digest(lane.at(path)) == wanted.hexdigest()
    assert lane.at(path).stat().st_size == size
    lane.at(path).unlink()


NAMES = [
    "with space.txt",
    "100% of %41.txt",
    "résumé-naïve.txt",
    "日本語のファイル.txt",
    "emoji-🐳-\u200d.txt",
    "plus+and&semi;colon,=@.txt",
    "#hash?query.txt",
    "'quotes' \"and\" <angles>.txt",
    "trailing. ",
    "-leading-dash",
    ".hidden",
    "e\u0301-decomposed.txt",
    "x" * 200,
    "語" * 85,
]


@req("F-IN-07")
@pytest.mark.parametrize("name", NAMES)
def test_names_go_there_and_back(lane: Lane, name: str) -> None:
    folder = lane.own_folder()
    body = name.encode()
    assert lane.put(f"{folder}/{name}", body).status == 201
    assert [path.name for path in lane.at(folder).iterdir()] == [name]
    _, row = lane.rows(folder)
    assert row.name == name
    assert row.properties["getcontentlength"] == str(len(body))
    assert lane.send("GET", row.href).body == body
    assert lane.get(f"{folder}/{name}").body == body


@req("F-IN-08")
@pytest.mark.parametrize("path", ["/none/x", "/none/below/x", "/file.txt/x"])
def test_a_missing_parent_is_409_and_nothing_is_made(lane: Lane, path: str) -> None:
    folder = lane.own_folder()
    lane.put(f"{folder}/file.txt", b"x")
    assert lane.put(folder + path, b"x").status == 409
    assert [item.name for item in lane.at(folder).rglob("*")] == ["file.txt"]


@req("F-IN-09")
def test_an_upload_replaces_a_file(lane: Lane) -> None:
    path = f"{lane.own_folder()}/a.txt"
    assert lane.put(path, b"first and longer").status == 201
    assert lane.put(path, b"second").status == 204
    assert lane.get(path).body == b"second"
    assert lane.at(path).read_bytes() == b"second"


def leave(sock: socket.socket, how: str) -> None:
    """End an upload before it is whole."""
    if how == "reset":
        linger = struct.pack("ii", 1, 0)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    if how == "half-close":
        sock.shutdown(socket.SHUT_WR)
        assert read_response(sock).status == 400
    sock.close()


@req("F-IN-10")
@pytest.mark.parametrize("old", [None, b"the old one"])
@pytest.mark.parametrize("how", ["close", "reset", "half-close"])
def test_an_upload_that_breaks_off_leaves_nothing(
    lane: Lane, service: Service, how: str, old: bytes | None
) -> None:
    folder = lane.own_folder()
    path, names = f"{folder}/a.txt", ["a.txt"] * (old is not None)
    if old is not None:
        lane.put(path, old)

    def is_as_before() -> None:
        assert lane.names(folder) == names
        assert lane.get(path).body == old if old else lane.get(path).status == 404

    with lane.begin_put(path, 10 * MIB, b"x" * MIB) as sock:
        is_as_before()
        assert lane.at(path).exists() == (old is not None)
        leave(sock, how)
    wait_until(lambda: not open_files(service, lane.at(folder)))
    wait_until(lambda: [item.name for item in lane.at(folder).iterdir()] == names)
    is_as_before()


def open_files(service: Service, folder: Path) -> list[str]:
    """Return what the daemon has open below a folder, where that can be seen."""
    found = []
    for link in Path(f"/proc/{service.process.pid}/fd").glob("*"):
        try:
            target = str(link.readlink())
        except OSError:
            continue
        if target.startswith(str(folder.resolve()) + "/"):
            found.append(target)
    return found


@req("F-IN-10")
@pytest.mark.parametrize(
    "body",
    [
        b"5\r\nhello\r\n",
        b"5\r\nhello\r\nzz\r\n",
        b"5\r\nhel",
        b"5\r\nhelloXX0\r\n\r\n",
        b"-1\r\n\r\n",
        b"",
    ],
)
def test_chunks_that_break_off_leave_nothing(lane: Lane, body: bytes) -> None:
    folder = lane.own_folder()
    for path, old in ((f"{folder}/new", None), (f"{folder}/old", b"old")):
        if old:
            lane.put(path, old)
        head = lane.head("PUT", path, headers=CHUNKED)
        with connect(lane.port) as sock:
            sock.sendall(head + body)
            sock.shutdown(socket.SHUT_WR)
            assert read_response(sock).status == 400
        assert lane.at(path).exists() == (old is not None)
    assert [item.name for item in lane.at(folder).iterdir()] == ["old"]
    assert lane.get(f"{folder}/old").body == b"old"


@req("F-IN-10")
def test_of_two_uploads_of_one_name_one_is_there_whole(lane: Lane) -> None:
    path = f"{lane.own_folder()}/a.bin"
    bodies = [bytes([65 + index]) * MIB for index in range(6)]
    half = MIB // 2
    with ExitStack() as stack:
        begun = [lane.begin_put(path, MIB, body[:half]) for body in bodies]
        socks = [stack.enter_context(sock) for sock in begun]
        assert not lane.at(path).exists()
        for sock, body in zip(socks, bodies, strict=True):
            sock.sendall(body[half:])
            assert read_response(sock).status in (201, 204)
            assert lane.at(path).read_bytes() == body


def peak_memory(service: Service) -> int:
    """Return the most memory that the daemon ever had, in bytes."""
    text = Path(f"/proc/{service.process.pid}/status").read_text("ascii")
    (line,) = (line for line in text.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


@req("F-IN-11")
@on_linux
@pytest.mark.parametrize("in_chunks", [False, True])
def test_uploads_are_not_held_in_memory(
    lane: Lane, service: Service, in_chunks: bool
) -> None:
    path, piece = f"{lane.own_folder()}/big.bin", os.urandom(MIB)
    before = peak_memory(service)
    fields = CHUNKED if in_chunks else [("Content-Length", str(500 * MIB))]
    with connect(lane.port, timeout=50) as sock:
        sock.sendall(lane.head("PUT", path, headers=fields))
        frame = (b"%x\r\n" % MIB, b"\r\n") if in_chunks else (b"", b"")
        for _ in range(500):
            sock.sendall(frame[0] + piece + frame[1])
        sock.sendall(b"0\r\n\r\n" if in_chunks else b"")
        assert read_response(sock).status == 201
    assert lane.at(path).stat().st_size == 500 * MIB
    lane.at(path).unlink()
    assert peak_memory(service) - before < 64 * MIB


@req("F-IN-12")
def test_mkcol_says_why_not(lane: Lane) -> None:
    folder = lane.own_folder()
    assert lane.mkcol(f"{folder}/new").status == 201
    assert lane.mkcol(f"{folder}/new").status == 405
    assert lane.mkcol(f"{folder}/new/").status == 405
    assert lane.mkcol("/").status == 405
    assert lane.mkcol(f"{folder}/none/new").status == 409
    assert lane.mkcol(f"{folder}/none/below/new").status == 409
    lane.put(f"{folder}/file", b"x")
    assert lane.mkcol(f"{folder}/file").status == 405
    assert lane.mkcol(f"{folder}/file/new").status == 409
    assert lane.send("MKCOL", f"{folder}/body", b"<x/>").status == 415
    assert sorted(path.name for path in lane.at(folder).iterdir()) == ["file", "new"]


@req("F-IN-06")
def test_a_chunked_upload_of_small_pieces(lane: Lane) -> None:
    path = f"{lane.own_folder()}/a.txt"
    body = chunked(b"one ", b"and ", b"another")
    head = lane.head("PUT", path, headers=CHUNKED)
    with connect(lane.port) as sock:
        sock.sendall(head + body)
        assert read_response(sock).status == 201
    assert lane.at(path).read_bytes() == b"one and another"
