"""Between one request and the application: WSGI, with its traps closed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from conduck_service.serving.answer import Answer
from conduck_service.serving.sending import FileRange

if TYPE_CHECKING:
    from types import TracebackType

    from _typeshed.wsgi import WSGIApplication

    ErrorTriple = (
        tuple[type[BaseException], BaseException, TracebackType]
        | tuple[None, None, None]
    )


class Gateway:
    """Calls the application and sends what it answers, exactly once."""

    def __init__(self, app: WSGIApplication, answer: Answer) -> None:
        self._app = app
        self._answer = answer
        self._is_started = False

    def respond(self, environ: dict[str, Any]) -> None:
        """Run the application to its end.

        An answer that fails before its first byte leaves the connection free for
        another one; less than was promised is a failure.

        Raises:
            RuntimeError: The application did not start a response.
            ValueError: What it answers contradicts itself.
            FileCut: A file has become shorter while it was sent.
            PeerLeft: The peer does not take it.
        """
        result = self._app(environ, self._start_response)
        try:
            self._send(result)
        finally:
            close = getattr(result, "close", None)
            if close is not None:
                close()

    def _send(self, result: Iterable[bytes]) -> None:
        answer = self._answer
        is_simple = type(result) is list and len(result) <= 1
        if isinstance(result, FileRange) or (is_simple and not answer.is_begun):
            self._check_started()
        if isinstance(result, FileRange):
            answer.write_file(result)
        elif is_simple and not answer.is_begun:
            answer.write_whole(b"".join(result))
        else:
            for chunk in filter(None, result):
                self._check_started()
                answer.write(chunk)
            self._check_started()
            answer.finish()

    def _check_started(self) -> None:
        if not self._is_started:
            raise RuntimeError("the application did not start a response")

    def _start_response(
        self,
        status: str,
        headers: list[tuple[str, str]],
        exc_info: ErrorTriple | None = None,
    ) -> Callable[[bytes], object]:
        """Take status and headers; see PEP 3333.

        Raises:
            ValueError: One of them would break the head of the response.
            RuntimeError: It was called before, and nothing has failed since.
        """
        if self._is_started and not exc_info:
            raise RuntimeError("the response was started a second time")
        if self._answer.is_begun and exc_info and exc_info[1]:
            raise exc_info[1].with_traceback(exc_info[2])
        self._is_started = True
        self._answer.start(status, headers)
        return self._answer.write
