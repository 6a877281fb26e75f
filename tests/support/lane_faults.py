"""What goes wrong around a file lane: slow peers, full disks, hostile folders."""

from __future__ import annotations

import ctypes
import itertools
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import quote

from conduck_service.files.dav.conditions import TICK_NS
from tests.support import service as support
from tests.support.lane import Headers, Lane, serving_files
from tests.support.raw_http import (
    RawResponse,
    connect,
    read_head,
    read_response,
    request,
)
from tests.support.service import Service, wait_until

# AT_FDCWD of fcntl.h on Linux: relative to the working folder.
_CWD = -100

CONTINUE = ("Expect", "100-continue")

IS_ROOT = os.geteuid() == 0
IS_LINUX = sys.platform == "linux"

# To root nothing is forbidden, unless it cannot override modes any more: numbers
# of CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH and CAP_FOWNER in linux/capability.h.
ORDINARY = """
import ctypes, os, sys
if os.geteuid() == 0:
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    for capability in (1, 2, 3):
        if prctl(24, capability, 0, 0, 0):
            sys.exit("a capability cannot be dropped")
os.execv(sys.argv[1], sys.argv[1:])
"""

CRAMPED = """
import os, resource, sys
size = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
os.execv(sys.argv[2], sys.argv[2:])
"""

MASKED = """
import os, sys
os.umask(int(sys.argv[1], 8))
os.execv(sys.argv[2], sys.argv[2:])
"""


@contextmanager
def serving_through(
    root: Path, launcher: str, *arguments: str, **options: Any
) -> Iterator[Service]:
    """Run a daemon with a lane that a small program prepares and then becomes.

    Args:
        root: An empty folder.
        launcher: Source of the program; it executes what follows its arguments.
        arguments: Of the program.
        options: As for ``serving_files``.
    """
    argv = (sys.executable, "-c", launcher, *arguments, *support.PROGRAM)
    with (
        mock.patch.object(support, "PROGRAM", argv),
        serving_files(root, **options) as service,
    ):
        yield service


@contextmanager
def tiny_disk(at: Path, size: str, files: int) -> Iterator[None]:
    """Mount a small disk over a folder; only root can, on Linux.

    Args:
        at: The folder.
        size: As mount understands it, such as ``64k``.
        files: Files and folders that fit, its own root included.
    """
    options = f"size={size},nr_inodes={files},mode=0700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", at], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", at], check=True)


def has_unnamed_files(folder: Path) -> bool:
    """Say whether files without any name can be made in a folder."""
    flag = getattr(os, "O_TMPFILE", 0)
    try:
        os.close(os.open(folder, flag | os.O_RDWR, 0o600))
    except OSError:
        return False
    return True


def aged(path: Path, seconds: float) -> Path:
    """Set the time of a file, and wait until its entity tag is strong."""
    os.utime(path, (seconds, seconds))
    wait_until(lambda: time.time_ns() - path.stat().st_ctime_ns > TICK_NS)
    return path


@dataclass(frozen=True, slots=True)
class Box:
    """A folder of the lane that one test has for itself.

    Attributes:
        lane: The lane.
        path: Its path in the lane, without a slash at its end.
        disk: Where it is on the disk.
    """

    lane: Lane
    path: str
    disk: Path

    def at(self, name: str) -> str:
        """Return the path of something in it."""
        return f"{self.path}/{name}"

    def on_disk(self) -> list[str]:
        """Return everything in it, read from the disk."""
        return sorted(os.listdir(self.disk))  # noqa: PTH208 - as the system spells it

    def write(self, name: str, body: bytes = b"old") -> Path:
        """Write a file on the disk whose entity tag is strong."""
        path = self.disk / name
        path.write_bytes(body)
        return aged(path, 1_700_000_000)

    def etag(self, name: str) -> str:
        """Return the entity tag of a file."""
        (value,) = self.lane.send("HEAD", quote(self.at(name))).values("ETag")
        return value

    def size_listed(self, name: str) -> int:
        """Return the size that a listing gives for a file."""
        (row,) = [row for row in self.lane.rows(self.path)[1:] if row.name == name]
        return int(row.properties["getcontentlength"])


_numbers = itertools.count(1)


def new_box(service: Service) -> Box:
    """Make a folder in the lane of a service."""
    name = f"box-{next(_numbers)}"
    disk = service.folder / name
    disk.mkdir()
    return Box(Lane.of(service), f"/{name}", disk)


class Upload:
    """An upload that the server waits for: its head was read, its body is wanted.

    Attributes:
        sock: Its connection.
    """

    def __init__(self, lane: Lane, path: str, headers: Headers) -> None:
        self.sock = connect(lane.port)
        fields = [("Connection", "close"), CONTINUE, *lane.credentials, *headers]
        self.sock.sendall(request("PUT", quote(path), headers=fields))
        head = read_head(self.sock)
        assert head.startswith(b"HTTP/1.1 100 "), head

    def send(self, data: bytes) -> None:
        """Send a piece of the body."""
        self.sock.sendall(data)

    def finish(self) -> RawResponse:
        """Return the answer; the peer has nothing more to send."""
        return read_response(self.sock)

    def leave(self) -> RawResponse:
        """Say that nothing more comes, and return the answer."""
        self.sock.shutdown(socket.SHUT_WR)
        return read_response(self.sock)

    def is_held(self) -> bool:
        """Say whether the server still waits for more of it."""
        return is_open(self.sock)


@contextmanager
def uploading(
    lane: Lane, path: str, length: int | None = None, *, headers: Headers = ()
) -> Iterator[Upload]:
    """Begin an upload that the server wants and waits for.

    Args:
        lane: The lane.
        path: Of the file, not encoded.
        length: Declared length in bytes; the body comes in chunks without.
        headers: More headers.
    """
    framing = (
        ("Transfer-Encoding", "chunked")
        if length is None
        else ("Content-Length", str(length))
    )
    upload = Upload(lane, path, [framing, *headers])
    try:
        yield upload
    finally:
        upload.sock.close()


def is_open(sock: socket.socket) -> bool:
    """Say whether a connection stands on which nothing was answered so far."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return not poll.poll(0)


@contextmanager
def again_and_again(action: Callable[[], object]) -> Iterator[None]:
    """Repeat an action in a thread for the block; what it raises is raised here."""
    stop = threading.Event()
    raised: list[BaseException] = []

    def work() -> None:
        try:
            while not stop.is_set():
                action()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if raised:
        raise raised[0]


def alternate(place: Path, *kinds: Path) -> None:
    """Give a name to one thing after the other, so that it is never free.

    Args:
        place: The name.
        kinds: Files, links and pipes, which keep their own names too.
    """
    spare = place.with_name(".spare")
    for kind in kinds:
        spare.unlink(missing_ok=True)
        if kind.is_symlink():
            spare.symlink_to(kind.readlink())
        else:
            spare.hardlink_to(kind)
        spare.rename(place)


def exchange(one: Path, other: Path) -> None:
    """Let two things have each other's name, in one step where the system can."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    names = (os.fsencode(one), os.fsencode(other))
    if rename is not None and not rename(_CWD, names[0], _CWD, names[1], 2):
        return
    spare = one.with_name(".spare")
    one.rename(spare)
    other.rename(one)
    spare.rename(other)


def lane_lines(service: Service, method: str, status: int) -> int:
    """Return how many requests of a method were answered with a status so far."""
    return sum(
        f"method={method} " in line and f"status={status}" in line
        for line in service.log.splitlines()
    )
