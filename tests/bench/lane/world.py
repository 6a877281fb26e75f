"""What no stream of requests shows: files that engines write, and hostile peers."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tests.bench.lane import jobs
from tests.bench.lane.client import ALLPROP, Job, Result
from tests.bench.lane.measures import listing
from tests.bench.lane.raw import Connection, head_of
from tests.bench.lane.servers import OUTPUTS, Server

HEADS, UPLOADS = 64, 16
PAUSE_SECONDS = 0.002
FILES = 7


@dataclass(frozen=True, slots=True)
class Sighting:
    """How a file that an engine wrote came to be seen.

    Attributes:
        listings: How many were asked for until one had it.
        seconds: From when it was written until it was fetched.
    """

    listings: int
    seconds: float


def sightings(server: Server) -> list[Sighting]:
    """Write files on the disk, one by one, and look for each through the server."""
    connection = Connection(server.port)
    question = head_of("PROPFIND", "/fresh", _HEADERS, 0)[:-2] + _BODY
    found = []
    for number in range(FILES):
        connection.ask(question)  # so that the server has seen the folder without it
        name = f"answer-{number}.txt"
        hidden = server.folder.parent / name
        hidden.write_bytes(b"made by an engine")
        hidden.rename(server.folder / "fresh" / name)
        found.append(_sight(connection, question, name))
    connection.close()
    return found


def _sight(connection: Connection, question: bytes, name: str) -> Sighting:
    start, listings = time.perf_counter(), 1
    while name.encode() not in connection.ask(question).body:
        time.sleep(PAUSE_SECONDS)
        listings += 1
    answer = connection.ask(head_of("GET", f"/fresh/{name}", {}, 0))
    assert (answer.status, answer.body) == (200, b"made by an engine"), answer
    return Sighting(listings, time.perf_counter() - start)


_HEADERS = {"Depth": "1", "Content-Type": "application/xml"}
_BODY = f"Content-Length: {len(ALLPROP)}\r\n\r\n".encode() + ALLPROP


def listings_while_held(server: Server) -> tuple[Result, int]:
    """List a folder on new connections while bad peers hold theirs.

    Returns:
        The result, and how many of the bad peers were still held at its end.
    """
    job = Job(
        port=server.port,
        pids=server.pids,
        plan=(listing("out", OUTPUTS),),
        most=500,
        seconds=3.0,
        warm=0,
        new=True,
        timeout=3.0,
    )
    with holding(server.port) as held:
        result = jobs.run(job)
        return result, sum(map(_is_open, held))


@contextmanager
def holding(port: int) -> Iterator[list[socket.socket]]:
    """Hold connections with half a head, and uploads with a byte now and then."""
    stop = threading.Event()
    with ExitStack() as stack:
        held = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            for _ in range(HEADS + UPLOADS)
        ]
        for peer in held[:HEADS]:
            peer.sendall(b"PROPFIND /out HTTP/1.1\r\nHost: 127.0.0.1\r\nDep")
        uploads = held[HEADS:]
        for number, peer in enumerate(uploads):
            peer.sendall(head_of("PUT", f"/put/slow-{number}", {}, 100_000))
        dribbler = threading.Thread(target=_dribble, args=(uploads, stop))
        dribbler.start()
        stack.callback(dribbler.join)
        stack.callback(stop.set)
        yield held


def _dribble(uploads: list[socket.socket], stop: threading.Event) -> None:
    going = list(uploads)
    while not stop.wait(0.05):
        for peer in list(going):
            try:
                peer.sendall(b"x")
            except OSError:
                going.remove(peer)


def _is_open(peer: socket.socket) -> bool:
    peer.setblocking(False)
    try:
        return peer.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
