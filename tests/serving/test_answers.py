"""A server knows whether it attends to its connections."""

from __future__ import annotations

import threading

from conduck_service.serving.loop import ConnectionLoop
from conduck_service.serving.server import Server
from tests.serving.conftest import Serve


def loop_of(server: Server) -> ConnectionLoop:
    loop = server._loop
    assert loop is not None
    return loop


def test_a_loop_that_is_stuck_does_not_answer(serve: Serve) -> None:
    server = serve()
    assert server.answers(10)
    stuck = threading.Event()

    def hold() -> None:
        stuck.wait(30)

    loop_of(server)._post(hold)
    assert not server.answers(0.2)
    stuck.set()
    assert server.answers(10)


def test_a_server_that_was_stopped_does_not_answer(serve: Serve) -> None:
    server = serve()
    server.stop()
    assert not server.answers(1)
