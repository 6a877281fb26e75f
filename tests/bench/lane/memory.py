"""How much memory a server takes for large and for refused transfers."""

from __future__ import annotations

from collections.abc import Callable

from tests.bench.lane.raw import Connection, Noise, head_of
from tests.bench.lane.servers import MIB, Server

REFUSED = 8


def growths(server: Server) -> dict[str, int]:
    """Return by how many bytes the peak grows in each kind of transfer."""
    actions: dict[str, Callable[[], None]] = {
        "small": lambda: _put_and_get(server, MIB),
        "large": lambda: _put_and_get(server, 1024 * MIB),
        "refused": lambda: _refused(server),
    }
    _put_and_get(server, MIB)
    return {name: _growth(server, action) for name, action in actions.items()}


def _growth(server: Server, action: Callable[[], None]) -> int:
    server.forget_peak()
    before = server.memory("VmRSS")
    action()
    return max(0, server.memory("VmHWM") - before)


def _put_and_get(server: Server, size: int) -> None:
    noise = Noise()
    connection = Connection(server.port, noise=noise)
    for method, upload, expect in (("PUT", size, (200, 201, 204)), ("GET", 0, (200,))):
        answer = connection.ask(head_of(method, "/put/memory", {}, size), upload)
        assert answer.status in expect, (method, answer)
    connection.close()
    noise.close()
    (server.folder / "put/memory").unlink()


def _refused(server: Server) -> None:
    noise = Noise()
    for _ in range(REFUSED):
        connection = Connection(server.port, noise=noise)
        head = head_of("PUT", "/put/refused", {}, 256 * MIB, password="wrong")
        try:
            answer = connection.ask(head, 256 * MIB, keep=False)
            assert answer.status == 401, answer
        except ConnectionError:
            continue  # the server hung up before all was sent, and that is fine
    noise.close()
