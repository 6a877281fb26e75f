"""How many requests and bytes the chat listener holds at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from conduck_service.chat.errors import error_answer
from conduck_service.chat.settings import SHARED_BODY_BYTES
from conduck_service.domain.errors import ErrorCode, ServiceError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

BODY_PLACES = 16
"""Bodies that may be read at once; a stalled one holds its place."""

RESERVED_WORKERS = 8
"""Workers that no chat request can take: models and refusals (C-CONC-11)."""

FREE_BODY_BYTES = 8 * 1024 * 1024


def _busy(what: str) -> ServiceError:
    return ServiceError(
        ErrorCode.UNAVAILABLE, f"overloaded: {what}; try again shortly", retry_after=5
    )


class BodyRoom:
    """Places and memory for bodies in flight.

    A body of at most 8 MiB costs a place only while it is read. A larger one
    also takes its size out of 512 MiB, from before its first byte is read until
    its turn is over; one that does not fit is refused.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places = BODY_PLACES
        self._bytes = SHARED_BODY_BYTES

    @contextmanager
    def place(self) -> Iterator[None]:
        """Hold one of the places in which a body is read.

        Raises:
            ServiceError: UNAVAILABLE, all places are taken.
        """
        with self._lock:
            if self._places == 0:
                raise _busy("too many uploads are under way")
            self._places -= 1
        try:
            yield
        finally:
            with self._lock:
                self._places += 1

    @contextmanager
    def memory(self) -> Iterator[Callable[[int], None]]:
        """Account for one body; call the yielded function with its size so far.

        The function raises ServiceError (UNAVAILABLE) when the size does not
        fit. Call it with the declared length before reading, or with a growing
        count while a chunked body comes in.
        """
        held = 0

        def grow(size: int) -> None:
            nonlocal held
            if size <= max(held, FREE_BODY_BYTES):
                return
            with self._lock:
                if size - held > self._bytes:
                    raise _busy("large requests fill the memory set aside for them")
                self._bytes -= size - held
                held = size

        try:
            yield grow
        finally:
            with self._lock:
                self._bytes += held


class BoundedPosts:
    """A WSGI application in front of the chat app that bounds its POSTs.

    A POST counts until its response is written, so that neither turns nor
    uploads nor peers that do not read their answers can take the workers that
    are reserved for everything else.
    """

    def __init__(self, app: WSGIApplication, limit: int) -> None:
        self._app = app
        self._free = threading.BoundedSemaphore(limit)

    def __call__(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Answer the request, or refuse it as overloaded."""
        if environ["REQUEST_METHOD"] != "POST":
            return self._app(environ, start_response)
        if not self._free.acquire(blocking=False):
            answer = error_answer(_busy("too many requests at once"))
            length = ("Content-Length", str(len(answer.body)))
            start_response("503 Service Unavailable", [*answer.headers, length])
            return [answer.body]
        try:
            return _Held(self._app(environ, start_response), self._free.release)
        except BaseException:
            self._free.release()
            raise


class _Held:
    """The body of a response that gives something back when it is written."""

    def __init__(self, body: Iterable[bytes], release: Callable[[], None]) -> None:
        self._body = body
        self._release = release

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._body)

    def close(self) -> None:
        """Called by the server after the last byte, or when the peer is gone."""
        self._release()
